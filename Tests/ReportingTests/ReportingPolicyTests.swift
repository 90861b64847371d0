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
  private struct Road {
    var policy: ReportingPolicy
    var metres = 0.0

    init(_ configuration: ReportingPolicy.Configuration = .init()) { policy = ReportingPolicy(configuration) }

    static func time(_ second: Double) -> BootInstant { .boot + .milliseconds(Int64(second * 1000)) }

    mutating func observe(_ second: Double, speed: Double? = 14, heading: Double? = 0) throws {
      metres += speed ?? 14
      let coordinate = try #require(Coordinate(latitude: 48 + metres / 111_200, longitude: 11))
      var fix = Fix(coordinate: coordinate)
      fix.speed = speed
      fix.heading = heading
      fix.headingAccuracy = heading.map { _ in 3 }
      let time = ReportingPolicyTests.start + .milliseconds(Int64(second * 1000))
      policy.observe(FixFilter.Accepted(fix: fix, time: time), at: Road.time(second))
    }

    /// The reason for a report at this second, which is then sent.
    mutating func report(_ second: Double) -> ReportingPolicy.Reason? {
      let reason = policy.reason(at: Road.time(second))
      if reason != nil { policy.markReported(at: Road.time(second)) }
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

  @Test("moving: the first fix is reported at once, then one per interval")
  func interval() throws {
    var road = Road()
    expectNil(road.policy.reason(at: .boot))
    expectNil(road.policy.next?.at)
    try expectEqual(road.drive(1...31), ["1 first", "11 interval", "21 interval", "31 interval"])
  }

  @Test("a fix that comes half a second early is reported, instead of one that is a second old")
  func earliness() throws {
    var road = Road()
    try road.observe(0)
    expectEqual(road.report(0), .first)
    try road.observe(9.4)
    expectNil(road.report(9.4))
    try road.observe(9.5)
    expectEqual(road.report(9.5), .interval)
  }

  @Test("a first report that was late does not make all positions late: the next one is sent with its fix")
  func lateFirstReport() throws {
    var road = Road()
    try road.observe(0)
    // It had to wait for the token.
    expectEqual(road.report(0.6), .first)
    try expectEqual(road.drive(1...10), [])
    expectEqual(road.policy.next?.at, Road.time(11.1))
    expectNil(road.report(10.6))
    var silent = road
    try expectEqual(road.drive(11...41), ["11 interval", "21 interval", "31 interval", "41 interval"])
    // The fix does not come.
    expectNil(silent.report(11.09))
    expectEqual(silent.report(11.1), .interval)
  }

  @Test("a fix that has arrived in time and could not be sent yet is sent without waiting for another")
  func keptFix() throws {
    var road = Road()
    try road.observe(0)
    expectEqual(road.report(0), .first)
    for fifth in 1...50 { try road.observe(Double(fifth) * 0.2) }
    expectEqual(road.policy.next?.at, Road.time(10))
  }

  @Test("with a fast receiver the nearest fix is sent, so that the interval is as configured")
  func fastReceiver() throws {
    var road = Road()
    var reports: [Double] = []
    for tenth in 0...400 {
      let second = Double(tenth) / 10
      try road.observe(second)
      if road.report(second) != nil { reports.append(second) }
    }
    expectEqual(reports, [0, 10, 20, 30, 40])
  }

  @Test("a report waits for a fix that comes a few milliseconds late, however early the previous one came")
  func lateFix() throws {
    var road = Road()
    try road.observe(0)
    expectEqual(road.report(0), .first)
    for second in 1...9 { try road.observe(Double(second) - 0.02) }
    // The interval is over, and the next fix is expected just before.
    expectNil(road.report(10))
    try road.observe(10.02)
    expectEqual(road.report(10.02), .interval)
    var silent = road
    // The fix does not come at all.
    for second in 11...19 { try silent.observe(Double(second)) }
    expectNil(silent.report(20.05))
    expectEqual(silent.report(20.3), .interval)
  }

  @Test("with a fix every two seconds, an interval that is not a multiple of that is kept on average")
  func slowReceiver() throws {
    var road = Road(.init(interval: .seconds(15)))
    var reports: [Int] = []
    for second in stride(from: 0, through: 600, by: 2) {
      // A report that is due between two fixes would be sent here.
      for half in 0..<4 where second > 0 {
        if road.report(Double(second - 2) + Double(half) / 2) != nil { reports.append(second - 2) }
      }
      try road.observe(Double(second))
    }
    expect(reports.count >= 40 && reports.count <= 41)
    expect(Set(zip(reports, reports.dropFirst()).map { $1 - $0 }).isSubset(of: [14, 16]))
  }

  @Test("with an interval of a minute or more, a report does not wait for the next fix", arguments: [58, 60])
  func longInterval(interval: Int) throws {
    var road = Road(.init(interval: .seconds(interval), heartbeat: .seconds(interval)))
    try road.observe(0)
    expectEqual(road.report(0.6), .first)
    try expectEqual(road.drive(1...interval), [])
    expectEqual(road.policy.next?.at, Road.time(Double(interval) + (interval == 58 ? 1.1 : 0.6)))
  }

  @Test("without a fix in time, the last position is sent when the interval is over")
  func deadline() throws {
    var road = Road()
    try road.observe(0)
    _ = road.report(0)
    try road.observe(7)
    expectEqual(road.policy.next?.at, Road.time(10))
    expectNil(road.report(9.9))
    expectEqual(road.report(10), .interval)
  }

  @Test("GPS lost: the same position is sent again at each heartbeat")
  func lost() throws {
    var road = Road()
    try road.observe(0)
    _ = road.report(0)
    expectEqual(road.policy.next?.at, Road.time(50))
    expectNil(road.report(49.9))
    expectEqual(road.report(50), .heartbeat)
    expectEqual(road.policy.next?.at, Road.time(100))
    expectEqual(road.report(100), .heartbeat)
    try road.observe(103)
    expectNil(road.report(103))
    expectEqual(road.report(110), .interval)
  }

  @Test("parked: the stop is reported, then heartbeats; the start is reported")
  func parked() throws {
    var road = Road()
    var reports = try road.drive(1...11)
    reports += try road.drive(12...130, speed: 0)
    reports += try road.drive(131...140)
    expectEqual(
      reports,
      [
        "1 first", "11 interval", "21 interval", "26 stopped", "76 heartbeat", "126 heartbeat", "134 started",
      ])
  }

  @Test("a parked vehicle is reported with fixed position, held heading, no speed and the newest time")
  func locked() throws {
    var road = Road()
    _ = try road.drive(1...20, heading: { _ in 123 })
    _ = try road.drive(21...31, speed: 0.3, heading: { Double($0 * 30 % 360) })
    let place = road.policy.newest
    _ = try road.drive(32...60, speed: 0.6, heading: { Double($0 * 30 % 360) })
    let later = try #require(road.policy.newest)
    expectEqual(later.coordinate, place?.coordinate)
    expectEqual(later.heading, 123)
    expectEqual(later.speed, 0)
    expectEqual(later.time, ReportingPolicyTests.start + .seconds(60))
  }

  @Test(
    "a slow vehicle keeps the heading of the road: the last course from 2 m/s on, without the accuracy of another one")
  func heldHeading() throws {
    var road = Road()
    try road.observe(1, speed: 14, heading: 90)
    try road.observe(2, speed: 2, heading: 95)
    expectEqual(road.policy.newest?.heading, 95)
    expectEqual(road.policy.newest?.headingAccuracy, 3)
    for second in 3...9 {
      try road.observe(Double(second), speed: 1.9, heading: Double(second * 40))
      expectEqual(road.policy.newest?.heading, 95)
      expectNil(road.policy.newest?.headingAccuracy)
    }
    try road.observe(10, speed: 3, heading: 190)
    expectEqual(road.policy.newest?.heading, 190)
  }

  @Test("a vehicle that has not driven yet has no heading, parked or not")
  func noHeading() throws {
    var road = Road()
    for second in 0...20 {
      try road.observe(Double(second), speed: 0.4, heading: 123)
      expectNil(road.policy.newest?.heading)
    }
    expect(road.policy.isParked)
  }

  @Test("the course of a receiver without speed is used while its positions move")
  func courseWithoutSpeed() throws {
    var road = Road()
    for second in 0...12 { try road.observe(Double(second), speed: nil, heading: 77) }
    expectEqual(road.policy.newest?.heading, 77)
    let metres = road.metres
    for second in 13...30 {
      road.metres = metres - 14
      try road.observe(Double(second), speed: nil, heading: second < 25 ? 77 : 200)
    }
    expectEqual(road.policy.newest?.heading, 77)
  }

  @Test("without a reported speed the distance covered is used")
  func noSpeed() throws {
    var road = Road()
    for second in 0...20 { try road.observe(Double(second), speed: nil) }
    expect(!road.policy.isParked)
    let metres = road.metres
    for second in 21...60 {
      road.metres = metres - 14
      try road.observe(Double(second), speed: nil)
    }
    expect(road.policy.isParked)
  }

  @Test("distance makes a report due, but never within five seconds")
  func distance() throws {
    var road = Road(.init(distance: 50))
    try expectEqual(road.drive(1...16), ["1 first", "6 distance", "11 distance", "16 distance"])
  }

  @Test("a request makes a report due once, with the newest position, but never within five seconds")
  func request() throws {
    var road = Road()
    road.policy.request()
    expectNil(road.policy.next)
    try expectEqual(road.drive(1...2), ["1 first"])
    road.policy.request()
    try expectEqual(road.drive(3...17), ["6 requested", "16 interval"])
    // The same position again.
    road.policy.request()
    expectNil(road.report(20.9))
    expectEqual(road.report(21), .requested)
    expectNil(road.report(31))
    expectEqual(road.report(71), .heartbeat)
  }

  @Test("a requested position that was accepted before it was due is not reported again")
  func requestAnswered() throws {
    var road = Road()
    _ = try road.drive(1...8)
    road.policy.request()
    try road.policy.markReported(#require(road.policy.newest), at: Road.time(8))
    expectNil(road.report(14))
  }

  @Test("a turn makes a report due, across north as well, and only at speed")
  func heading() throws {
    var road = Road(.init(heading: 30))
    try expectEqual(road.drive(1...8, heading: { $0 < 7 ? 350 : 25 }), ["1 first", "7 heading"])
    var across = Road(.init(heading: 30))
    try expectEqual(across.drive(1...9, heading: { $0 < 7 ? 355 : 5 }), ["1 first"])
    var slow = Road(.init(heading: 30))
    try expectEqual(slow.drive(1...9, speed: 1.6, heading: { $0 < 7 ? 0 : 180 }), ["1 first"])
  }

  @Test("a corner makes a report due when the straight line would miss it, but never within five seconds")
  func deviation() throws {
    var road = Road(.init(deviation: 10))
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
      road.policy.observe(accepted, at: Road.time(Double(second)))
      if let reason = road.report(Double(second)) { reports.append("\(second) \(reason)") }
    }
    // One second after the corner the line misses it by 13.7 m.
    expectEqual(reports, ["1 first", "9 deviation", "19 interval"])
    var off = Road()
    for second in 1...10 {
      let accepted = FixFilter.Accepted(
        fix: Fix(coordinate: try place(second)), time: ReportingPolicyTests.start + .seconds(second))
      off.policy.observe(accepted, at: Road.time(Double(second)))
      expectEqual(off.report(Double(second)), (second == 1 ? .first : nil))
    }
  }

  @Test("a position that was sent before it was due postpones the next one when it is accepted")
  func takenLater() throws {
    var road = Road()
    _ = try road.drive(1...6)
    let sent = try #require(road.policy.newest)
    expectEqual(road.policy.next?.at, Road.time(11))
    road.policy.markReported(sent, at: Road.time(6))
    _ = try road.drive(7...8)
    expectEqual(road.policy.next?.at, Road.time(16))
    // Positions recorded since then are not lost.
    road.policy.markReported(sent, at: Road.time(3))
    expectEqual(road.policy.next?.at, Road.time(16))
  }

  @Test("after a restart the next fix counts as the first again")
  func restart() throws {
    var road = Road()
    _ = try road.drive(1...3)
    road.policy.restart()
    expectEqual(road.report(3), .first)
  }

  @Test("a test on the loopback can report every fix")
  func noInterval() throws {
    var road = Road(.init(interval: .zero))
    try expectEqual(road.drive(1...4), ["1 first", "2 interval", "3 interval", "4 interval"])
    let parked = try road.drive(5...25, speed: 0)
    expectEqual(parked.count, 21)
  }
}
