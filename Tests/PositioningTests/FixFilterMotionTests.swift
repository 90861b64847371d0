// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import Testing
import Timekeeping

/// The filter's decisions on the motion from one fix to the next.
struct FixFilterMotionTests {
  private static let start = Timestamp(seconds: 1_796_083_200)

  /// A vehicle that drives north, and the filter for its receiver's fixes.
  private struct Bench {
    var filter = FixFilter(FixFilter.Configuration(buildDate: Timestamp(seconds: 1_795_219_200)))
    /// Metres.
    var north = 0.0

    /// The fix of this second, `metres` further north: why it is rejected; nil if it is accepted.
    mutating func drive(
      _ second: Double, by metres: Double, speed: Double?, east: Double = 0, accuracy: Double? = 4
    ) throws -> FixRejection? {
      north += metres
      let coordinate = try #require(Coordinate(latitude: 48 + north / 111_200, longitude: 11 + east / 74_600))
      let milliseconds = Duration.milliseconds(Int64(second * 1000))
      var fix = Fix(coordinate: coordinate, time: .utc(start + milliseconds))
      fix.speed = speed
      fix.heading = speed.map { _ in 0 }
      fix.horizontalAccuracy = accuracy
      switch filter.evaluate(fix, at: Moment(boot: .boot + milliseconds, wall: start)) {
      case .success: return nil
      case .failure(let rejection): return rejection
      }
    }

    /// One fix a second.
    mutating func drive(_ seconds: Range<Int>, by metres: Double, speed: Double?) throws -> [FixRejection?] {
      try seconds.map { try drive(Double($0), by: metres, speed: speed) }
    }
  }

  @Test("a frozen receiver is rejected once its speed would have covered 30 m, and accepted when it recovers")
  func frozen() throws {
    var bench = Bench()
    expect(try bench.drive(0..<5, by: 14, speed: 14).allSatisfy { $0 == nil })
    try expectEqual(bench.drive(5..<25, by: 0, speed: 14), [nil, nil] + Array(repeating: .frozen, count: 18))
    expectNil(try bench.drive(25, by: 294, speed: 14))
  }

  @Test("a parked receiver that repeats its position exactly is not frozen", arguments: [0, 0.5, 1.9, nil])
  func staticNavigation(speed: Double?) throws {
    var bench = Bench()
    expect(try bench.drive(0..<600, by: 0, speed: speed).allSatisfy { $0 == nil })
  }

  @Test("a receiver whose position moves in steps of 18.5 m is not rejected as frozen", arguments: [2.0, 5, 14])
  func coarse(speed: Double) throws {
    var bench = Bench()
    var distance = 0.0
    for second in 0..<60 {
      distance += speed
      let step = (distance / 18.5).rounded(.down) * 18.5 - bench.north
      expectNil(try bench.drive(Double(second), by: step, speed: speed))
    }
  }

  @Test(
    "bursts of two to four displaced fixes are rejected as jumps, and the following fixes are accepted",
    arguments: 2...4)
  func bursts(length: Int) throws {
    var bench = Bench()
    for round in 0..<20 {
      for second in 0..<20 {
        let isDisplaced = second >= 20 - length
        let rejection = try bench.drive(
          Double(round * 20 + second), by: 14, speed: 14, east: isDisplaced ? 80 : 0)
        expectEqual(rejection, (isDisplaced ? .jump : nil), "second \(second) of round \(round)")
      }
    }
  }

  @Test("hard braking, a start and a stop are not jumps")
  func braking() throws {
    var bench = Bench()
    var speed = 30.0
    for second in 0..<60 {
      let before = speed
      speed = second < 20 ? 30 : second < 24 ? speed - 7.5 : second < 40 ? 0 : min(speed + 4, 30)
      expectNil(try bench.drive(Double(second), by: (before + speed) / 2, speed: speed))
    }
  }

  @Test("if a receiver always reports a speed of 0 while driving, four fixes are rejected before its speed is ignored")
  func zeroSpeed() throws {
    var bench = Bench()
    let rejections = try bench.drive(0..<120, by: 60, speed: 0)
    expectEqual(rejections.count { $0 != nil }, 4)
    expect(rejections.dropFirst(8).allSatisfy { $0 == nil })
  }

  @Test("fixes at the speeds of ferries and trains are accepted", arguments: [25.0, 40, 60, 69])
  func fast(speed: Double) throws {
    var bench = Bench()
    expect(try bench.drive(0..<300, by: speed, speed: speed).allSatisfy { $0 == nil })
  }

  @Test("a speed above maxSpeed is accepted when ten positions and speeds corroborate each other, and not before")
  func faster() throws {
    var bench = Bench()
    expect(try bench.drive(0..<10, by: 60, speed: 60).allSatisfy { $0 == nil })
    let rejections = try bench.drive(10..<100, by: 83, speed: 83)
    expectEqual(rejections.count { $0 == .impossibleSpeed }, 9)
    expect(rejections.dropFirst(9).allSatisfy { $0 == nil })
    // The vehicle slows down, and the limit applies again.
    expect(try bench.drive(100..<130, by: 60, speed: 60).allSatisfy { $0 == nil })
    try expectEqual(bench.drive(130, by: 83, speed: 83), .impossibleSpeed)
  }

  @Test("a speed that the positions do not confirm is always rejected")
  func wildSpeed() throws {
    var bench = Bench()
    expect(try bench.drive(0..<60, by: 20, speed: 300).allSatisfy { $0 == .impossibleSpeed })
  }

  @Test("after a tunnel, fixes are rejected until two are consistent, for eight seconds at most")
  func tunnel() throws {
    var bench = Bench()
    expect(try bench.drive(0..<10, by: 20, speed: 20).allSatisfy { $0 == nil })
    try expectEqual(bench.drive(70, by: 1200, speed: 20, east: 300), .unsettled)
    try expectEqual(bench.drive(71, by: 20, speed: 20, east: 150), .unsettled)
    try expectEqual(bench.drive(72, by: 20, speed: 20, east: 10), .unsettled)
    expectNil(try bench.drive(73, by: 20, speed: 20))
    expect(try bench.drive(74..<80, by: 20, speed: 20).allSatisfy { $0 == nil })
    // Even fixes that are never consistent are rejected for eight seconds only.
    let wild = try (140...148).map { second in
      try bench.drive(Double(second), by: 20, speed: 20, east: second % 2 == 1 ? 500 : 0)
    }
    expectEqual(wild, Array(repeating: .unsettled, count: 8) + [nil])
  }

  @Test("after a tunnel, fixes with a good reported accuracy that converge from afar are rejected until they settle")
  func converging() throws {
    var bench = Bench()
    expect(try bench.drive(0..<10, by: 20, speed: 20).allSatisfy { $0 == nil })
    var error = 300.0
    for second in 70..<80 {
      let rejection = try bench.drive(Double(second), by: second == 70 ? 1200 : 20, speed: 20, east: error)
      if error > 60 { expectEqual(rejection, .unsettled, "off by \(error) m") }
      if error < 25 { expectNil(rejection, "off by \(error) m") }
      error *= 0.7
    }
  }

  @Test(
    "without speeds, three fixes predict the next: bursts of outliers are rejected, and the following fixes accepted")
  func burstsWithoutSpeed() throws {
    var bench = Bench()
    for round in 0..<20 {
      for second in 0..<20 {
        let isDisplaced = second >= 20 - (2 + round % 3)
        let rejection = try bench.drive(Double(round * 20 + second), by: 14, speed: nil, east: isDisplaced ? 80 : 0)
        expectEqual(rejection, (isDisplaced ? .jump : nil), "second \(second) of round \(round)")
      }
    }
  }

  @Test("without speeds, hard braking, a start, a sharp corner and position noise are not jumps")
  func brakingWithoutSpeed() throws {
    var bench = Bench()
    var speed = 30.0
    for second in 0..<60 {
      // Braking at 8 m/s² and accelerating at 4 m/s²; then a turn of ninety degrees at 10 m/s.
      if (10..<14).contains(second) { speed = max(speed - 8, 0) } else if second >= 30 { speed = min(speed + 4, 30) }
      let east = second.isMultiple(of: 2) ? 8.0 : -8
      expectNil(try bench.drive(Double(second), by: speed, speed: nil, east: east), "second \(second)")
    }
    var corner = Bench()
    for second in 0..<40 {
      let isPast = second >= 20
      let east = isPast ? Double(second - 20) * 10 : 0
      expectNil(
        try corner.drive(Double(second), by: isPast ? 0 : 10, speed: nil, east: east), "second \(second)")
    }
  }

  @Test("without speeds, a new position is accepted at the fifth consistent fix")
  func movedWithoutSpeed() throws {
    var bench = Bench()
    expect(try bench.drive(0..<20, by: 14, speed: nil).allSatisfy { $0 == nil })
    let moved = try (20..<30).map { try bench.drive(Double($0), by: 14, speed: nil, east: 3000) }
    expect(moved.prefix(4).allSatisfy { $0 != nil })
    expect(moved.dropFirst(4).allSatisfy { $0 == nil })
  }

  @Test("after a gap, a first fix with poor reported accuracy does not delay recovery")
  func poorAfterGap() throws {
    var bench = Bench()
    expect(try bench.drive(0..<10, by: 20, speed: 20).allSatisfy { $0 == nil })
    try expectEqual(bench.drive(40, by: 620, speed: 20, east: 150, accuracy: 160), .inaccurate)
    try expectEqual(bench.drive(41, by: 20, speed: 20, east: 110, accuracy: 90), .unsettled)
    expectNil(try bench.drive(42, by: 20, speed: 20, east: 60, accuracy: 50))
    expectNil(try bench.drive(43, by: 20, speed: 20, east: 0, accuracy: 5))
  }

  @Test("for a receiver with a fix every ten seconds, that interval is not a gap")
  func slow() throws {
    var bench = Bench()
    // After a gap, a fix so far from where speed and heading lead would not be accepted at once.
    for index in 0..<50 {
      expectNil(try bench.drive(Double(index * 10), by: 140, speed: 14, east: index.isMultiple(of: 2) ? 30 : 0))
    }
  }

  @Test("ten fixes a second are handled like one a second: three seconds of displaced positions are rejected")
  func tenHertz() throws {
    var bench = Bench()
    for index in 0..<300 {
      let isDisplaced = (100..<129).contains(index)
      let rejection = try bench.drive(Double(index) / 10, by: 1.4, speed: 14, east: isDisplaced ? 150 : 0)
      expectEqual((rejection != nil), isDisplaced, "\(index)")
    }
  }
}
