// SPDX-License-Identifier: Apache-2.0
import Vehicle
import FixSources
import Timekeeping

/// ModemManager with the modem that has the receiver: it stores the last sentence of each kind, and returns all of
/// them.
struct SimulatedModem {
  /// The number in the path of the modem's D-Bus object, which changes each time that the modem is plugged in.
  private var number = 0
  private var enabled: Modem.LocationSources = []
  /// The last sentence of each kind, with its line end.
  private var kept: [String: [UInt8]] = [:]
  private var line: [UInt8] = []
  /// The last three seconds in which it received an epoch.
  private(set) var epochs: [Int] = []

  /// The properties of the modem.
  var modem: Modem {
    var modem = Modem(path: "/org/freedesktop/ModemManager1/Modem/\(number)")
    modem.state = .enabled
    modem.location = Modem.Location(offered: [.raw, .nmea], enabled: enabled)
    return modem
  }

  /// The response to GetLocation; nil if there is no such modem.
  func position(of path: String) -> ModemPosition? {
    guard path == modem.path else { return nil }
    // ModemManager returns them in the arbitrary order of a hash table.
    return ModemPosition(
      sentences: kept.sorted { $0.key.reversed().lexicographicallyPrecedes($1.key.reversed()) }.flatMap(\.value))
  }

  mutating func enable(_ sources: Modem.LocationSources) { enabled = sources }

  /// The modem is plugged in again, as a new one.
  mutating func replug() {
    number += 1
    (enabled, kept, line) = ([], [:], [])
  }

  /// The receiver sends sentences.
  mutating func hear(_ bytes: [UInt8], at second: Int) {
    guard enabled.contains(.nmea) else { return }
    if epochs.last != second { epochs = epochs.suffix(2) + [second] }
    for byte in bytes {
      line.append(byte)
      guard byte == 10 else { continue }
      let kind = line.prefix { $0 != UInt8(ascii: ",") }
      if kind.count == 6, kind.first == UInt8(ascii: "$") { kept[String(decoding: kind, as: UTF8.self)] = line }
      line = []
    }
  }
}

/// The messages between ModemManager and the daemon.
extension World {
  func replugModem(_ index: Int, isThere: Bool) {
    if isThere { ports[index].modem?.replug() }
    // A modem that was never read is not reported as lost.
    if isThere || ports[index].baud != nil {
      if !isThere { ports[index].close() }
      handlePort(index, .modem(.changed))
    }
  }

  func ask(_ request: ModemRequest, of index: Int) {
    switch request {
    case .list:
      let modems = ports[index].isPlugged ? [ports[index].modem?.modem].compactMap(\.self) : []
      handlePort(index, .modem(.modems(modems)))
    case .enable(_, let sources):
      ports[index].modem?.enable(sources)
      handlePort(index, .modem(.enabled))
    case .locate(let path):
      ports[index].askedAt = now
      if ports[index].baud == nil {
        ports[index].baud = scenario.baud
        ports[index].openedAt = now
      }
      let position = ports[index].isPlugged ? ports[index].modem?.position(of: path) : nil
      handlePort(index, .modem(position.map { .position($0) } ?? .refused(.gone)))
    }
  }
}
