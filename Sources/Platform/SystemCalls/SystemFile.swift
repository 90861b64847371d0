// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Reads links and short files under /proc and /dev.
package enum SystemFile {
  /// The target of a link; nil if it is none, or not accessible.
  package static func target(ofLink path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe buffer.withUnsafeMutableBytes { bytes in
      guard let first = bytes.baseAddress else { return -1 }
      return unsafe readlink(path, first.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
  }

  /// The resolved path; nil if it does not exist.
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
    guard let descriptor = try? Descriptor.open(path, O_RDONLY | O_NONBLOCK) else { return [] }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while text.count < 16_384, case .bytes(let count)? = try? descriptor.read(into: &buffer) {
      text += buffer.prefix(count)
    }
    return text.split { $0 == UInt8(ascii: "\n") }.map { String(decoding: $0, as: UTF8.self) }
  }
}
