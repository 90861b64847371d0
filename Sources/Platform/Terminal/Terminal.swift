// SPDX-License-Identifier: Apache-2.0
import Glibc
package import SystemCalls

/// The terminal at standard output, as a program that fills the screen has it: the alternate screen, no cursor, keys as they
/// are pressed and not shown. Signals of keys (Ctrl-C, Ctrl-Z) stay signals.
///
/// It is given back as it was by `leave`, which whoever ends or stops has to call first.
package final class Terminal {
  /// In characters.
  package struct Size: Equatable, Sendable {
    /// Characters in a line.
    package var columns: Int
    /// Lines on the screen.
    package var rows: Int

    package init(columns: Int, rows: Int) {
      self.columns = columns
      self.rows = rows
    }
  }

  /// What a reader of keys has learnt.
  package enum Input: Equatable, Sendable {
    case keys([UInt8])
    /// Nobody will press one any more.
    case end
  }

  /// Alternate screen, no cursor, and everything off it, for terminals that have only one screen.
  private static let entering = Array("\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J".utf8)
  /// Who has it already only takes care of what others may have done to it meanwhile: a terminal that is asked to enter
  /// twice forgets where its cursor was.
  private static let retaking = Array("\u{1b}[?25l".utf8)
  /// To the end first: where there is only one screen, what comes next does not stand in the middle of ours.
  private static let leaving = Array("\u{1b}[0m\u{1b}[?25h\u{1b}[999;1H\n\u{1b}[?1049l".utf8)
  private static let patience: Int32 = 1000

  private let output = STDOUT_FILENO
  private let original: termios
  private var isEntered = false

  /// - Throws: ENOTTY when standard output is no terminal.
  package init() throws(Errno) {
    var attributes = termios()
    let output = output
    _ = try Errno.retrying { unsafe tcgetattr(output, &attributes) }
    original = attributes
  }

  /// Whether standard output is a terminal.
  package static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }

  /// The size of the terminal at standard output; nil when it does not tell.
  package static var size: Size? {
    var size = winsize()
    guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return nil
    }
    return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  /// The descriptor to watch for keys; nil when standard input is no terminal.
  package var keyboard: Int32? { isatty(STDIN_FILENO) == 1 ? STDIN_FILENO : nil }

  /// Takes the screen; harmless when it is taken. In the background this stops the program until it is in the foreground.
  package func enter() throws(Errno) {
    var attributes = original
    attributes.c_lflag &= ~tcflag_t(ICANON | ECHO)
    unsafe withUnsafeMutableBytes(of: &attributes.c_cc) {
      unsafe $0[Int(VMIN)] = 1
      unsafe $0[Int(VTIME)] = 0
    }
    try set(attributes)
    let sequence = isEntered ? Terminal.retaking : Terminal.entering
    isEntered = true
    try write(sequence)
  }

  /// Gives the screen back; harmless when it is not taken, or gone.
  package func leave() {
    guard isEntered else { return }
    isEntered = false
    // There is nobody to tell.
    try? write(Terminal.leaving)
    try? set(original)
  }

  /// Writes all of it in one go, if the terminal takes it; waits for a slow one.
  ///
  /// - Throws: EIO when the terminal is gone, EAGAIN when it takes nothing for a second.
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
        // Somebody who shares the terminal has set it so that nobody waits.
        guard error.code == EAGAIN else { throw error }
        var entry = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
        guard try Errno.retrying({ unsafe poll(&entry, 1, Terminal.patience) }) > 0 else { throw error }
      }
    }
  }

  /// What has been pressed: after the event loop has told that there is something.
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
