// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// An open file descriptor with one owner: it is closed when the owner releases it.
///
/// A descriptor that an event loop watches must be removed from the loop before that.
package struct Descriptor: ~Copyable, Sendable {
  /// For other platform wrappers only; must not be closed or stored.
  package let rawValue: Int32

  /// - Parameter rawValue: an open descriptor that nothing else owns.
  package init(owning rawValue: Int32) {
    self.rawValue = rawValue
  }

  deinit {
    // Linux closes the descriptor regardless of what close(2) returns; closing again could close another file.
    _ = close(rawValue)
  }

  /// Opens a file, always with O_CLOEXEC and O_NOCTTY.
  package static func open(_ path: String, _ flags: Int32) throws(Errno) -> Descriptor {
    let descriptor = try Errno.retrying { unsafe Glibc.open(path, flags | O_CLOEXEC | O_NOCTTY) }
    return Descriptor(owning: descriptor)
  }

  /// Duplicates a descriptor.
  package static func duplicate(of rawValue: Int32) throws(Errno) -> Descriptor {
    Descriptor(owning: try Errno.retrying { fcntl(rawValue, F_DUPFD_CLOEXEC, 3) })
  }

  /// The result of one read.
  package enum ReadResult: Equatable, Sendable {
    /// The number of bytes at the start of the buffer, one or more.
    case bytes(Int)
    case end
    case wouldBlock
  }

  /// Reads once into the start of `buffer`, at most its size.
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

  /// Blocks until there is data to read, or the other end is closed. Must not be called on the event loop's thread.
  ///
  /// - Throws: the error of poll(2).
  package borrowing func waitUntilReadable() throws(Errno) {
    var entry = pollfd(fd: rawValue, events: Int16(POLLIN), revents: 0)
    _ = try Errno.retrying { unsafe poll(&entry, 1, -1) }
  }

  /// Blocks until there is data to read, or the other end is closed, or that of a pipe with another owner.
  ///
  /// - Returns: whether the reader of `pipe` has closed its end.
  /// - Throws: the error of poll(2).
  package borrowing func waitUntilReadable(orUnread pipe: Int32) throws(Errno) -> Bool {
    var entries = [pollfd(fd: pipe, events: 0, revents: 0), pollfd(fd: rawValue, events: Int16(POLLIN), revents: 0)]
    _ = try Errno.retrying { unsafe poll(&entries, 2, -1) }
    return entries[0].revents & Int16(POLLERR) != 0
  }

  /// Blocks until the reader of a pipe with another owner has closed its end, or until the timeout, in milliseconds.
  ///
  /// - Returns: whether the reader has closed its end.
  /// - Throws: the error of poll(2).
  package static func waitUntilUnread(_ pipe: Int32, timeout: Int32) throws(Errno) -> Bool {
    var entry = pollfd(fd: pipe, events: 0, revents: 0)
    _ = try Errno.retrying { unsafe poll(&entry, 1, timeout) }
    return entry.revents & Int16(POLLERR) != 0
  }

  /// The status of the descriptor (fstat(2)).
  package borrowing func status() throws(Errno) -> stat { try Descriptor.status(of: rawValue) }

  /// The status of a descriptor with another owner (fstat(2)).
  package static func status(of rawValue: Int32) throws(Errno) -> stat {
    var status = stat()
    _ = try Errno.retrying { unsafe fstat(rawValue, &status) }
    return status
  }

  /// Writes all data to a descriptor with another owner.
  ///
  /// - Parameter waits: whether to wait for the reader even if the descriptor is nonblocking. Otherwise data that does
  ///   not fit into a pipe is dropped then.
  /// - Throws: EAGAIN if some data was dropped, or the error of write(2).
  package static func write(_ bytes: [UInt8], to rawValue: Int32, waits: Bool = false) throws(Errno) {
    var offset = 0
    while offset < bytes.count {
      do throws(Errno) {
        offset += try Errno.retrying {
          unsafe bytes.dropFirst(offset).withUnsafeBytes { unsafe Glibc.write(rawValue, $0.baseAddress, $0.count) }
        }
      } catch {
        guard waits, error.code == EAGAIN else { throw error }
        var entry = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
        _ = try Errno.retrying { unsafe poll(&entry, 1, -1) }
      }
    }
  }
}

extension stat {
  /// The kind of file: S_IFREG, S_IFCHR and so on.
  package var kind: mode_t { st_mode & S_IFMT }

  /// The major number of a device, which identifies its driver; as in gnu_dev_major(3), which is a macro.
  package var deviceMajor: UInt32 { UInt32(truncatingIfNeeded: (st_rdev >> 8) & 0xFFF | (st_rdev >> 32) & ~0xFFF) }

  /// The minor number of a device, which identifies it among the devices of its driver; as in gnu_dev_minor(3).
  package var deviceMinor: UInt32 { UInt32(truncatingIfNeeded: st_rdev & 0xFF | (st_rdev >> 12) & ~0xFF) }
}
