// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// A file lock (flock(2)). It is released with this object, or when the process ends; the file stays.
package final class FileLock {
  private let descriptor: Descriptor

  /// Locks a file, which is created with mode 0600 if necessary, and writes this process's ID into it.
  ///
  /// - Throws: EWOULDBLOCK if another process has locked it, or the error of open(2).
  package init(_ path: String) throws(Errno) {
    let file = Descriptor(
      owning: try Errno.retrying {
        unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0o600)
      })
    _ = try Errno.retrying { flock(file.rawValue, LOCK_EX | LOCK_NB) }
    // For information; the lock does not depend on it.
    _ = ftruncate(file.rawValue, 0)
    try? Descriptor.write(Array("\(getpid())\n".utf8), to: file.rawValue)
    descriptor = file
  }

  /// The process ID in a lock file; nil if it cannot be read.
  package static func holder(_ path: String) -> pid_t? {
    guard let text = try? AtomicFile.read(path, limit: 32) else { return nil }
    return pid_t(String(decoding: text, as: UTF8.self).prefix { $0 != "\n" })
  }
}
