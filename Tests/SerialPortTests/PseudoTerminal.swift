// SPDX-License-Identifier: Apache-2.0
import CPseudoTerminal
import Glibc
import Testing

/// A serial line whose other end acts as the receiver.
final class PseudoTerminal {
  private var descriptor: Int32
  let path: String

  init() throws {
    var name = [CChar](repeating: 0, count: 128)
    descriptor = fleet_pty_open(&name, name.count)
    try #require(descriptor >= 0)
    path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  isolated deinit { unplug() }

  func write(_ bytes: [UInt8]) {
    _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
  }

  /// Unplugs the receiver.
  func unplug() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
  }

  /// The line's settings as read at the other end.
  var settings: termios {
    var settings = termios()
    tcgetattr(descriptor, &settings)
    return settings
  }

  /// Whether further opens are refused to all but root (TIOCEXCL); nil if the line cannot be queried.
  var isExclusive: Bool? {
    // TIOCGEXCL of <asm-generic/ioctls.h>, a macro that Swift does not import: _IOR('T', 0x40, int).
    let getExclusive: UInt = 0x8004_5440
    var isExclusive: CInt = 0
    let line = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    defer { close(line) }
    return ioctl(line, getExclusive, &isExclusive) == 0 ? isExclusive != 0 : nil
  }

  /// Refuses further opens, as another program with the line open may do.
  func exclude() {
    let line = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    defer { close(line) }
    _ = ioctl(line, UInt(TIOCEXCL))
  }
}
