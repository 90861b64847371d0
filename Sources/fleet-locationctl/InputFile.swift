// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A file, FIFO or standard input, read from its start to its end.
struct InputFile: ~Copyable {
  /// For messages.
  let name: String
  private let descriptor: Int32

  /// - Parameter path: `-` is standard input.
  init(path: String) throws(CommandError) {
    guard path != "-" else {
      name = "standard input"
      descriptor = STDIN_FILENO
      return
    }
    var opened: Int32
    repeat { opened = open(path, O_RDONLY | O_CLOEXEC) } while opened < 0 && errno == EINTR
    guard opened >= 0 else { throw InputFile.openError(path, errno) }
    var status = stat()
    guard fstat(opened, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR else {
      close(opened)
      throw CommandError(.noInput, "\(path): is a directory; give a file in it")
    }
    name = path
    descriptor = opened
  }

  deinit {
    if descriptor != STDIN_FILENO { close(descriptor) }
  }

  /// Fills the buffer as far as bytes are there, waiting for the first. Zero at the end.
  func read(into buffer: inout [UInt8]) throws(CommandError) -> Int {
    while true {
      let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 { return count }
      let code = errno
      guard code == EINTR else { throw CommandError(.io, "\(name): cannot be read: \(describe(code))") }
    }
  }

  private static func openError(_ path: String, _ code: Int32) -> CommandError {
    switch code {
    case ENOENT, ENOTDIR: CommandError(.noInput, "\(path): no such file; check the path")
    case EACCES, EPERM:
      CommandError(.permission, "\(path): permission denied; run as a user who may read it, or change its mode")
    default: CommandError(.noInput, "\(path): cannot be opened: \(describe(code))")
    }
  }
}
