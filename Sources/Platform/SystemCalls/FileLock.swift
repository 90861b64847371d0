// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// A file that one process at a time has locked (flock(2)). The lock ends with this object, and at the latest with the
/// process, however that ends; the file stays.
package final class FileLock {
  private let descriptor: Descriptor

  /// Locks a file, which is made with mode 0600 if need be, and writes the number of this process into it.
  ///
  /// - Throws: EWOULDBLOCK when another process has locked it, or why it cannot be opened.
  package init(_ path: String) throws(Errno) {
    let file = Descriptor(
      owning: try Errno.retrying {
        unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0o600)
      })
    _ = try Errno.retrying { flock(file.rawValue, LOCK_EX | LOCK_NB) }
    // For a person; the lock does not depend on it.
    _ = ftruncate(file.rawValue, 0)
    try? Descriptor.write(Array("\(getpid())\n".utf8), to: file.rawValue)
    descriptor = file
  }

  /// The process that has locked a file, as it wrote there; nil when that cannot be read.
  package static func holder(_ path: String) -> pid_t? {
    guard let text = try? AtomicFile.read(path, limit: 32) else { return nil }
    return pid_t(String(decoding: text, as: UTF8.self).prefix { $0 != "\n" })
  }
}
