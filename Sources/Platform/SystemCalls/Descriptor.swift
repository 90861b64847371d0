// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// An open file descriptor with one owner: it closes once, when the owner lets go of it.
///
/// A descriptor that an event loop watches must be taken off the loop before it is let go.
package struct Descriptor: ~Copyable {
  /// For other platform wrappers only; it is not to be closed or kept.
  package let rawValue: Int32

  /// - Parameter rawValue: open, and owned by nobody else.
  package init(owning rawValue: Int32) {
    self.rawValue = rawValue
  }

  deinit {
    // Linux closes the descriptor whatever close(2) answers; trying again could close somebody else's.
    _ = close(rawValue)
  }

  /// Opens a file, always with O_CLOEXEC and O_NOCTTY.
  package static func open(_ path: String, _ flags: Int32) throws(Errno) -> Descriptor {
    let descriptor = try Errno.retrying { unsafe Glibc.open(path, flags | O_CLOEXEC | O_NOCTTY) }
    return Descriptor(owning: descriptor)
  }

  /// Another descriptor of the same open file.
  package static func duplicate(of rawValue: Int32) throws(Errno) -> Descriptor {
    Descriptor(owning: try Errno.retrying { fcntl(rawValue, F_DUPFD_CLOEXEC, 3) })
  }

  /// What one read came to.
  package enum ReadResult: Equatable, Sendable {
    /// So many bytes, one or more, stand at the front of the buffer.
    case bytes(Int)
    case end
    case wouldBlock
  }

  /// Reads once into the front of `buffer`; its size is the most that is read.
  package borrowing func read(into buffer: inout [UInt8]) throws(Errno) -> ReadResult {
    do {
      let count = try Errno.retrying {
        unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(rawValue, $0.baseAddress, $0.count) }
      }
      return count == 0 ? .end : .bytes(count)
    } catch {
      if error.code == EAGAIN { return .wouldBlock }
      throw error
    }
  }

  /// Waits until there is something to read, or the other end is gone. Not for the loop's thread.
  ///
  /// - Throws: what poll(2) says.
  package borrowing func waitUntilReadable() throws(Errno) {
    var entry = pollfd(fd: rawValue, events: Int16(POLLIN), revents: 0)
    _ = try Errno.retrying { unsafe poll(&entry, 1, -1) }
  }

  /// What fstat(2) tells.
  package borrowing func status() throws(Errno) -> stat { try Descriptor.status(of: rawValue) }

  /// What fstat(2) reports of a descriptor with another owner.
  package static func status(of rawValue: Int32) throws(Errno) -> stat {
    var status = stat()
    _ = try Errno.retrying { unsafe fstat(rawValue, &status) }
    return status
  }

  /// Writes everything to a descriptor that somebody else owns, waiting for nobody: what a full pipe does not take is
  /// dropped.
  ///
  /// - Throws: EAGAIN when some of it was dropped, or why it could not be written.
  package static func write(_ bytes: [UInt8], to rawValue: Int32) throws(Errno) {
    var offset = 0
    while offset < bytes.count {
      offset += try Errno.retrying {
        unsafe bytes.dropFirst(offset).withUnsafeBytes { unsafe Glibc.write(rawValue, $0.baseAddress, $0.count) }
      }
    }
  }
}

extension stat {
  /// The kind of file: S_IFREG, S_IFCHR and so on.
  package var kind: mode_t { st_mode & S_IFMT }

  /// The major number of a device, which names its driver; as gnu_dev_major(3), which is a macro.
  package var deviceMajor: UInt32 { UInt32(truncatingIfNeeded: (st_rdev >> 8) & 0xFFF | (st_rdev >> 32) & ~0xFFF) }

  /// The minor number of a device, which tells it from others of its driver; as gnu_dev_minor(3).
  package var deviceMinor: UInt32 { UInt32(truncatingIfNeeded: st_rdev & 0xFF | (st_rdev >> 12) & ~0xFF) }
}
