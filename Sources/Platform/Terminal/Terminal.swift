// SPDX-License-Identifier: Apache-2.0
import Glibc
package import SystemCalls

/// The terminal at standard output for a full-screen program: alternate screen, hidden cursor, raw keys without echo.
/// Keys for signals (Ctrl-C, Ctrl-Z) still send them.
///
/// `leave` restores the terminal, and must be called before the process ends or stops.
package final class Terminal {
  /// The size in characters.
  package struct Size: Equatable, Sendable {
    /// Columns.
    package var columns: Int
    /// Rows.
    package var rows: Int

    package init(columns: Int, rows: Int) {
      self.columns = columns
      self.rows = rows
    }
  }

  /// The result of reading keys.
  package enum Input: Equatable, Sendable {
    case keys([UInt8])
    /// End of input: there will be no more keys.
    case end
  }

  /// Alternate screen, hidden cursor, and a cleared screen for terminals without an alternate one.
  private static let enterSequence = Array("\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J".utf8)
  /// Sent if full-screen mode has been entered already, in case another program has changed the terminal: a terminal
  /// that enters the alternate screen twice loses the saved cursor position.
  private static let reenterSequence = Array("\u{1b}[?25l".utf8)
  /// First moves to the last line, for terminals without an alternate screen.
  private static let leaveSequence = Array("\u{1b}[0m\u{1b}[?25h\u{1b}[999;1H\n\u{1b}[?1049l".utf8)
  private static let writeTimeout: Int32 = 1000

  private let output = STDOUT_FILENO
  private let original: termios
  private var isFullScreen = false

  /// - Throws: ENOTTY if standard output is not a terminal.
  package init() throws(Errno) {
    var attributes = termios()
    let output = output
    _ = try Errno.retrying { unsafe tcgetattr(output, &attributes) }
    original = attributes
  }

  /// Whether standard output is a terminal.
  package static var isStandardOutput: Bool { isatty(STDOUT_FILENO) == 1 }

  /// The size of the terminal at standard output; nil if unknown.
  package static var size: Size? {
    var size = winsize()
    guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return nil
    }
    return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  /// The descriptor to watch for keys; nil if standard input is not a terminal.
  package var keyboard: Int32? { isatty(STDIN_FILENO) == 1 ? STDIN_FILENO : nil }

  /// Enters full-screen mode; idempotent. In the background this stops the process until it is in the foreground.
  package func enter() throws(Errno) {
    var attributes = original
    attributes.c_lflag &= ~tcflag_t(ICANON | ECHO)
    unsafe withUnsafeMutableBytes(of: &attributes.c_cc) {
      unsafe $0[Int(VMIN)] = 1
      unsafe $0[Int(VTIME)] = 0
    }
    try set(attributes)
    let sequence = isFullScreen ? Terminal.reenterSequence : Terminal.enterSequence
    isFullScreen = true
    try write(sequence)
  }

  /// Restores the terminal; idempotent, and ignores a closed terminal.
  package func leave() {
    guard isFullScreen else { return }
    isFullScreen = false
    // An error cannot be reported.
    try? write(Terminal.leaveSequence)
    try? set(original)
  }

  /// Writes all data, blocking while the terminal is slow.
  ///
  /// - Throws: EIO if the terminal is gone, EAGAIN after a timeout of one second.
  package func write(_ bytes: [UInt8]) throws(Errno) {
    var rest = bytes[...]
    while !rest.isEmpty {
      do {
        let output = output
        let count = try Errno.retrying {
          unsafe rest.withUnsafeBytes { unsafe Glibc.write(output, $0.baseAddress, $0.count) }
        }
        rest = rest.dropFirst(count)
      } catch {
        // EAGAIN: another process that shares the terminal has set O_NONBLOCK.
        guard error.code == EAGAIN else { throw error }
        var entry = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
        guard try Errno.retrying({ unsafe poll(&entry, 1, Terminal.writeTimeout) }) > 0 else { throw error }
      }
    }
  }

  /// The keys that were pressed. To be called after the event loop has reported the keyboard as readable.
  package func read() -> Input {
    var buffer = [UInt8](repeating: 0, count: 64)
    do {
      let count = try Errno.retrying {
        unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(STDIN_FILENO, $0.baseAddress, $0.count) }
      }
      return count == 0 ? .end : .keys(Array(buffer.prefix(count)))
    } catch {
      return error.code == EAGAIN ? .keys([]) : .end
    }
  }

  private func set(_ attributes: termios) throws(Errno) {
    var attributes = attributes
    let output = output
    _ = try Errno.retrying { unsafe tcsetattr(output, TCSADRAIN, &attributes) }
  }
}
