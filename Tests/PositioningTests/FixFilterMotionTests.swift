// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import Testing
import Timekeeping

/// The filter's decisions on the motion from one fix to the next.
struct FixFilterMotionTests {
  private static let start = Timestamp(seconds: 1_796_083_200)

  /// A vehicle that drives north, and the filter for its receiver's fixes.
  private struct Road {
    var filter = FixFilter(FixFilter.Configuration(buildDate: Timestamp(seconds: 1_795_219_200)))
    /// Metres.
    var north = 0.0

    /// Why the fix at that second and distance is rejected; nil if it is accepted.
    mutating func drive(
      _ second: Double, by metres: Double, speed: Double?, aside: Double = 0, accuracy: Double? = 4
    ) throws -> FixRejection? {
      north += metres
      let coordinate = try #require(Coordinate(latitude: 48 + north / 111_200, longitude: 11 + aside / 74_600))
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

  @Test("a frozen receiver is rejected once its speed would have moved it 30 m, and accepted when it recovers")
  func frozen() throws {
    var road = Road()
    expect(try road.drive(0..<5, by: 14, speed: 14).allSatisfy { $0 == nil })
    try expectEqual(road.drive(5..<25, by: 0, speed: 14), [nil, nil] + Array(repeating: .frozen, count: 18))
    expectNil(try road.drive(25, by: 294, speed: 14))
  }

  @Test("a parked receiver that repeats its position exactly is not frozen", arguments: [0, 0.5, 1.9, nil])
  func staticNavigation(speed: Double?) throws {
    var road = Road()
    expect(try road.drive(0..<600, by: 0, speed: speed).allSatisfy { $0 == nil })
  }

  @Test("a coarse receiver that moves in steps of 18 m is not frozen", arguments: [2.0, 5, 14])
  func coarse(speed: Double) throws {
    var road = Road()
    var way = 0.0
    for second in 0..<60 {
      way += speed
      let step = (way / 18.5).rounded(.down) * 18.5 - road.north
      expectNil(try road.drive(Double(second), by: step, speed: speed))
    }
  }

  @Test("bursts of two to four fixes elsewhere are jumps, and the following fixes are accepted", arguments: 2...4)
  func bursts(length: Int) throws {
    var road = Road()
    for round in 0..<20 {
      for second in 0..<20 {
        let isAside = second >= 20 - length
        let rejections = try road.drive(
          Double(round * 20 + second), by: 14, speed: 14, aside: isAside ? 80 : 0)
        expectEqual(rejections, (isAside ? .jump : nil), "second \(second) of round \(round)")
      }
    }
  }

  @Test("hard braking, a start and a stop are not jumps")
  func braking() throws {
    var road = Road()
    var speed = 30.0
    for second in 0..<60 {
      let before = speed
      speed = second < 20 ? 30 : second < 24 ? speed - 7.5 : second < 40 ? 0 : min(speed + 4, 30)
      expectNil(try road.drive(Double(second), by: (before + speed) / 2, speed: speed))
    }
  }

  @Test("when a receiver always reports a speed of 0, four fixes are rejected, and then its speed is ignored")
  func zeroSpeed() throws {
    var road = Road()
    let rejections = try road.drive(0..<120, by: 60, speed: 0)
    expectEqual(rejections.count { $0 != nil }, 4)
    expect(rejections.dropFirst(8).allSatisfy { $0 == nil })
  }

  @Test("ferries and trains are accepted", arguments: [25.0, 40, 60, 69])
  func fast(speed: Double) throws {
    var road = Road()
    expect(try road.drive(0..<300, by: speed, speed: speed).allSatisfy { $0 == nil })
  }

  @Test("a speed above maxSpeed is accepted when ten positions and speeds corroborate each other, and not before")
  func faster() throws {
    var road = Road()
    expect(try road.drive(0..<10, by: 60, speed: 60).allSatisfy { $0 == nil })
    let rejections = try road.drive(10..<100, by: 83, speed: 83)
    expectEqual(rejections.count { $0 == .impossibleSpeed }, 9)
    expect(rejections.dropFirst(9).allSatisfy { $0 == nil })
    // It slows down, and the limit applies again.
    expect(try road.drive(100..<130, by: 60, speed: 60).allSatisfy { $0 == nil })
    try expectEqual(road.drive(130, by: 83, speed: 83), .impossibleSpeed)
  }

  @Test("a speed that the positions do not confirm is always rejected")
  func wildSpeed() throws {
    var road = Road()
    expect(try road.drive(0..<60, by: 20, speed: 300).allSatisfy { $0 == .impossibleSpeed })
  }

  @Test("after a tunnel fixes are rejected until two are consistent, for eight seconds at most")
  func tunnel() throws {
    var road = Road()
    expect(try road.drive(0..<10, by: 20, speed: 20).allSatisfy { $0 == nil })
    try expectEqual(road.drive(70, by: 1200, speed: 20, aside: 300), .unsettled)
    try expectEqual(road.drive(71, by: 20, speed: 20, aside: 150), .unsettled)
    try expectEqual(road.drive(72, by: 20, speed: 20, aside: 10), .unsettled)
    expectNil(try road.drive(73, by: 20, speed: 20))
    expect(try road.drive(74..<80, by: 20, speed: 20).allSatisfy { $0 == nil })
    // Fixes that are never consistent do not delay it further.
    let wild = try (140...148).map { second in
      try road.drive(Double(second), by: 20, speed: 20, aside: second % 2 == 1 ? 500 : 0)
    }
    expectEqual(wild, Array(repeating: .unsettled, count: 8) + [nil])
  }

  @Test("after a tunnel fixes that converge from afar with a good reported accuracy are rejected until they settle")
  func drawnIn() throws {
    var road = Road()
    expect(try road.drive(0..<10, by: 20, speed: 20).allSatisfy { $0 == nil })
    var error = 300.0
    for second in 70..<80 {
      let rejection = try road.drive(Double(second), by: second == 70 ? 1200 : 20, speed: 20, aside: error)
      if error > 60 { expectEqual(rejection, .unsettled, "off by \(error) m") }
      if error < 25 { expectNil(rejection, "off by \(error) m") }
      error *= 0.7
    }
  }

  @Test(
    "without speeds three fixes predict the next: bursts of outliers are jumps, and the following fixes are accepted")
  func burstsWithoutSpeed() throws {
    var road = Road()
    for round in 0..<20 {
      for second in 0..<20 {
        let isAside = second >= 20 - (2 + round % 3)
        let rejections = try road.drive(Double(round * 20 + second), by: 14, speed: nil, aside: isAside ? 80 : 0)
        expectEqual(rejections, (isAside ? .jump : nil), "second \(second) of round \(round)")
      }
    }
  }

  @Test("without speeds hard braking, a start, a sharp corner and position noise are not jumps")
  func brakingWithoutSpeed() throws {
    var road = Road()
    var speed = 30.0
    for second in 0..<60 {
      // Eight metres per second squared down, four up, and a turn of ninety degrees at 10 m/s.
      if (10..<14).contains(second) { speed = max(speed - 8, 0) } else if second >= 30 { speed = min(speed + 4, 30) }
      let aside = second.isMultiple(of: 2) ? 8.0 : -8
      expectNil(try road.drive(Double(second), by: speed, speed: nil, aside: aside), "second \(second)")
    }
    var corner = Road()
    for second in 0..<40 {
      let isPast = second >= 20
      let aside = isPast ? Double(second - 20) * 10 : 0
      expectNil(
        try corner.drive(Double(second), by: isPast ? 0 : 10, speed: nil, aside: aside), "second \(second)")
    }
  }

  @Test("without speeds a new position is accepted after five consistent fixes")
  func movedWithoutSpeed() throws {
    var road = Road()
    expect(try road.drive(0..<20, by: 14, speed: nil).allSatisfy { $0 == nil })
    let moved = try (20..<30).map { try road.drive(Double($0), by: 14, speed: nil, aside: 3000) }
    expect(moved.prefix(4).allSatisfy { $0 != nil })
    expect(moved.dropFirst(4).allSatisfy { $0 == nil })
  }

  @Test("a first fix after a gap that reports a poor accuracy does not delay the recovery")
  func poorAfterGap() throws {
    var road = Road()
    expect(try road.drive(0..<10, by: 20, speed: 20).allSatisfy { $0 == nil })
    try expectEqual(road.drive(40, by: 620, speed: 20, aside: 150, accuracy: 160), .inaccurate)
    try expectEqual(road.drive(41, by: 20, speed: 20, aside: 110, accuracy: 90), .unsettled)
    expectNil(try road.drive(42, by: 20, speed: 20, aside: 60, accuracy: 50))
    expectNil(try road.drive(43, by: 20, speed: 20, aside: 0, accuracy: 5))
  }

  @Test("a receiver with a fix every ten seconds has no gaps")
  func slow() throws {
    var road = Road()
    for index in 0..<50 { expectNil(try road.drive(Double(index * 10), by: 140, speed: 14)) }
  }

  @Test("ten fixes a second are handled like one a second: three seconds of displaced positions are rejected")
  func tenHertz() throws {
    var road = Road()
    for index in 0..<300 {
      let isAside = (100..<129).contains(index)
      let rejections = try road.drive(Double(index) / 10, by: 1.4, speed: 14, aside: isAside ? 150 : 0)
      expectEqual((rejections != nil), isAside, "\(index)")
    }
  }
}
