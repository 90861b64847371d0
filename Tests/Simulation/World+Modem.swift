// SPDX-License-Identifier: Apache-2.0
import Delivery
import Positioning
import Timekeeping

/// ModemManager with the modem whose receiver speaks: it keeps the last sentence of each kind, and answers with all of
/// them.
struct SimulatedModem {
  var session: ModemSession
  /// Of the modem's object: another each time that it is plugged in.
  private var number = 0
  private var enabled: Modem.LocationSources = []
  /// By kind, with the line end.
  private var kept: [String: [UInt8]] = [:]
  private var line: [UInt8] = []

  init(seed: UInt64) {
    session = ModemSession(selection: ModemSelection(), silenceTimeout: World.silenceTimeout, seed: seed)
  }

  /// The modem as it is described.
  var modem: Modem {
    var modem = Modem(path: "/org/freedesktop/ModemManager1/Modem/\(number)")
    modem.state = .enabled
    modem.location = Modem.Location(offered: [.raw, .nmea], enabled: enabled)
    return modem
  }

  /// The response to GetLocation; nil when there is no such modem.
  func position(of path: String) -> ModemPosition? {
    guard path == modem.path else { return nil }
    // The order of a hash table: none that means anything.
    return ModemPosition(
      sentences: kept.sorted { $0.key.reversed().lexicographicallyPrecedes($1.key.reversed()) }.flatMap(\.value))
  }

  mutating func enable(_ sources: Modem.LocationSources) { enabled = sources }

  /// It is plugged in again, as a new modem.
  mutating func replug() {
    number += 1
    (enabled, kept, line) = ([], [:], [])
  }

  /// The receiver says something.
  mutating func hear(_ bytes: [UInt8]) {
    guard enabled.contains(.nmea) else { return }
    for byte in bytes {
      line.append(byte)
      guard byte == 10 else { continue }
      let kind = line.prefix { $0 != UInt8(ascii: ",") }
      if kind.count == 6, kind.first == UInt8(ascii: "$") { kept[String(decoding: kind, as: UTF8.self)] = line }
      line = []
    }
  }
}

/// The receiver of a modem, between ModemManager and the agent.
extension World {
  /// Nil for a port that is no modem's.
  static func modem(_ scenario: Scenario, index: Int, seed: UInt64) -> SimulatedModem? {
    scenario.hasModem && index == 0 ? SimulatedModem(seed: seed) : nil
  }

  /// - Parameter input: what the port would be notified of.
  func notifyModem(_ index: Int, _ input: SerialSession.Input) {
    switch input {
    case .start: handleModem(index, .start)
    case .deadline: handleModem(index, .deadline)
    case .appeared:
      ports[index].modem?.replug()
      handleModem(index, .changed)
    case .ended: handleModem(index, .changed)
    case .opened, .openFailed, .speedRefused, .drained: break
    }
  }

  private func handleModem(_ index: Int, _ input: ModemSession.Input) {
    for effect in ports[index].modem?.session.handle(input, at: moment.boot) ?? [] where !isOff && finishedAt == nil {
      switch effect {
      case .open: handleModem(index, .opened)
      case .list:
        handleModem(index, .modems(ports[index].isPlugged ? [ports[index].modem?.modem].compactMap(\.self) : []))
      case .enable(_, let sources):
        ports[index].modem?.enable(sources)
        handleModem(index, .enabled)
      case .locate(let path):
        if ports[index].speed == nil {
          ports[index].speed = scenario.baud
          ports[index].openedAt = now
        }
        let position = ports[index].isPlugged ? ports[index].modem?.position(of: path) : nil
        handleModem(index, position.map { .position($0) } ?? .refused(.gone))
      case .report(.fix(let fix)):
        evaluate(fix, from: index)
        handle(fix, from: index)
      case .report(let report): handle(.source(index, report))
      }
    }
    guard !isOff else { return }
    ports[index].deadline = ports[index].modem?.session.nextDeadline.map { bootedAt + ($0 - .boot) } ?? .distantFuture
  }
}
