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
  /// - Throws: exit code `inUse` if another daemon has locked one of them, or both are the same directory.
  package init() throws(DaemonError) {
    let runtime = RuntimeDirectory.path
    let state = Environment.serviceDirectory(in: Environment.value(of: "STATE_DIRECTORY"))
    if let runtime, let state, let inode = Inode(of: runtime), inode == Inode(of: state) {
      throw DaemonError(
        ExitCode.inUse, "RUNTIME_DIRECTORY and STATE_DIRECTORY are the same directory, \(state): each needs its own")
    }
    self.runtime = try runtime.flatMap(DirectoryLocks.lock)
    self.state = try state.flatMap(DirectoryLocks.lock)
  }

  /// Whether a daemon has locked this directory.
  ///
  /// - Throws: the error of open(2), if this user cannot find that out.
  package static func isHeld(in directory: String) throws(Errno) -> Bool { try FileLock.isHeld("\(directory)/\(name)") }

  /// - Returns: nil if nothing can be written in the directory.
  private static func lock(_ directory: String) throws(DaemonError) -> FileLock? {
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
