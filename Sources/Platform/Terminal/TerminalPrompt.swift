// SPDX-License-Identifier: Apache-2.0
import Glibc
package import SystemCalls

/// Prompts for input at the terminal.
package enum TerminalPrompt {
  /// What was typed.
  package enum Answer: Equatable, Sendable {
    case line(String)
    /// A line of which the kernel may have dropped the end.
    case cut
    /// End of input, or Ctrl-C while the input is hidden.
    case end
  }

  /// Ctrl-C as a character.
  private static let interrupt: UInt8 = 3
  /// In bytes. The kernel's buffer for a line, N_TTY_BUF_SIZE, has 4096, and the last one is the line end: one of 4095
  /// may have been cut.
  package static let maxLength = 4094

  /// Whether a user can be asked: standard input and output are terminals.
  package static var isPossible: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

  /// Reads one line.
  ///
  /// - Parameter isHidden: whether the input is hidden while it is typed.
  package static func read(isHidden: Bool = false) throws(Errno) -> Answer {
    guard isHidden else { return try line() }
    var original = termios()
    _ = try Errno.retrying { unsafe tcgetattr(STDIN_FILENO, &original) }
    var hidden = original
    // Signals are off, so that none ends the program before the terminal is restored.
    hidden.c_lflag &= ~tcflag_t(ECHO | ISIG)
    hidden.c_lflag |= tcflag_t(ECHONL | ICANON)
    // Ctrl-C ends the line, which otherwise cannot be read before Enter is pressed.
    unsafe withUnsafeMutableBytes(of: &hidden.c_cc) { unsafe $0[Int(VEOL)] = interrupt }
    _ = try Errno.retrying { unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) }
    // The rest of the input is discarded, so that a shell does not show it; after a line it is the next answer.
    var action = TCSAFLUSH
    defer { _ = unsafe tcsetattr(STDIN_FILENO, action, &original) }
    let answer = try line()
    if case .line = answer { action = TCSADRAIN }
    return answer
  }

  private static func line() throws(Errno) -> Answer {
    var bytes: [UInt8] = []
    var byte: [UInt8] = [0]
    while bytes.count <= maxLength {
      let count = try Errno.retrying {
        unsafe byte.withUnsafeMutableBytes { unsafe Glibc.read(STDIN_FILENO, $0.baseAddress, 1) }
      }
      guard count > 0 else { return .end }
      if byte[0] == interrupt { return .end }
      if byte[0] == UInt8(ascii: "\n") { return .line(String(decoding: bytes, as: UTF8.self)) }
      bytes.append(byte[0])
    }
    return .cut
  }
}
