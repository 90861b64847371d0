// SPDX-License-Identifier: Apache-2.0
import Glibc
package import SystemCalls

/// Locks the service's directories, so that only one daemon uses their control socket, token and backlog. Tools and
/// `--check` do not lock them.
package nonisolated struct DirectoryLocks {
  private static let name = "daemon.lock"

  private let runtime: FileLock?
  private let state: FileLock?

  /// Locks the runtime directory and the state directory; without systemd there are none.
  ///
  /// - Throws: exit code `inUse` if another daemon has locked one of them.
  package init() throws(DaemonError) {
    runtime = try DirectoryLocks.lock(in: RuntimeDirectory.path)
    state = try DirectoryLocks.lock(in: Environment.value(of: "STATE_DIRECTORY"))
  }

  /// Whether a daemon has locked this directory.
  ///
  /// - Throws: the error of open(2), if this user cannot find that out.
  package static func isHeld(in directory: String) throws(Errno) -> Bool { try FileLock.isHeld("\(directory)/\(name)") }

  /// - Parameter directories: one or more, separated by colons; only the service's own is locked.
  private static func lock(in directories: String?) throws(DaemonError) -> FileLock? {
    guard let directory = Environment.serviceDirectory(in: directories) else { return nil }
    let path = "\(directory)/\(name)"
    do {
      return try FileLock(path)
    } catch {
      // A directory that is not writable needs no lock.
      guard error.code == EWOULDBLOCK else { return nil }
      let holder = FileLock.holder(path).map { " (process \($0))" } ?? ""
      throw DaemonError(
        ExitCode.inUse,
        "another fleet-locationd\(holder) uses \(directory): each daemon needs its own directories, which the units "
          + "fleet-locationd@NAME provide", cause: error)
    }
  }
}
