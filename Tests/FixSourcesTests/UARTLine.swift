// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import Positioning
import Testing
import Timekeeping

/// A serial line that delivers 16 bytes at a time, as a UART does, and a stand-in for the shell that reads it.
struct UARTLine {
  static let manySentences =
    ["GPGGA,TIME,4500.0,N,00100.0,E,1,08,1.0,100.0,M,47.0,M,,"]
    + (1...12).map { "GPGSV,12,\($0),48,01,40,083,46,02,17,308,41,12,07,344,39,14,22,228,45" }

  private(set) var session: SerialSession
  private let baud: Int
  /// The bodies of the sentences that follow RMC; `TIME` stands for the time.
  var sentences: [String] = []
  private var arrivals: [(at: BootInstant, bytes: [UInt8])] = []
  private var free = BootInstant.boot
  /// For each burst with a fix, by the receiver's time: when its first bytes arrived, when the last sentence of the
  /// epoch ended, and when the burst ended.
  private var bursts: [Int64: (start: BootInstant, fix: BootInstant, end: BootInstant)] = [:]
  /// When the daemon woke up.
  private(set) var wakeUpTimes: [BootInstant] = []
  /// When each fix was available.
  private(set) var fixes: [Int64: BootInstant] = [:]
  private var isWatched = true
  private var unread: [UInt8] = []

  init(baud: Int) {
    session = SerialSession(device: "/dev/gps0", baud: baud, silenceTimeout: .seconds(10), seed: 1)
    self.baud = baud
  }

  /// The receiver writes a burst.
  ///
  /// - Parameters:
  ///   - milliseconds: the time in its sentences, in milliseconds after twelve o'clock.
  ///   - late: the delay of the burst beyond a second after that time, in milliseconds.
  ///   - isValid: whether the burst has a position.
  mutating func burst(at milliseconds: Int64, late: Double = 0, isValid: Bool = true) {
    var start = BootInstant.boot + .milliseconds(1000 + milliseconds) + .microseconds(Int64(late * 1000))
    if start < free { start = free }
    let (minute, second) = (milliseconds / 60_000, milliseconds / 1000 % 60)
    let time = "12\(UARTLine.padded(minute))\(UARTLine.padded(second)).\(milliseconds % 1000 / 100)"
    let state = isValid ? "A" : "V"
    let bodies =
      ["GPRMC,\(time),\(state),4500.0,N,00100.0,E,10.0,0.0,010124,,,\(isValid ? "A" : "N")"]
      + sentences.map { body in
        let body = body.replacing("TIME", with: time)
        return isValid ? body : body.replacing(",E,1,08", with: ",E,0,00")
      }
    let bytes: [UInt8] = bodies.flatMap { Array("$\($0)*\(UARTLine.checksum($0))\r\n".utf8) }
    let lengthToFix = bodies.prefix(2).reduce(0) { $0 + $1.utf8.count + 6 }
    var fix: BootInstant?
    for end in stride(from: 16, to: bytes.count + 16, by: 16) {
      let piece = bytes[(end - 16)..<min(end, bytes.count)]
      free = start + .microseconds(Int64(min(end, bytes.count)) * 10_000_000 / Int64(baud))
      if fix == nil, min(end, bytes.count) >= min(lengthToFix, bytes.count) { fix = free }
      arrivals.append((free, Array(piece)))
    }
    let first = start + .microseconds(160_000_000 / Int64(baud))
    if isValid { bursts[milliseconds] = (first, fix ?? free, free) }
  }

  private static func padded(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static func checksum(_ body: String) -> String {
    let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
    return sum.count < 2 ? "0\(sum)" : sum
  }

  /// Runs until the end of the last burst and the silence after it.
  mutating func run() {
    _ = session.handle(.start, at: .boot)
    _ = session.handle(.opened(isTerminal: true), at: .boot)
    let end = free + .seconds(9)
    var next = 0
    while next < arrivals.count || session.nextDeadline.map({ $0 < end }) ?? false {
      let deadline = session.nextDeadline ?? .distantFuture
      if next < arrivals.count, arrivals[next].at <= deadline {
        let arrival = arrivals[next]
        next += 1
        unread += arrival.bytes
        if isWatched { read(at: arrival.at, isWakeUp: true) }
      } else {
        wakeUpTimes.append(deadline)
        perform(session.handle(.deadline, at: deadline), at: deadline)
      }
    }
  }

  private mutating func read(at now: BootInstant, isWakeUp: Bool) {
    guard !unread.isEmpty else { return }
    if isWakeUp { wakeUpTimes.append(now) }
    let bytes = unread
    unread = []
    expect(bytes.count < 4096, "the kernel's buffer is full")
    perform(session.receive(bytes.span, at: now), at: now)
  }

  private mutating func perform(_ effects: [SourceEffect], at now: BootInstant) {
    for effect in effects {
      switch effect {
      case .line(.pause): isWatched = false
      case .line(.watch):
        isWatched = true
        read(at: now, isWakeUp: true)
      case .line(.read):
        read(at: now, isWakeUp: false)
        perform(session.handle(.drained, at: now), at: now)
      case .report(.fix(let fix)):
        let milliseconds = (fix.timestamp?.milliseconds ?? 0) % 3_600_000
        expect(fixes[milliseconds] == nil && bursts[milliseconds] != nil)
        fixes[milliseconds] = now
      default: break
      }
    }
  }

  // MARK: - Measurements

  /// The delay of each fix after the last byte of its burst, in the order of their times, from `milliseconds` on.
  func delays(from milliseconds: Int64 = 0) -> [Duration] {
    fixes.filter { $0.key >= milliseconds }.sorted { $0.key < $1.key }.compactMap { time, at in
      bursts[time].map { at - $0.end }
    }
  }

  /// The times of the missing fixes.
  var lost: [Int64] { bursts.keys.filter { fixes[$0] == nil } }

  /// The delay of each fix, from `milliseconds` on, compared with reads every 100 ms after the first bytes of its
  /// burst. This excludes the time for which the decoder has to wait.
  func lags(from milliseconds: Int64 = 0) -> [Duration] {
    fixes.filter { $0.key >= milliseconds }.sorted { $0.key < $1.key }.compactMap { time, at in
      bursts[time].map { burst in
        var read = burst.start + .milliseconds(100)
        while read < burst.fix { read = read + .milliseconds(100) }
        return at - read
      }
    }
  }

  /// The number of wake-ups per second between two times of the receiver.
  func wakeUps(_ span: Range<Int64>) -> Double {
    let start = BootInstant.boot + .milliseconds(900)
    let count = wakeUpTimes.count {
      (start + .milliseconds(span.lowerBound)..<start + .milliseconds(span.upperBound)).contains($0)
    }
    return Double(count) / Double(span.upperBound - span.lowerBound) * 1000
  }
}
