// SPDX-License-Identifier: Apache-2.0
import CPseudoTerminal
import Foundation
import Glibc

/// A GNSS receiver on a serial line: a pseudo-terminal behind a link, as udev gives one to a USB receiver.
final class Receiver {
  /// The device that the daemon opens.
  let device: String
  private var descriptor: Int32 = -1

  /// - Parameter device: path of the link, which comes with `plugIn`.
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

  /// Whether the daemon has set the line to raw: what is sent before is lost.
  var isOpened: Bool {
    var settings = termios()
    return tcgetattr(descriptor, &settings) == 0 && settings.c_lflag & tcflag_t(ICANON) == 0
  }

  /// Pulls the plug: the line hangs up, and the link goes.
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

/// NMEA 0183 of a drive that a test makes up.
struct Drive {
  /// Where it is, and when.
  private(set) var latitude = 48.1
  var longitude = 11.5
  private(set) var date: Date
  /// Seconds between positions.
  var period = 1.0
  /// Degrees of latitude between positions, so many that the vehicle counts as moving.
  var step = 0.000_1

  /// - Parameter date: of the first position.
  init(from date: Date = Date()) {
    // Whole tenths: what sentences can say.
    self.date = Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 10).rounded() / 10)
  }

  /// RMC and GGA of the next position.
  mutating func next() -> String {
    defer {
      latitude += step
      date += period
    }
    let place = "\(Drive.angle(latitude, 2)),N,\(Drive.angle(longitude, 3)),E"
    let time = Drive.text("HHmmss.SS", date)
    let knots = String(format: "%.1f", step * 111_320 / period * 1.943_844)
    return Drive.sentence("GPRMC,\(time),A,\(place),\(knots),0.0,\(Drive.text("ddMMyy", date)),,,A")
      + Drive.sentence("GPGGA,\(time),\(place),1,09,0.9,520.0,M,47.0,M,,")
  }

  mutating func next(_ count: Int) -> String {
    (0..<count).map { _ in next() }.joined()
  }

  static func sentence(_ content: String) -> String {
    "$\(content)*\(String(format: "%02X", content.utf8.reduce(0, ^)))\r\n"
  }

  private static func angle(_ degrees: Double, _ digits: Int) -> String {
    String(format: "%0\(digits)d%010.7f", Int(degrees), (degrees - degrees.rounded(.down)) * 60)
  }

  private static func text(_ format: String, _ date: Date) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = format
    return formatter.string(from: date)
  }
}
