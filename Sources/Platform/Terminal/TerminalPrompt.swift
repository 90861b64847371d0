// SPDX-License-Identifier: Apache-2.0
import Glibc
package import SystemCalls

/// Prompts for input at the terminal.
package enum TerminalPrompt {
  /// What was typed.
  package enum Answer: Equatable, Sendable {
    case line(String)
    /// End of input, or Ctrl-C while the input is hidden.
    case end
  }

  /// Ctrl-C as a character.
  private static let interrupt: UInt8 = 3
  private static let maxLength = 16_384

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
    _ = try Errno.retrying { unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) }
    defer { _ = unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &original) }
    return try line()
  }

  private static func line() throws(Errno) -> Answer {
    var bytes: [UInt8] = []
    var byte: [UInt8] = [0]
    while bytes.count < maxLength {
      let count = try Errno.retrying {
        unsafe byte.withUnsafeMutableBytes { unsafe Glibc.read(STDIN_FILENO, $0.baseAddress, 1) }
      }
      guard count > 0 else { return .end }
      if byte[0] == interrupt { return .end }
      if byte[0] == UInt8(ascii: "\n") { break }
      bytes.append(byte[0])
    }
    return .line(String(decoding: bytes, as: UTF8.self))
  }
}
