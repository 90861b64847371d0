// SPDX-License-Identifier: Apache-2.0
import Expectations
import FleetEngine
import Positioning
import Reporting
import Testing
import Timekeeping

struct ReportingPolicyTests {
  private static let start = Timestamp(seconds: 1_796_083_200)

  /// A policy, and a vehicle that drives north.
  private struct Bench {
    var policy: ReportingPolicy
    var metres = 0.0

    init(_ configuration: ReportingPolicy.Configuration = .init()) { policy = ReportingPolicy(configuration) }

    static func time(_ second: Double) -> BootInstant { .boot + .milliseconds(Int64(second * 1000)) }

    mutating func observe(
      _ second: Double, speed: Double? = 14, heading: Double? = 0, metres distance: Double? = nil,
      accuracy: Double? = nil
    ) throws {
      metres += distance ?? speed ?? 14
      let coordinate = try #require(Coordinate(latitude: 48 + metres / 111_200, longitude: 11))
      var fix = Fix(coordinate: coordinate)
      fix.speed = speed
      fix.horizontalAccuracy = accuracy
      fix.heading = heading
      fix.headingAccuracy = heading.map { _ in 3 }
      let time = ReportingPolicyTests.start + .milliseconds(Int64(second * 1000))
      policy.observe(FixFilter.Accepted(fix: fix, time: time), at: Bench.time(second))
    }

    /// The reason for a report at this second; the position is marked as reported.
    mutating func report(_ second: Double) -> ReportingPolicy.Reason? {
      let reason = policy.reason(at: Bench.time(second))
      if reason != nil { policy.markReported(at: Bench.time(second)) }
      return reason
    }

    /// Fixes once a second, and the resulting reports.
    mutating func drive(
      _ seconds: ClosedRange<Int>, speed: Double = 14, heading: (Int) -> Double = { _ in 0 }
    ) throws -> [String] {
      var reports: [String] = []
      for second in seconds {
        try observe(Double(second), speed: speed, heading: heading(second))
        if let reason = report(Double(second)) { reports.append("\(second) \(reason)") }
      }
      return reports
    }
  }

  @Test("the first fix of a moving vehicle is reported at once, then one fix per interval")
  func interval() throws {
    var bench = Bench()
    expectNil(bench.policy.reason(at: .boot))
    expectNil(bench.policy.next?.at)
    try expectEqual(bench.drive(1...31), ["1 first", "11 interval", "21 interval", "31 interval"])
  }

  @Test(
    "until a receiver has reported a speed, a speed of 0 that its positions contradict is not sent, nor is the course")
  func refutedSpeed() throws {
    var bench = Bench()
    for second in 0...60 { try bench.observe(Double(second), speed: 0, metres: 14) }
    let moving = try #require(bench.policy.newest)
    expect(!bench.policy.isParked && moving.speed == nil && moving.heading == nil && moving.headingAccuracy == nil)
    try bench.observe(61, speed: 14, heading: 90)
    let right = try #require(bench.policy.newest)
    expect(right.speed == 14 && right.heading == 90)
  }

  @Test("a speed that is stuck at zero does not bring back the heading from before, even after a stop")
  func stuckSpeed() throws {
    var bench = Bench()
    for second in 0...10 { try bench.observe(Double(second), heading: 90) }
    for second in 11...60 { try bench.observe(Double(second), speed: 0, heading: nil, metres: 14) }
    for second in 61...120 { try bench.observe(Double(second), speed: 0, heading: nil) }
    expect(bench.policy.isParked)
    for second in 121...160 { try bench.observe(Double(second), speed: 0, heading: nil, metres: 14) }
    let moving = try #require(bench.policy.newest)
    expect(!bench.policy.isParked && moving.speed == nil && moving.heading == nil)
  }

  @Test("a parked vehicle whose position drifts far away, and later a little, keeps its heading")
  func driftingWhileParked() throws {
    var bench = Bench()
    for second in 0...10 { try bench.observe(Double(second), heading: 90) }
    for second in 11...30 { try bench.observe(Double(second), speed: 0, heading: nil) }
    for second in 31...70 { try bench.observe(Double(second), speed: 0, heading: 10, metres: 1) }
    for second in 71...130 { try bench.observe(Double(second), speed: 0, heading: 10) }
    expect(bench.policy.isParked)
    expectEqual(bench.policy.newest?.heading, 90)
    for second in 131...136 { try bench.observe(Double(second), speed: 0, heading: nil, metres: 4) }
    for second in 137...190 { try bench.observe(Double(second), speed: 0, heading: nil) }
    expect(bench.policy.isParked)
    expectEqual(bench.policy.newest?.heading, 90)
  }

  @Test("the accuracy of a held position includes its distance to the newest fix")
  func heldAccuracy() throws {
    var bench = Bench()
    for second in 0...20 { try bench.observe(Double(second), speed: 0, accuracy: 18) }
    let held = try #require(bench.policy.newest)
    expect(bench.policy.isParked && held.horizontalAccuracy == 18)
    try bench.observe(21, speed: 0, metres: 25, accuracy: 3.5)
    let later = try #require(bench.policy.newest)
    expectEqual(later.coordinate, held.coordinate)
    expect(try abs(#require(later.horizontalAccuracy) - 25) < 0.1)
  }

  @Test("a fix that arrives up to half a second before the due time is reported at once")
  func earliness() throws {
    var bench = Bench()
    try bench.observe(0)
    expectEqual(bench.report(0), .first)
    try bench.observe(9.4)
    expectNil(bench.report(9.4))
    try bench.observe(9.5)
    expectEqual(bench.report(9.5), .interval)
  }

  @Test("a first report that was late does not delay the next ones, which are sent as soon as their fix arrives")
  func lateFirstReport() throws {
    var bench = Bench()
    try bench.observe(0)
    // The first report had to wait for the token.
    expectEqual(bench.report(0.6), .first)
    try expectEqual(bench.drive(1...10), [])
    expectEqual(bench.policy.next?.at, Bench.time(11.1))
    expectNil(bench.report(10.6))
    var silent = bench
    try expectEqual(bench.drive(11...41), ["11 interval", "21 interval", "31 interval", "41 interval"])
    // The fix does not arrive.
    expectNil(silent.report(11.09))
    expectEqual(silent.report(11.1), .interval)
  }

  @Test("a fix that arrived in time and has not been sent is due at once, without waiting for the next fix")
  func unsentFix() throws {
    var bench = Bench()
    try bench.observe(0)
    expectEqual(bench.report(0), .first)
    for fifth in 1...50 { try bench.observe(Double(fifth) * 0.2) }
    expectEqual(bench.policy.next?.at, Bench.time(10))
  }

  @Test("with a 10 Hz receiver the fix closest to the due time is sent, so the interval is exactly the configured one")
  func fastReceiver() throws {
    var bench = Bench()
    var reports: [Double] = []
    for tenth in 0...400 {
      let second = Double(tenth) / 10
      try bench.observe(second)
      if bench.report(second) != nil { reports.append(second) }
    }
    expectEqual(reports, [0, 10, 20, 30, 40])
  }

  @Test("a report waits for a fix that arrives a few milliseconds late, however early the previous fix arrived")
  func lateFix() throws {
    var bench = Bench()
    try bench.observe(0)
    expectEqual(bench.report(0), .first)
    for second in 1...9 { try bench.observe(Double(second) - 0.02) }
    // The interval is over, and the next fix was expected just before.
    expectNil(bench.report(10))
    try bench.observe(10.02)
    expectEqual(bench.report(10.02), .interval)
    var silent = bench
    // The fix does not arrive at all.
    for second in 11...19 { try silent.observe(Double(second)) }
    expectNil(silent.report(20.05))
    expectEqual(silent.report(20.3), .interval)
  }

  @Test("with a fix every two seconds, the mean interval is the configured one, even if that is an odd number")
  func slowReceiver() throws {
    var bench = Bench(.init(interval: .seconds(15)))
    var reports: [Int] = []
    for second in stride(from: 0, through: 600, by: 2) {
      // A report that is due between two fixes would be sent here.
      for half in 0..<4 where second > 0 {
        if bench.report(Double(second - 2) + Double(half) / 2) != nil { reports.append(second - 2) }
      }
      try bench.observe(Double(second))
    }
    expect(reports.count >= 40 && reports.count <= 41)
    expect(Set(zip(reports, reports.dropFirst()).map { $1 - $0 }).isSubset(of: [14, 16]))
  }

  @Test("a report waits for the next fix if the interval is 58 s, but not if it is a minute", arguments: [58, 60])
  func longInterval(interval: Int) throws {
    var bench = Bench(.init(interval: .seconds(interval), heartbeat: .seconds(interval)))
    try bench.observe(0)
    expectEqual(bench.report(0.6), .first)
    try expectEqual(bench.drive(1...interval), [])
    expectEqual(bench.policy.next?.at, Bench.time(Double(interval) + (interval == 58 ? 1.1 : 0.6)))
  }

  @Test("without a fix in time, the last position is sent when the interval is over")
  func deadline() throws {
    var bench = Bench()
    try bench.observe(0)
    _ = bench.report(0)
    try bench.observe(7)
    expectEqual(bench.policy.next?.at, Bench.time(10))
    expectNil(bench.report(9.9))
    expectEqual(bench.report(10), .interval)
  }

  @Test("without further fixes the same position is sent again at each heartbeat")
  func lost() throws {
    var bench = Bench()
    try bench.observe(0)
    _ = bench.report(0)
    expectEqual(bench.policy.next?.at, Bench.time(50))
    expectNil(bench.report(49.9))
    expectEqual(bench.report(50), .heartbeat)
    expectEqual(bench.policy.next?.at, Bench.time(100))
    expectEqual(bench.report(100), .heartbeat)
    try bench.observe(103)
    expectNil(bench.report(103))
    expectEqual(bench.report(110), .interval)
  }

  @Test("a stop and a start are reported, and heartbeats in between")
  func parked() throws {
    var bench = Bench()
    var reports = try bench.drive(1...11)
    reports += try bench.drive(12...130, speed: 0)
    reports += try bench.drive(131...140)
    expectEqual(
      reports,
      [
        "1 first", "11 interval", "21 interval", "26 stopped", "76 heartbeat", "126 heartbeat", "134 started",
      ])
  }

  @Test("a parked vehicle is reported with a fixed position, its last heading, a speed of 0 and the newest time")
  func heldPosition() throws {
    var bench = Bench()
    _ = try bench.drive(1...20, heading: { _ in 123 })
    _ = try bench.drive(21...31, speed: 0.3, heading: { Double($0 * 30 % 360) })
    let place = bench.policy.newest
    _ = try bench.drive(32...60, speed: 0.6, heading: { Double($0 * 30 % 360) })
    let later = try #require(bench.policy.newest)
    expectEqual(later.coordinate, place?.coordinate)
    expectEqual(later.heading, 123)
    expectEqual(later.speed, 0)
    expectEqual(later.time, ReportingPolicyTests.start + .seconds(60))
  }

  @Test("below 2 m/s a vehicle keeps its last heading, without a heading accuracy")
  func heldHeading() throws {
    var bench = Bench()
    try bench.observe(1, speed: 14, heading: 90)
    try bench.observe(2, speed: 2, heading: 95)
    expectEqual(bench.policy.newest?.heading, 95)
    expectEqual(bench.policy.newest?.headingAccuracy, 3)
    for second in 3...9 {
      try bench.observe(Double(second), speed: 1.9, heading: Double(second * 40))
      expectEqual(bench.policy.newest?.heading, 95)
      expectNil(bench.policy.newest?.headingAccuracy)
    }
    try bench.observe(10, speed: 3, heading: 190)
    expectEqual(bench.policy.newest?.heading, 190)
  }

  @Test("a vehicle that has not driven yet has no heading, parked or not")
  func noHeading() throws {
    var bench = Bench()
    for second in 0...20 {
      try bench.observe(Double(second), speed: 0.4, heading: 123)
      expectNil(bench.policy.newest?.heading)
    }
    expect(bench.policy.isParked)
  }

  @Test("the course of a receiver without speed is used while its positions move")
  func courseWithoutSpeed() throws {
    var bench = Bench()
    for second in 0...12 { try bench.observe(Double(second), speed: nil, heading: 77) }
    expectEqual(bench.policy.newest?.heading, 77)
    let metres = bench.metres
    for second in 13...30 {
      bench.metres = metres - 14
      try bench.observe(Double(second), speed: nil, heading: second < 25 ? 77 : 200)
    }
    expectEqual(bench.policy.newest?.heading, 77)
  }

  @Test("without a reported speed, parking is detected by the distance covered")
  func noSpeed() throws {
    var bench = Bench()
    for second in 0...20 { try bench.observe(Double(second), speed: nil) }
    expect(!bench.policy.isParked)
    let metres = bench.metres
    for second in 21...60 {
      bench.metres = metres - 14
      try bench.observe(Double(second), speed: nil)
    }
    expect(bench.policy.isParked)
  }

  @Test("a report is due after the configured distance, but never within five seconds of the last one")
  func distance() throws {
    var bench = Bench(.init(distance: 50))
    try expectEqual(bench.drive(1...16), ["1 first", "6 distance", "11 distance", "16 distance"])
  }

  @Test("a request makes the newest position due once, but never within five seconds of the last report")
  func request() throws {
    var bench = Bench()
    bench.policy.request()
    expectNil(bench.policy.next)
    try expectEqual(bench.drive(1...2), ["1 first"])
    bench.policy.request()
    try expectEqual(bench.drive(3...17), ["6 requested", "16 interval"])
    // The same position is sent again.
    bench.policy.request()
    expectNil(bench.report(20.9))
    expectEqual(bench.report(21), .requested)
    expectNil(bench.report(31))
    expectEqual(bench.report(71), .heartbeat)
  }

  @Test("a requested position that was accepted before it was due is not reported again")
  func requestAnswered() throws {
    var bench = Bench()
    _ = try bench.drive(1...8)
    bench.policy.request()
    try bench.policy.markReported(#require(bench.policy.newest), at: Bench.time(8))
    expectNil(bench.report(14))
  }

  @Test("a turn makes a report due, even across north, but not at low speed")
  func heading() throws {
    var bench = Bench(.init(heading: 30))
    try expectEqual(bench.drive(1...8, heading: { $0 < 7 ? 350 : 25 }), ["1 first", "7 heading"])
    var across = Bench(.init(heading: 30))
    try expectEqual(across.drive(1...9, heading: { $0 < 7 ? 355 : 5 }), ["1 first"])
    var slow = Bench(.init(heading: 30))
    try expectEqual(slow.drive(1...9, speed: 1.6, heading: { $0 < 7 ? 0 : 180 }), ["1 first"])
  }

  @Test("a corner that the straight line between reports would miss makes a report due, but only if a limit is set")
  func deviation() throws {
    var bench = Bench(.init(deviation: 10))
    // North for eight seconds, then east: 14 m a second.
    func place(_ second: Int) throws -> Coordinate {
      let corner = try #require(Coordinate(latitude: 48, longitude: 11)).moved(
        by: 14 * Double(min(second, 8)), heading: 0)
      return corner.moved(by: 14 * Double(max(second - 8, 0)), heading: 90)
    }
    var reports: [String] = []
    for second in 1...20 {
      var fix = Fix(coordinate: try place(second))
      fix.speed = 14
      let accepted = FixFilter.Accepted(fix: fix, time: ReportingPolicyTests.start + .seconds(second))
      bench.policy.observe(accepted, at: Bench.time(Double(second)))
      if let reason = bench.report(Double(second)) { reports.append("\(second) \(reason)") }
    }
    // One second after the corner the line misses it by 13.9 m.
    expectEqual(reports, ["1 first", "9 deviation", "19 interval"])
    var off = Bench()
    for second in 1...10 {
      let accepted = FixFilter.Accepted(
        fix: Fix(coordinate: try place(second)), time: ReportingPolicyTests.start + .seconds(second))
      off.policy.observe(accepted, at: Bench.time(Double(second)))
      expectEqual(off.report(Double(second)), (second == 1 ? .first : nil))
    }
  }

  @Test("when a position that was sent before it was due is accepted, the next one is postponed")
  func acceptedLater() throws {
    var bench = Bench()
    _ = try bench.drive(1...6)
    let sent = try #require(bench.policy.newest)
    expectEqual(bench.policy.next?.at, Bench.time(11))
    bench.policy.markReported(sent, at: Bench.time(6))
    _ = try bench.drive(7...8)
    expectEqual(bench.policy.next?.at, Bench.time(16))
    // Marking the position again with an earlier time changes nothing.
    bench.policy.markReported(sent, at: Bench.time(3))
    expectEqual(bench.policy.next?.at, Bench.time(16))
  }

  @Test("after `restart` the newest position is due as the first one")
  func restart() throws {
    var bench = Bench()
    _ = try bench.drive(1...3)
    bench.policy.restart()
    expectEqual(bench.report(3), .first)
  }

  @Test("with an interval of zero, as in tests on the loopback, every fix is reported")
  func noInterval() throws {
    var bench = Bench(.init(interval: .zero))
    try expectEqual(bench.drive(1...4), ["1 first", "2 interval", "3 interval", "4 interval"])
    let parked = try bench.drive(5...25, speed: 0)
    expectEqual(parked.count, 21)
  }
}
