// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Writes to standard output with `write(2)`: what is handed over is out when the call returns.
enum StandardOutput {
  /// Writes all of it.
  ///
  /// - Returns: whether anybody still reads; false once the reader has closed its end, which is no error.
  static func write(_ bytes: [UInt8]) throws(CommandError) -> Bool {
    switch writeAll(bytes, to: STDOUT_FILENO) {
    case 0: return true
    case EPIPE: return false
    case let code: throw CommandError(.io, "cannot write to standard output: \(describe(code))")
    }
  }

  /// Writes a text; returns the exit status of a command that has no more to do.
  static func write(_ text: String) throws(CommandError) -> Int32 {
    _ = try write(Array(text.utf8))
    return 0
  }
}

/// Writes to standard error. There is nobody to tell if that fails.
enum StandardError {
  static func write(_ text: String) {
    _ = writeAll(Array(text.utf8), to: STDERR_FILENO)
  }
}

/// The system's words for an error number.
func describe(_ code: Int32) -> String {
  var buffer = [CChar](repeating: 0, count: 256)
  guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
  return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Returns 0 or the error number.
private func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
  bytes.withUnsafeBytes { buffer in
    var written = 0
    while written < buffer.count {
      let count = Glibc.write(descriptor, buffer.baseAddress.map { $0 + written }, buffer.count - written)
      if count >= 0 {
        written += count
      } else {
        let code = errno
        if code != EINTR { return code }
      }
    }
    return 0
  }
}
