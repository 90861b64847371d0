// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import Testing
import Timekeeping

/// The filter's decisions on fixes with a poor HDOP or few satellites, and on recovery from multipath.
struct FixFilterQualityTests {
  private static let start = Timestamp(seconds: 1_796_083_200)

  /// A vehicle that drives north with a fix a second, and the filter for its receiver's fixes.
  private struct Bench {
    var filter = FixFilter(FixFilter.Configuration(buildDate: Timestamp(seconds: 1_795_219_200)))
    /// Metres.
    var north = 0.0
    var second = 0
    var speed = 14.0

    /// Evaluates the fix of the next second.
    mutating func drive(
      by metres: Double? = nil, east: Double = 0, hdop: Double = 1, _ change: (inout Fix) -> Void = { _ in }
    ) throws -> Result<FixFilter.Accepted, FixRejection> {
      second += 1
      north += metres ?? speed
      let coordinate = try #require(Coordinate(latitude: 48 + north / 111_200, longitude: 11 + east / 74_600))
      var fix = Fix(coordinate: coordinate, time: .utc(start + .seconds(second)))
      (fix.speed, fix.heading, fix.satellites) = (speed, 0, 8)
      (fix.hdop, fix.horizontalAccuracy, fix.isAccuracyDerived) = (hdop, 5 * hdop, true)
      change(&fix)
      return filter.evaluate(fix, at: Moment(boot: .boot + .seconds(second), wall: start))
    }

    mutating func rejection(
      by metres: Double? = nil, east: Double = 0, hdop: Double = 1, _ change: (inout Fix) -> Void = { _ in }
    ) throws -> FixRejection? {
      if case .failure(let rejection) = try drive(by: metres, east: east, hdop: hdop, change) { return rejection }
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

  @Test("without satellites, fixes with a stated accuracy are rejected if no value changes while the vehicle moves")
  func extrapolation() throws {
    var bench = Bench()
    let garmin = { (fix: inout Fix) in
      (fix.horizontalAccuracy, fix.verticalAccuracy, fix.isAccuracyDerived) = (5.2, 7.7, false)
    }
    try bench.warmUp(garmin)
    expectNil(
      try bench.rejection {
        garmin(&$0); $0.speed = 14.1
      })
    // The last speed, course and accuracy are repeated.
    var rejections: [FixRejection?] = []
    for _ in 0..<6 {
      rejections.append(
        try bench.rejection {
          garmin(&$0); ($0.speed, $0.satellites) = (14.1, 0)
        })
    }
    expectEqual(rejections, [nil, .noSatellites, .noSatellites, .noSatellites, .noSatellites, .noSatellites])
    // A receiver with sensors: one value changes.
    for second in 0..<20 {
      let result = try bench.rejection { fix in
        garmin(&fix)
        fix.satellites = 0
        if second % 2 == 0 { fix.speed = 14.2 }
      }
      if second >= 10 { expectNil(result, "\(second)") }
    }
    // In a parked vehicle, the values may stay the same.
    bench.speed = 0
    for _ in 0..<10 {
      expectNil(
        try bench.rejection {
          garmin(&$0); $0.satellites = 0
        })
    }
  }

  @Test(
    "a fix with a poor HDOP that continues the previous ones is accepted; its accuracy worsens every second",
    arguments: [20.2, 50, 176])
  func continues(hdop: Double) throws {
    var bench = Bench()
    try bench.warmUp()
    var widest = 5.0
    for _ in 0..<12 {
      let widened = try #require(accuracy(try bench.drive(hdop: hdop)))
      expect(widened > widest && widened < 50)
      widest = widened
    }
    expectEqual(accuracy(try bench.drive()), 5)
  }

  @Test("fixes with a poor HDOP can also continue those of a stationary vehicle, or of a receiver without speeds")
  func continuesAtRest() throws {
    var bench = Bench()
    bench.speed = 0
    try bench.warmUp { $0.heading = nil }
    expectNil(try bench.rejection(hdop: 50) { $0.heading = nil })
    var places = Bench()
    try places.warmUp { ($0.speed, $0.heading) = (nil, nil) }
    for _ in 0..<5 { expectNil(try places.rejection(hdop: 50) { ($0.speed, $0.heading) = (nil, nil) }) }
  }

  @Test("fixes with a poor HDOP are rejected until one continues the previous fixes")
  func strays() throws {
    var bench = Bench()
    try expectEqual(bench.rejection(hdop: 50), .inaccurate)
    try expectEqual(bench.rejection(hdop: 20.1) { $0.horizontalAccuracy = nil }, .poorHDOP)
    try bench.warmUp()
    try expectEqual(bench.rejection(east: 25, hdop: 50), .inaccurate)
    // The allowed error grows with the time since the last accepted fix.
    try expectEqual(bench.rejection(east: 25, hdop: 50), .inaccurate)
    expectNil(try bench.rejection(east: 25, hdop: 50))
    expectNil(try bench.rejection())
    // A repeated position with a speed is not a continuation, even if the expected step is small.
    bench.speed = 3
    try bench.warmUp()
    try expectEqual(bench.rejection(by: 0, hdop: 50), .inaccurate)
  }

  @Test(
    "fixes with a high HDOP that continue the track are accepted until their accumulated error exceeds max_accuracy")
  func tooLong() throws {
    var bench = Bench()
    try bench.warmUp()
    let rejections = try (0..<60).map { _ in try bench.rejection(hdop: 50) }
    let accepted = rejections.prefix { $0 == nil }.count
    expectEqual(accepted, 31)
    expect(rejections.dropFirst(accepted).allSatisfy { $0 == .inaccurate })
    expectNil(try bench.rejection())
  }

  @Test("a poor fix never replaces the reference, however often it is repeated")
  func poorFixNeverReplaces() throws {
    var bench = Bench()
    try bench.warmUp()
    for _ in 0..<40 { try expectEqual(bench.rejection(east: 300, hdop: 50), .inaccurate) }
    expectNil(try bench.rejection())
  }

  @Test("an accuracy that the receiver states takes precedence over its HDOP, better or worse")
  func stated() throws {
    var bench = Bench()
    expectNil(try bench.rejection(hdop: 77) { ($0.horizontalAccuracy, $0.isAccuracyDerived) = (9, false) })
    try expectEqual(
      bench.rejection(hdop: 1) { ($0.horizontalAccuracy, $0.isAccuracyDerived) = (160, false) }, .inaccurate)
  }

  @Test("fixes rejected for their HDOP are not a gap: the next good fix is accepted at once")
  func rejectedIsNoGap() throws {
    var bench = Bench()
    try bench.warmUp()
    // The fixes are away from the vehicle's track, so that they are rejected.
    for second in 0..<8 {
      try expectEqual(bench.rejection(east: second.isMultiple(of: 2) ? 40 : -40, hdop: 60), .inaccurate)
    }
    expectNil(try bench.rejection(by: 40))
  }

  @Test("dead reckoning without satellites is rejected unless the receiver states its accuracy")
  func deadReckoning() throws {
    var bench = Bench()
    try bench.warmUp()
    for _ in 0..<5 {
      try expectEqual(bench.rejection(hdop: 2) { ($0.quality, $0.satellites) = (.estimated, nil) }, .noSatellites)
    }
    try expectEqual(bench.rejection(hdop: 2) { $0.satellites = 0 }, .noSatellites)
    expectNil(
      try bench.rejection(hdop: 50) {
        ($0.quality, $0.horizontalAccuracy, $0.isAccuracyDerived) = (.estimated, 12, false)
      })
    // A receiver that does not count satellites always reports 0, and is accepted.
    var silent = Bench()
    try silent.warmUp { $0.satellites = 0 }
  }

  @Test("after dead reckoning, fixes must first prove consistent, as after any gap")
  func settlesAfterDeadReckoning() throws {
    var bench = Bench()
    try bench.warmUp()
    for _ in 0..<8 { try expectEqual(bench.rejection { $0.quality = .estimated }, .noSatellites) }
    try expectEqual(bench.rejection(east: 60), .unsettled)
    expectNil(try bench.rejection(east: 60))
  }

  @Test(
    "the first fix after a gap is accepted at once only if it matches the dead-reckoned position",
    arguments: [6, 10, 60, 3600])
  func bridges(gap: Int) throws {
    var bench = Bench()
    try bench.warmUp()
    bench.second += gap
    expectNil(try bench.rejection(by: 14 * Double(gap + 1) + 8))
    try bench.warmUp()
    bench.second += gap
    try expectEqual(bench.rejection(by: 14 * Double(gap + 1) + 25), .unsettled)
  }

  @Test("if positions have drifted away from the speeds, two fixes at the right position correct the drift")
  func drifted() throws {
    var bench = Bench()
    try bench.warmUp()
    // The position drifts sideways by 9 m a second, which no speed explains.
    for second in 1...10 { expectNil(try bench.rejection(east: Double(second) * 9)) }
    try expectEqual(bench.rejection(east: 40), .jump)
    expectNil(try bench.rejection(east: 40))
    expectNil(try bench.rejection(east: 40))
    for second in 1...10 { expectNil(try bench.rejection(east: 40 + Double(second) * 9)) }
    // The distance of the correction does not matter.
    try expectEqual(bench.rejection(east: 800), .impossibleSpeed)
    expectNil(try bench.rejection(east: 800))
  }

  @Test("after fixes without an altitude, two consistent fixes that have one replace the reference")
  func withoutHeight() throws {
    var bench = Bench()
    try bench.warmUp { $0.mode = .twoD }
    try expectEqual(bench.rejection(east: 50), .jump)
    expectNil(try bench.rejection(east: 50))
    // Two inconsistent fixes do not replace the reference.
    var other = Bench()
    try other.warmUp { $0.mode = .twoD }
    try expectEqual(other.rejection(east: 50), .jump)
    try expectEqual(other.rejection(east: 65), .jump)
  }

  @Test("two fixes with multipath do not replace the reference if the positions before them match the reported speeds")
  func echo() throws {
    var bench = Bench()
    try bench.warmUp()
    for _ in 0..<2 { try expectEqual(bench.rejection(east: 60), .jump) }
    expectNil(try bench.rejection())
  }

  @Test("86 m in a second at a reported 10 m/s is a jump, even if an HDOP of 5.8 allows large errors")
  func wild() throws {
    var bench = Bench()
    bench.speed = 10
    try bench.warmUp { $0.horizontalAccuracy = 11.5 }
    try expectEqual(bench.rejection(by: 64, east: 58, hdop: 5.8), .jump)
  }
}
