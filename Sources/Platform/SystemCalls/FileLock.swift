// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// A file lock (flock(2)). It is released with this object, or when the process ends; the file remains.
package final class FileLock {
  private let descriptor: Descriptor

  /// Locks a file, which is created with mode 0600 if necessary, and writes this process's ID into it.
  ///
  /// - Parameters:
  ///   - remark: a second line in the file, for `remark(in:)`.
  ///   - owner: if root creates the file, it belongs to this user.
  /// - Throws: EWOULDBLOCK if another process has locked it, or the error of open(2).
  package init(_ path: String, remark: String? = nil, owner: uid_t? = nil) throws(Errno) {
    let file = try FileLock.open(path, owner: owner)
    _ = try Errno.retrying { flock(file.rawValue, LOCK_EX | LOCK_NB) }
    // The text is only for information; the lock does not depend on it.
    _ = ftruncate(file.rawValue, 0)
    let text = "\(getpid())\n" + (remark.map { "\($0)\n" } ?? "")
    try? Descriptor.write(Array(text.utf8), to: file.rawValue)
    descriptor = file
  }

  private static func open(_ path: String, owner: uid_t?) throws(Errno) -> Descriptor {
    let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    do throws(Errno) {
      // Only if the file is new is it certain that it is not a link to another file.
      let file = Descriptor(
        owning: try Errno.retrying { unsafe Glibc.open(path, flags | O_CREAT | O_EXCL, 0o600) })
      if let owner, geteuid() == 0 { _ = try Errno.retrying { fchown(file.rawValue, owner, gid_t.max) } }
      return file
    } catch {
      guard error.code == EEXIST else { throw error }
      return Descriptor(owning: try Errno.retrying { unsafe Glibc.open(path, flags) })
    }
  }

  /// The process ID in a lock file; nil if it cannot be read.
  package static func holder(_ path: String) -> pid_t? { line(0, of: path).flatMap { pid_t($0) } }

  /// The remark in a lock file; nil if it has none, or cannot be read.
  package static func remark(in path: String) -> String? { line(1, of: path) }

  private static func line(_ index: Int, of path: String) -> String? {
    guard let text = try? AtomicFile.read(path, limit: 512) else { return nil }
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    return lines.count > index ? String(lines[index]) : nil
  }

  /// Whether another process has locked a file, without locking it for more than an instant.
  ///
  /// - Throws: the error of open(2), except for a file that does not exist.
  package static func isHeld(_ path: String) throws(Errno) -> Bool {
    do throws(Errno) {
      let file = try Descriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      _ = try Errno.retrying { flock(file.rawValue, LOCK_SH | LOCK_NB) }
      return false
    } catch {
      switch error.code {
      case EWOULDBLOCK: return true
      case ENOENT: return false
      default: throw error
      }
    }
  }
}
