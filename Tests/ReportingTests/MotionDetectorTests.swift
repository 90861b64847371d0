// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import Reporting
import Testing
import Timekeeping

struct MotionDetectorTests {
  private static let start = Timestamp(seconds: 1_796_083_200)

  /// A detector, and a vehicle that drives north.
  private struct Bench {
    var detector = MotionDetector()
    var north = 0.0
    var second = 0
    /// The error of the receiver's clock in seconds.
    var clockError = 0

    /// One fix per second for this duration; with `burstAt`, all arrive in that second. Returns the seconds at which
    /// the vehicle stopped or started.
    mutating func observe(
      _ seconds: Int, by metres: Double = 0, speed: Double?, accuracy: Double? = 4, burstAt: Int? = nil,
      drift: (Int) -> Double = { _ in 0 }
    ) throws -> [Int] {
      var changes: [Int] = []
      for _ in 0..<seconds {
        north += metres
        let place = north + drift(second)
        let coordinate = try #require(Coordinate(latitude: 48 + place / 111_200, longitude: 11))
        var fix = Fix(coordinate: coordinate)
        fix.speed = speed
        fix.horizontalAccuracy = accuracy
        let accepted = FixFilter.Accepted(fix: fix, time: start + .seconds(second + clockError))
        if detector.observe(accepted, at: .boot + .seconds(burstAt ?? second)) { changes.append(second) }
        second += 1
      }
      return changes
    }

    var isParked: Bool { detector.state != .moving }
  }

  @Test("a vehicle that creeps away at 1 m/s is no longer parked once it has been over 30 m away for three seconds")
  func creeps() throws {
    var bench = Bench()
    try expectEqual(bench.observe(20, speed: 0), [10])
    try expectEqual(bench.observe(60, by: 1, speed: 1), [53])
    expect(!bench.isParked)
  }

  @Test("without a reported speed, a vehicle is detected as moving by its distance from the parking position")
  func noSpeed() throws {
    var bench = Bench()
    try expectEqual(bench.observe(30, speed: nil).count, 1)
    expect(bench.isParked)
    try expectEqual(bench.observe(60, by: 1, speed: nil).count, 1)
    expect(!bench.isParked)
  }

  @Test(
    "at the first fix after a gap, a vehicle that was moved is no longer parked at its old position",
    arguments: [0.0, nil])
  func movedInGap(speed: Double?) throws {
    var bench = Bench()
    _ = try bench.observe(60, speed: speed)
    bench.second += 2000
    bench.north += 200
    try expectEqual(bench.observe(1, speed: speed), [2060])
    expect(!bench.isParked)
    // The vehicle is parked again, at its new position.
    try expectEqual(bench.observe(30, speed: speed).count, 1)
    expect(bench.isParked)
  }

  @Test(
    "a vehicle that was moved during a gap is no longer parked, even if its receiver's clock was set back",
    arguments: [145, 2000, 946_080_000])
  func movedWhileClockWasSet(error: Int) throws {
    var bench = Bench(clockError: error)
    _ = try bench.observe(60, speed: 0)
    bench.second += 147
    bench.north += 200
    bench.clockError = 0
    try expectEqual(bench.observe(1, speed: 10), [207])
  }

  @Test("a vehicle that moved away in the part of a burst that was rejected is no longer parked")
  func movedInBurst() throws {
    var bench = Bench()
    _ = try bench.observe(30, speed: 0, burstAt: 64)
    bench.second = 67
    bench.north += 340
    try expectEqual(bench.observe(1, speed: 12), [67])
  }

  @Test("a vehicle that was moved during a gap is no longer parked, even if the last fix before it arrives after it")
  func movedBeforeLateFix() throws {
    var bench = Bench()
    _ = try bench.observe(60, speed: 0)
    _ = try bench.observe(1, speed: 0, burstAt: 147)
    bench.second = 147
    bench.north += 300
    try expectEqual(bench.observe(1, speed: 0), [147])
  }

  @Test(
    "neither a gap nor a nearby first fix after it ends parking",
    arguments: [(0.0, 4.0), (28, 4), (90, 100)])
  func gapAlone(metres: Double, accuracy: Double) throws {
    var bench = Bench()
    _ = try bench.observe(60, speed: 0, accuracy: accuracy)
    bench.second += 2000
    bench.north += metres
    try expectEqual(bench.observe(2, speed: 0, accuracy: accuracy), [])
    expect(bench.isParked)
  }

  @Test("with a fix every ten seconds there are no gaps, so one distant fix does not end parking")
  func rareFixes() throws {
    var bench = Bench()
    for index in 0..<20 {
      _ = try bench.observe(1, speed: 0) { _ in index == 15 ? 60 : 0 }
      bench.second += 9
    }
    expect(bench.isParked)
  }

  @Test("in a replay that is ten times slower than the timestamps there are no gaps either")
  func slowReplay() throws {
    var bench = Bench()
    for index in 0..<40 {
      _ = try bench.observe(1, speed: 0, burstAt: index * 10) { _ in index == 30 ? 60 : 0 }
    }
    expect(bench.isParked)
  }

  @Test("drift within 30 m, or within three times the accuracy, does not end parking", arguments: [4.0, 15, 50])
  func drift(accuracy: Double) throws {
    var bench = Bench()
    _ = try bench.observe(20, speed: 0, accuracy: accuracy)
    let widest = max(28, 2.8 * accuracy)
    let changes = try bench.observe(7200, speed: 0.2, accuracy: accuracy) { second in
      widest * Trigonometry.sine(Double(second) / 200)
    }
    expect(changes.isEmpty)
    expect(bench.isParked)
  }

  @Test("two outliers do not end parking")
  func wild() throws {
    var bench = Bench()
    _ = try bench.observe(20, speed: 0)
    expect(try bench.observe(2, speed: 0, drift: { _ in 500 }).isEmpty)
    expect(try bench.observe(20, speed: 0).isEmpty)
    expect(bench.isParked)
  }

  @Test("a vehicle pushed to another position is parked there")
  func pushed() throws {
    var bench = Bench()
    _ = try bench.observe(20, speed: 0)
    let changes = try bench.observe(60, speed: 0, drift: { _ in 60 })
    expectEqual(changes.count, 2)
    guard case .parked(let place) = bench.detector.state else {
      Issue.record("not parked")
      return
    }
    expect(abs(place.latitude - (48 + 60 / 111_200)) < 1e-9)
  }
}
