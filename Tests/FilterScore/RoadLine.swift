// SPDX-License-Identifier: Apache-2.0
import JSON
import Positioning
import Timekeeping

/// How the bytes of a recorded drive reach the daemon.
enum RoadLine: Hashable, CustomStringConvertible {
  /// A UART at this baud rate: the first bytes of a burst are read at once, the others every 100 ms.
  case uart(baud: Int)
  /// A burst of sentences is one segment.
  case tcp
  /// A position is one report.
  case gpsd

  var description: String {
    switch self {
    case .uart(let baud): "UART at \(baud) baud"
    case .tcp: "TCP"
    case .gpsd: "gpsd"
    }
  }
}

/// The sentences of one epoch of a recording, and its time.
struct RoadBurst {
  var time: Timestamp
  var bytes: [UInt8]
}

/// The daemon's own session for a kind of source, and the port or socket that it reads, in virtual time.
struct RoadSource {
  private enum Session {
    case serial(SerialSession, baud: Int)
    case network(NMEANetworkSession)
    case gpsd(GPSDSession)
  }

  private var session: Session
  /// Bytes that are on the line or in the kernel's buffer, with the arrival of each group.
  private var line: [(bytes: [UInt8], at: BootInstant)] = []
  private var isWatched = true

  init(_ line: RoadLine) {
    switch line {
    case .uart(let baud):
      let session = SerialSession(device: "/dev/gps0", baud: baud, silenceTimeout: .seconds(10), seed: 1)
      self.session = .serial(session, baud: baud)
    case .tcp:
      session = .network(
        NMEANetworkSession(name: "r:1", transport: .connection, allow: [], silenceTimeout: .seconds(10), seed: 1))
    case .gpsd:
      session = .gpsd(GPSDSession(address: "g:1", device: nil, silenceTimeout: .seconds(10), seed: 1))
    }
  }

  /// The receiver begins to send at this time.
  mutating func send(_ bytes: [UInt8], at start: BootInstant) {
    guard case .serial(_, let baud) = session else { return line.append((bytes, start)) }
    // A UART interrupts for 8 bytes or a pause; ten bits each.
    var begin = max(start, line.last?.at ?? start)
    for first in stride(from: 0, to: bytes.count, by: 8) {
      let group = Array(bytes[first..<min(first + 8, bytes.count)])
      begin = begin + .microseconds(group.count * 10_000_000 / baud)
      line.append((group, begin))
    }
  }

  /// When something happens; nil: nothing will.
  var next: BootInstant? {
    let deadline =
      switch session {
      case .serial(let session, _): session.nextDeadline
      case .network(let session): session.nextDeadline
      case .gpsd(let session): session.nextDeadline
      }
    return [deadline, isWatched ? line.first?.at : nil].compactMap(\.self).min()
  }

  /// Starts the session; what it reports.
  mutating func start(at now: BootInstant) -> [SourceReport] {
    switch session {
    case .serial(var serial, let baud):
      let effects = serial.handle(.start, at: now)
      session = .serial(serial, baud: baud)
      return perform(effects, at: now)
    case .network(var network):
      let effects = network.handle(.start, at: now)
      session = .network(network)
      return perform(effects, at: now)
    case .gpsd(var gpsd):
      let effects = gpsd.handle(.start, at: now)
      session = .gpsd(gpsd)
      return perform(effects, at: now)
    }
  }

  /// What the session reports at this time, which is `next`.
  mutating func step(at now: BootInstant) -> [SourceReport] {
    let bytes = isWatched ? arrived(by: now) : []
    switch session {
    case .serial(var serial, let baud):
      let effects = bytes.isEmpty ? serial.handle(.deadline, at: now) : serial.receive(bytes.span, at: now)
      session = .serial(serial, baud: baud)
      return perform(effects, at: now)
    case .network(var network):
      let effects = bytes.isEmpty ? network.handle(.deadline, at: now) : network.receive(bytes.span, at: now)
      session = .network(network)
      return perform(effects, at: now)
    case .gpsd(var gpsd):
      let effects = bytes.isEmpty ? gpsd.handle(.deadline, at: now) : gpsd.receive(bytes.span, at: now)
      session = .gpsd(gpsd)
      return perform(effects, at: now)
    }
  }

  private mutating func arrived(by now: BootInstant) -> [UInt8] {
    let count = line.prefix { $0.at <= now }.count
    defer { line.removeFirst(count) }
    return line.prefix(count).flatMap(\.bytes)
  }

  /// A port opens at once, and again after a pause of the recording.
  private mutating func perform(_ effects: [SerialSession.Effect], at now: BootInstant) -> [SourceReport] {
    var reports: [SourceReport] = []
    for effect in effects {
      guard case .serial(var serial, let baud) = session else { break }
      var more: [SerialSession.Effect] = []
      switch effect {
      case .open:
        isWatched = true
        more = serial.handle(.opened(isTerminal: true), at: now)
      case .setSpeed, .close: break
      case .pause: isWatched = false
      case .watch: isWatched = true
      case .read:
        let bytes = arrived(by: now)
        more = (bytes.isEmpty ? [] : serial.receive(bytes.span, at: now)) + serial.handle(.drained, at: now)
      case .report(let report): reports.append(report)
      }
      session = .serial(serial, baud: baud)
      reports += perform(more, at: now)
    }
    return reports
  }

  /// A connection is made at once.
  private mutating func perform(_ effects: [NMEANetworkSession.Effect], at now: BootInstant) -> [SourceReport] {
    var reports: [SourceReport] = []
    for effect in effects {
      guard case .network(var network) = session else { break }
      if case .report(let report) = effect { reports.append(report) }
      guard effect == .open else { continue }
      let more = network.handle(.opened, at: now)
      session = .network(network)
      reports += perform(more, at: now)
    }
    return reports
  }

  /// The same with gpsd.
  private mutating func perform(_ effects: [GPSDSession.Effect], at now: BootInstant) -> [SourceReport] {
    var reports: [SourceReport] = []
    for effect in effects {
      guard case .gpsd(var gpsd) = session else { break }
      if case .report(let report) = effect { reports.append(report) }
      guard effect == .open else { continue }
      let more = gpsd.handle(.opened, at: now)
      session = .gpsd(gpsd)
      reports += perform(more, at: now)
    }
    return reports
  }
}
