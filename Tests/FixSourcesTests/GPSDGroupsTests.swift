// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import GPSDTesting
import Testing
import Timekeeping

/// Reads of gpsd's reports when the kernel wakes up the daemon at a low-water mark.
struct GPSDGroupsTests {
  private struct Connection {
    private var session: GPSDSession
    private var reports: [(at: BootInstant, line: String)] = []
    /// When the positions arrive.
    private var positions: [BootInstant] = []
    /// When the daemon wakes up.
    private(set) var wakeUps: [BootInstant] = []
    /// The delay of each fix after its report arrived.
    private(set) var delays: [Duration] = []
    private var lowWaterMark = 1
    private var unread: [String] = []

    init() {
      session = GPSDSession(address: "localhost:2947", device: nil, silenceTimeout: .seconds(10), seed: 1)
      _ = session.handle(.start, at: .boot)
      _ = session.handle(.opened(), at: .boot)
      _ = session.receive(GPSDTranscript.greeting, at: .boot)
    }

    /// Adds a TPV report, and a SKY report that follows it.
    ///
    /// - Parameter satellites: the number of satellites in the SKY report, 70 ms later; nil for no SKY report.
    mutating func position(at milliseconds: Int64, late: Int64 = 0, satellites: Int?) {
      let at = BootInstant.boot + .milliseconds(milliseconds + late)
      let stamp = (Timestamp(seconds: 1_795_000_000) + .milliseconds(milliseconds)).rfc3339
      positions.append(at)
      let rest = #""altHAE":560.0,"epx":3.1,"epy":2.9,"speed":10.1,"track":90.2,"eps":5.1,"epd":0.1,"leapseconds":18"#
      reports.append((at, #"{"class":"TPV","device":"/dev/a","mode":3,"time":"\#(stamp)","lat":1,"lon":2,\#(rest)}"#))
      guard let satellites else { return }
      let list = (0..<satellites).map {
        #"{"PRN":\#($0 + 10),"el":45,"az":\#(100 + milliseconds / 97 % 50),"ss":40,"used":true}"#
      }
      reports.append(
        (
          at + .milliseconds(70),
          #"{"class":"SKY","device":"/dev/a","uSat":\#(satellites),"satellites":[\#(list.joined(separator: ","))]}"#
        ))
    }

    mutating func run() {
      let end = reports.last?.at ?? .boot
      while !reports.isEmpty || !unread.isEmpty, wakeUps.last ?? .boot <= end {
        let deadline = session.nextDeadline ?? .distantFuture
        if let next = reports.first, next.at <= deadline {
          reports.removeFirst()
          unread.append(next.line)
          wakeUp(at: next.at)
        } else {
          wakeUps.append(deadline)
          perform(session.handle(.deadline, at: deadline), at: deadline)
        }
      }
    }

    private mutating func wakeUp(at now: BootInstant) {
      guard !unread.isEmpty, unread.reduce(0, { $0 + $1.utf8.count + 2 }) >= lowWaterMark else { return }
      if wakeUps.last != now { wakeUps.append(now) }
      let lines = unread
      unread = []
      perform(session.receive(lines, at: now), at: now)
    }

    private mutating func perform(_ effects: [SourceEffect], at now: BootInstant) {
      for effect in effects {
        switch effect {
        case .line(.awaitBytes(let count)):
          lowWaterMark = count
          wakeUp(at: now)
        case .report(.fix): delays.append(now - positions[delays.count])
        default: break
        }
      }
    }
  }

  @Test("a group of reports is read as soon as its position arrives: no fix is later than with one read per report")
  func regular() {
    var connection = Connection()
    for second in 1...60 {
      connection.position(at: Int64(second) * 1000, late: Int64(second * 37 % 5), satellites: 24 + second / 16)
    }
    connection.run()
    expectEqual(connection.delays, Array(repeating: .zero, count: 60))
    // Each additional satellite causes one additional wake-up.
    let wakeUps = connection.wakeUps.count { $0 > .boot + .seconds(10) }
    expect(wakeUps < 60, "\(wakeUps)")
  }

  @Test(
    "groups of unexpected length cause at most one wake-up per report, and a shorter group is delayed by at most 12 ms",
    arguments: [
      // Satellites are reported every five seconds, or never; many disappear at once; their number varies.
      { second in second % 5 == 0 ? 20 : nil }, { _ in nil }, { second in second == 30 ? 8 : 30 },
      { 5 + $0 * 7919 % 30 },
    ] as [@Sendable (Int) -> Int?])
  func irregular(satellites: @Sendable (Int) -> Int?) {
    var connection = Connection()
    var reports = 0
    for second in 1...60 {
      let count = satellites(second)
      reports += count == nil ? 1 : 2
      connection.position(at: Int64(second) * 1000, satellites: count)
    }
    connection.run()
    expectEqual(connection.delays.count, 60)
    expect(connection.delays.allSatisfy { $0 <= .milliseconds(12) }, "\(connection.delays)")
    expect(connection.delays.count { $0 > .zero } <= 1, "\(connection.delays)")
    expect(connection.wakeUps.count <= reports)
  }

  @Test(
    "if positions are late, come at 10 Hz, or pause, no fix is lost, and each is available within 12 ms of its report")
  func late() {
    var connection = Connection()
    for second in 1...20 {
      connection.position(at: Int64(second) * 1000, late: Int64(second * 7919 % 400), satellites: 20)
    }
    for tenth in 0..<100 {
      connection.position(at: 30_000 + Int64(tenth) * 100, satellites: tenth % 10 == 0 ? 20 : nil)
    }
    for second in 60...80 { connection.position(at: Int64(second) * 1000, satellites: 20) }
    connection.run()
    expectEqual(connection.delays.count, 141)
    expect(connection.delays.allSatisfy { $0 <= .milliseconds(12) }, "\(connection.delays)")
  }

  @Test("when a receiver changes its update rate, at most five fixes are delayed, each by less than the old period")
  func rate() {
    var connection = Connection()
    for second in 1...20 { connection.position(at: Int64(second) * 1000, satellites: 20) }
    for fifth in 1...50 { connection.position(at: 20_000 + Int64(fifth) * 200, satellites: fifth % 5 == 0 ? 20 : nil) }
    connection.run()
    expectEqual(connection.delays.count, 70)
    expect(connection.delays.count { $0 > .milliseconds(12) } <= 5, "\(connection.delays)")
    expect(connection.delays.allSatisfy { $0 < .seconds(1) })
  }
}
