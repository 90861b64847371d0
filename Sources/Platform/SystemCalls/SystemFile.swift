// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// Reads links and short files.
package enum SystemFile {
  /// The target of a link; nil if it is not a link, or not accessible.
  package static func target(ofLink path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe buffer.withUnsafeMutableBytes { bytes in
      guard let first = bytes.baseAddress else { return -1 }
      return unsafe readlink(path, first.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
  }

  /// realpath(3): the absolute path without links; nil if there is no such file, or this user cannot find it.
  package static func resolved(_ path: String) -> String? {
    guard let text = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }

  /// The names in a directory; nil if it cannot be listed.
  package static func names(in directory: String) -> [String]? {
    guard let stream = unsafe opendir(directory) else { return nil }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      names.append(
        unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
          unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        })
    }
    return names
  }

  /// The lines of a file's first 16 KiB; empty if it cannot be read.
  package static func lines(_ path: String) -> [String] {
    let text = (try? content(of: path, limit: 16_383).bytes) ?? []
    return text.split { $0 == UInt8(ascii: "\n") }.map { String(decoding: $0, as: UTF8.self) }
  }

  /// The status and the content of a regular file, up to slightly more than `limit` bytes; for anything else only the
  /// status.
  ///
  /// - Parameter flags: flags for open(2), in addition to those for reading.
  package static func content(
    of path: String, limit: Int, flags: Int32 = 0
  ) throws(Errno) -> (status: stat, bytes: [UInt8]) {
    // O_NONBLOCK: a FIFO at this path must not block the service.
    let descriptor = try Descriptor.open(path, O_RDONLY | O_NONBLOCK | flags)
    let status = try descriptor.status()
    var bytes: [UInt8] = []
    guard status.kind == S_IFREG else { return (status, bytes) }
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while bytes.count <= limit, case .bytes(let count) = try descriptor.read(into: &buffer) {
      bytes.append(contentsOf: buffer.prefix(count))
    }
    return (status, bytes)
  }
}
