// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// Writes to standard output with `write(2)`, without a buffer.
enum StandardOutput {
  /// Writes all of it, waiting for a slow reader, even if another program has made the pipe or terminal nonblocking.
  ///
  /// - Returns: false if the reader has closed its end, which is not an error.
  static func write(_ bytes: [UInt8]) throws(CommandError) -> Bool {
    do throws(Errno) {
      try Descriptor.write(bytes, to: STDOUT_FILENO, waits: true)
      return true
    } catch {
      if error.code == EPIPE { return false }
      throw CommandError(.io, "cannot write to standard output: \(error)")
    }
  }

  /// Writes a text.
  ///
  /// - Returns: 0, the exit status of a command that has finished.
  static func write(_ text: String) throws(CommandError) -> Int32 {
    _ = try write(Array(text.utf8))
    return 0
  }
}

/// Writes to standard error; a failure is ignored.
enum StandardError {
  static func write(_ text: String) {
    try? Descriptor.write(Array(text.utf8), to: STDERR_FILENO)
  }
}
