// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import Testing
import Timekeeping

/// The filter's decisions on fixes with a poor HDOP or few satellites, or that catch up after multipath.
struct FixFilterQualityTests {
  private static let start = Timestamp(seconds: 1_796_083_200)

  /// A vehicle that drives north with a fix a second, and the filter for its receiver's fixes.
  private struct Road {
    var filter = FixFilter(FixFilter.Configuration(buildDate: Timestamp(seconds: 1_795_219_200)))
    /// Metres.
    var north = 0.0
    var second = 0
    var speed = 14.0

    /// The fix of the next second, and the decision on it.
    mutating func drive(
      by metres: Double? = nil, aside: Double = 0, hdop: Double = 1, _ change: (inout Fix) -> Void = { _ in }
    ) throws -> Result<FixFilter.Accepted, FixRejection> {
      second += 1
      north += metres ?? speed
      let coordinate = try #require(Coordinate(latitude: 48 + north / 111_200, longitude: 11 + aside / 74_600))
      var fix = Fix(coordinate: coordinate, time: .utc(start + .seconds(second)))
      (fix.speed, fix.heading, fix.satellites) = (speed, 0, 8)
      (fix.hdop, fix.horizontalAccuracy, fix.isAccuracyDerived) = (hdop, 5 * hdop, true)
      change(&fix)
      return filter.evaluate(fix, at: Moment(boot: .boot + .seconds(second), wall: start))
    }

    mutating func rejection(
      by metres: Double? = nil, aside: Double = 0, hdop: Double = 1, _ change: (inout Fix) -> Void = { _ in }
    ) throws -> FixRejection? {
      if case .failure(let rejection) = try drive(by: metres, aside: aside, hdop: hdop, change) { return rejection }
      return nil
    }

    mutating func warmUp(_ change: (inout Fix) -> Void = { _ in }) throws {
      for _ in 0..<10 { expectNil(try rejection(change)) }
    }
  }

  private func accuracy(_ result: Result<FixFilter.Accepted, FixRejection>) -> Double? {
    if case .success(let accepted) = result { return accepted.fix.horizontalAccuracy }
    return nil
  }

  @Test(
    "without satellites, a stated accuracy counts only while the receiver measures, that is while any digit changes")
  func extrapolation() throws {
    var road = Road()
    let garmin = { (fix: inout Fix) in
      (fix.horizontalAccuracy, fix.verticalAccuracy, fix.isAccuracyDerived) = (5.2, 7.7, false)
    }
    try road.warmUp(garmin)
    expectNil(
      try road.rejection {
        garmin(&$0); $0.speed = 14.1
      })
    // The last speed, course and accuracy are repeated.
    var rejections: [FixRejection?] = []
    for _ in 0..<6 {
      rejections.append(
        try road.rejection {
          garmin(&$0); ($0.speed, $0.satellites) = (14.1, 0)
        })
    }
    expectEqual(rejections, [nil, .noSatellites, .noSatellites, .noSatellites, .noSatellites, .noSatellites])
    // A receiver with sensors: one value changes.
    for second in 0..<20 {
      let result = try road.rejection { fix in
        garmin(&fix)
        fix.satellites = 0
        if second % 2 == 0 { fix.speed = 14.2 }
      }
      if second >= 10 { expectNil(result, "\(second)") }
    }
    // Parked in a garage.
    road.speed = 0
    for _ in 0..<10 {
      expectNil(
        try road.rejection {
          garmin(&$0); $0.satellites = 0
        })
    }
  }

  @Test(
    "a poor HDOP that continues the previous fixes is accepted, with an accuracy that grows every second",
    arguments: [20.2, 50, 176])
  func continues(hdop: Double) throws {
    var road = Road()
    try road.warmUp()
    var widest = 5.0
    for _ in 0..<12 {
      let widened = try #require(accuracy(try road.drive(hdop: hdop)))
      expect(widened > widest && widened < 50)
      widest = widened
    }
    expectEqual(accuracy(try road.drive()), 5)
  }

  @Test("a stationary vehicle and a receiver without speed are continued, too")
  func continuesAtRest() throws {
    var road = Road()
    road.speed = 0
    try road.warmUp { $0.heading = nil }
    expectNil(try road.rejection(hdop: 50) { $0.heading = nil })
    var places = Road()
    try places.warmUp { ($0.speed, $0.heading) = (nil, nil) }
    for _ in 0..<5 { expectNil(try places.rejection(hdop: 50) { ($0.speed, $0.heading) = (nil, nil) }) }
  }

  @Test(
    "a poor HDOP is rejected where it does not continue the previous fixes, and the first that does is accepted again")
  func strays() throws {
    var road = Road()
    try expectEqual(road.rejection(hdop: 50), .inaccurate)
    try expectEqual(road.rejection(hdop: 20.1) { $0.horizontalAccuracy = nil }, .poorHDOP)
    try road.warmUp()
    try expectEqual(road.rejection(aside: 25, hdop: 50), .inaccurate)
    // It continues from there, with the same allowed error after another two seconds.
    try expectEqual(road.rejection(aside: 25, hdop: 50), .inaccurate)
    expectNil(try road.rejection(aside: 25, hdop: 50))
    expectNil(try road.rejection())
    // The same position with a speed is not a continuation, however small the step would be.
    road.speed = 3
    try road.warmUp()
    try expectEqual(road.rejection(by: 0, hdop: 50), .inaccurate)
  }

  @Test(
    "fixes with a high HDOP that continue the track are accepted until their accumulated error exceeds max_accuracy")
  func tooLong() throws {
    var road = Road()
    try road.warmUp()
    let rejections = try (0..<60).map { _ in try road.rejection(hdop: 50) }
    let accepted = rejections.prefix { $0 == nil }.count
    expectEqual(accepted, 31)
    expect(rejections.dropFirst(accepted).allSatisfy { $0 == .inaccurate })
    expectNil(try road.rejection())
  }

  @Test("a poor fix never replaces the reference, however often it is repeated")
  func noSay() throws {
    var road = Road()
    try road.warmUp()
    for _ in 0..<40 { try expectEqual(road.rejection(aside: 300, hdop: 50), .inaccurate) }
    expectNil(try road.rejection())
  }

  @Test("an accuracy that the receiver states takes precedence over its HDOP, better or worse")
  func stated() throws {
    var road = Road()
    expectNil(try road.rejection(hdop: 77) { ($0.horizontalAccuracy, $0.isAccuracyDerived) = (9, false) })
    try expectEqual(
      road.rejection(hdop: 1) { ($0.horizontalAccuracy, $0.isAccuracyDerived) = (160, false) }, .inaccurate)
  }

  @Test("fixes rejected for their HDOP are not a gap: the next good one need not settle")
  func noSilence() throws {
    var road = Road()
    try road.warmUp()
    // Away from where the vehicle is heading, so that they are rejected.
    for second in 0..<8 {
      try expectEqual(road.rejection(aside: second.isMultiple(of: 2) ? 40 : -40, hdop: 60), .inaccurate)
    }
    expectNil(try road.rejection(by: 40))
  }

  @Test("dead reckoning without satellites is rejected unless the receiver states its accuracy")
  func deadReckoning() throws {
    var road = Road()
    try road.warmUp()
    for _ in 0..<5 {
      try expectEqual(road.rejection(hdop: 2) { ($0.quality, $0.satellites) = (.estimated, nil) }, .noSatellites)
    }
    try expectEqual(road.rejection(hdop: 2) { $0.satellites = 0 }, .noSatellites)
    expectNil(
      try road.rejection(hdop: 50) {
        ($0.quality, $0.horizontalAccuracy, $0.isAccuracyDerived) = (.estimated, 12, false)
      })
    // A receiver that never counts its satellites always reports 0.
    var silent = Road()
    try silent.warmUp { $0.satellites = 0 }
  }

  @Test("after dead reckoning fixes must settle as after any gap")
  func settlesAfterDeadReckoning() throws {
    var road = Road()
    try road.warmUp()
    for _ in 0..<8 { try expectEqual(road.rejection { $0.quality = .estimated }, .noSatellites) }
    try expectEqual(road.rejection(aside: 60), .unsettled)
    expectNil(try road.rejection(aside: 60))
  }

  @Test(
    "a first fix after a gap that matches the dead-reckoned position needs no second one", arguments: [6, 10, 60, 3600])
  func bridges(gap: Int) throws {
    var road = Road()
    try road.warmUp()
    road.second += gap
    expectNil(try road.rejection(by: 14 * Double(gap + 1) + 8))
    try road.warmUp()
    road.second += gap
    try expectEqual(road.rejection(by: 14 * Double(gap + 1) + 25), .unsettled)
  }

  @Test("where positions have drifted from the speeds, two fixes at the right position correct it within a second")
  func drifted() throws {
    var road = Road()
    try road.warmUp()
    // Drifts sideways by 9 m a second, which no speed explains.
    for second in 1...10 { expectNil(try road.rejection(aside: Double(second) * 9)) }
    try expectEqual(road.rejection(aside: 40), .jump)
    expectNil(try road.rejection(aside: 40))
    expectNil(try road.rejection(aside: 40))
    for second in 1...10 { expectNil(try road.rejection(aside: 40 + Double(second) * 9)) }
    // At any distance.
    try expectEqual(road.rejection(aside: 800), .impossibleSpeed)
    expectNil(try road.rejection(aside: 800))
  }

  @Test("two fixes with an altitude, after fixes without one, replace the reference too")
  func withoutHeight() throws {
    var road = Road()
    try road.warmUp { $0.mode = .twoD }
    try expectEqual(road.rejection(aside: 50), .jump)
    expectNil(try road.rejection(aside: 50))
    // Two inconsistent fixes do not.
    var other = Road()
    try other.warmUp { $0.mode = .twoD }
    try expectEqual(other.rejection(aside: 50), .jump)
    try expectEqual(other.rejection(aside: 65), .jump)
  }

  @Test("multipath of two fixes is not taken as a correction where the previous positions match the speeds")
  func echo() throws {
    var road = Road()
    try road.warmUp()
    for _ in 0..<2 { try expectEqual(road.rejection(aside: 60), .jump) }
    expectNil(try road.rejection())
  }

  @Test("86 m in a second at a reported 10 m/s is a jump, even where three satellites allow large errors")
  func wild() throws {
    var road = Road()
    road.speed = 10
    try road.warmUp { $0.horizontalAccuracy = 11.5 }
    try expectEqual(road.rejection(by: 64, aside: 58, hdop: 5.8), .jump)
  }
}
