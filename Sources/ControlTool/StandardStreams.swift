// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// Writes to standard output with `write(2)`: what is handed over is out when the call returns.
enum StandardOutput {
  /// Writes all of it, waiting for a slow reader.
  ///
  /// - Returns: whether anybody still reads; false once the reader has closed its end, which is no error.
  static func write(_ bytes: [UInt8]) throws(CommandError) -> Bool {
    do throws(Errno) {
      try Descriptor.write(bytes, to: STDOUT_FILENO)
      return true
    } catch {
      if error.code == EPIPE { return false }
      throw CommandError(.io, "cannot write to standard output: \(error)")
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
    try? Descriptor.write(Array(text.utf8), to: STDERR_FILENO)
  }
}
