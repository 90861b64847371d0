// SPDX-License-Identifier: Apache-2.0
import CPseudoTerminal
import Glibc

/// A GNSS receiver on a serial line: a pseudo-terminal behind a link, as udev creates for a USB receiver.
final class Receiver {
  /// The device that the daemon opens.
  let device: String
  private var descriptor: Int32 = -1

  /// - Parameter device: path of the link, which `plugIn` creates.
  init(device: String) {
    self.device = device
  }

  deinit { unplug() }

  func plugIn() throws {
    var path = [CChar](repeating: 0, count: 128)
    descriptor = fleet_pty_open(&path, path.count)
    guard descriptor >= 0 else { throw TestFailure("no pseudo-terminal: \(errno)") }
    let name = String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    guard symlink(name, device) == 0 else { throw TestFailure("symlink \(device): \(errno)") }
  }

  /// Whether the daemon has set the line to raw mode: bytes sent before that are lost.
  var isOpened: Bool {
    var settings = termios()
    return tcgetattr(descriptor, &settings) == 0 && settings.c_lflag & tcflag_t(ICANON) == 0
  }

  /// Sets a flag of the line that has no effect, and that setting the line to raw mode removes.
  func mark() throws {
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else { throw TestFailure("tcgetattr: \(errno)") }
    settings.c_lflag |= tcflag_t(IEXTEN)
    guard tcsetattr(descriptor, TCSANOW, &settings) == 0 else { throw TestFailure("tcsetattr: \(errno)") }
  }

  /// Whether the daemon has not opened the device since `mark`.
  var isMarked: Bool {
    var settings = termios()
    return tcgetattr(descriptor, &settings) == 0 && settings.c_lflag & tcflag_t(IEXTEN) != 0
  }

  /// Unplugs the receiver: the line hangs up, and the link is removed.
  func unplug() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
    unlink(device)
  }

  /// Sends bytes; those that are not read in time are lost, as on a real line.
  func send(_ bytes: some Sequence<UInt8>) {
    let bytes = Array(bytes)
    _ = write(descriptor, bytes, bytes.count)
  }

  func send(_ text: String) { send(text.utf8) }
}
