// SPDX-License-Identifier: Apache-2.0
import JSON
import FixSources
import Timekeeping

/// How the bytes of a recorded drive reach the daemon.
enum RoadLine: Hashable, CustomStringConvertible {
  /// A UART at this baud rate: the first bytes of a burst are read at once, the others every 100 ms.
  case uart(baud: Int)
  /// Each burst of sentences arrives as one segment.
  case tcp
  /// Each position arrives as one report.
  case gpsd

  var description: String {
    switch self {
    case .uart(let baud): "UART at \(baud) baud"
    case .tcp: "TCP"
    case .gpsd: "gpsd"
    }
  }
}

/// The bytes of one epoch of a recording (its sentences, or gpsd's report), and its time.
struct RoadBurst {
  var time: Timestamp
  var bytes: [UInt8]
}

/// The daemon's own session for a kind of source, and its port or socket, in virtual time.
struct RoadSource {
  private var session: any SourceSession
  /// Bits per second of a serial line; nil for a connection.
  private let baud: Int?
  /// Groups of bytes on the line or in the kernel's buffer, with their arrival times.
  private var line: [(bytes: [UInt8], at: BootInstant)] = []
  private var isWatched = true

  init(_ line: RoadLine) {
    baud = if case .uart(let baud) = line { baud } else { nil }
    session =
      switch line {
      case .uart(let baud):
        SerialSession(device: "/dev/gps0", baud: baud, silenceTimeout: .seconds(10), seed: 1)
      case .tcp:
        NMEANetworkSession(name: "r:1", transport: .connection, allow: [], silenceTimeout: .seconds(10), seed: 1)
      case .gpsd: GPSDSession(address: "g:1", device: nil, silenceTimeout: .seconds(10), seed: 1)
      }
  }

  /// The receiver begins to send these bytes at this time.
  mutating func send(_ bytes: [UInt8], at start: BootInstant) {
    guard let baud else { return line.append((bytes, start)) }
    // A UART raises an interrupt for 8 bytes or a pause; each byte has ten bits on the line.
    var begin = max(start, line.last?.at ?? start)
    for first in stride(from: 0, to: bytes.count, by: 8) {
      let group = Array(bytes[first..<min(first + 8, bytes.count)])
      begin = begin + .microseconds(group.count * 10_000_000 / baud)
      line.append((group, begin))
    }
  }

  /// The time of the next event; nil if there is none.
  var next: BootInstant? {
    return [session.nextDeadline, isWatched ? line.first?.at : nil].compactMap(\.self).min()
  }

  /// Starts the session. Returns its reports.
  mutating func start(at now: BootInstant) -> [SourceReport] { handle(.start, at: now) }

  /// Advances to this time, which is `next`. Returns the session's reports.
  mutating func step(at now: BootInstant) -> [SourceReport] {
    let bytes = isWatched ? arrived(by: now) : []
    return bytes.isEmpty ? handle(.deadline, at: now) : receive(bytes, at: now)
  }

  private mutating func handle(_ input: SourceInput, at now: BootInstant) -> [SourceReport] {
    perform(session.handle(input, at: RoadSource.moment(now)), at: now)
  }

  private mutating func receive(_ bytes: [UInt8], at now: BootInstant) -> [SourceReport] {
    perform(session.receive(bytes.span, from: .peer, at: RoadSource.moment(now)), at: now)
  }

  /// A moment without a wall clock, which sessions of receivers do not use.
  private static func moment(_ now: BootInstant) -> Moment { Moment(boot: now, wall: Timestamp(seconds: 0)) }

  private mutating func arrived(by now: BootInstant) -> [UInt8] {
    let count = line.prefix { $0.at <= now }.count
    defer { line.removeFirst(count) }
    return line.prefix(count).flatMap(\.bytes)
  }

  /// Performs effects. Opening the line succeeds at once, even when it is reopened after a gap in the recording.
  private mutating func perform(_ effects: [SourceEffect], at now: BootInstant) -> [SourceReport] {
    var reports: [SourceReport] = []
    for effect in effects {
      switch effect {
      case .line(.open):
        isWatched = true
        reports += handle(.opened(isTerminal: baud != nil), at: now)
      case .line(.pause): isWatched = false
      case .line(.watch): isWatched = true
      case .line(.read):
        let bytes = arrived(by: now)
        if !bytes.isEmpty { reports += receive(bytes, at: now) }
        reports += handle(.drained, at: now)
      case .line: break
      case .report(let report): reports.append(report)
      }
    }
    return reports
  }
}
