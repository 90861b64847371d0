// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// Keeps the directories of the service for one daemon: two would take each other's control socket, token and backlog. Tools,
/// `--check` among them, do not ask for it.
package nonisolated struct DirectoryLocks {
  private static let name = "daemon.lock"

  private let runtime: FileLock?
  private let state: FileLock?

  /// The directories that systemd made for the service; without systemd there is nothing to lock.
  ///
  /// - Throws: exit code `occupied` when another daemon has one of them.
  package init() throws(DaemonError) {
    runtime = try DirectoryLocks.lock(in: RuntimeDirectory.path)
    state = try DirectoryLocks.lock(in: Environment.value(of: "STATE_DIRECTORY"))
  }

  /// - Parameter directories: separated by colons; the first counts.
  private static func lock(in directories: String?) throws(DaemonError) -> FileLock? {
    guard let directory = directories?.split(separator: ":").first else { return nil }
    let path = "\(directory)/\(name)"
    do {
      return try FileLock(path)
    } catch {
      // A directory that cannot be written is none that two could spoil.
      guard error.code == EWOULDBLOCK else { return nil }
      let holder = FileLock.holder(path).map { " (process \($0))" } ?? ""
      throw DaemonError(
        ExitCode.occupied,
        "another fleet-locationd\(holder) uses \(directory): each needs directories of its own, as the units "
          + "fleet-locationd@NAME give them", cause: error)
    }
  }
}
