// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import Reporting
import Testing
import Timekeeping

struct MotionDetectorTests {
  private static let start = Timestamp(seconds: 1_796_083_200)

  /// A detector, and a vehicle that drives north.
  private struct Yard {
    var detector = MotionDetector()
    var north = 0.0
    var second = 0
    /// The error of the receiver's clock in seconds.
    var clockError = 0

    /// One fix per second for this duration. Returns the seconds at which it stopped or started.
    mutating func observe(
      _ seconds: Int, by metres: Double = 0, speed: Double?, accuracy: Double? = 4, drift: (Int) -> Double = { _ in 0 }
    ) throws -> [Int] {
      var turns: [Int] = []
      for _ in 0..<seconds {
        north += metres
        let place = north + drift(second)
        let coordinate = try #require(Coordinate(latitude: 48 + place / 111_200, longitude: 11))
        var fix = Fix(coordinate: coordinate)
        fix.speed = speed
        fix.horizontalAccuracy = accuracy
        let accepted = FixFilter.Accepted(fix: fix, time: start + .seconds(second + clockError))
        if detector.observe(accepted, at: .boot + .seconds(second)) { turns.append(second) }
        second += 1
      }
      return turns
    }

    var isParked: Bool { detector.state != .moving }
  }

  @Test("a vehicle that creeps away at 1 m/s is no longer parked once it is 30 m away for three seconds")
  func creeps() throws {
    var yard = Yard()
    try expectEqual(yard.observe(20, speed: 0), [10])
    try expectEqual(yard.observe(60, by: 1, speed: 1), [53])
    expect(!yard.isParked)
  }

  @Test("a receiver without speed is detected as moving by the distance from the parking position")
  func noSpeed() throws {
    var yard = Yard()
    try expectEqual(yard.observe(30, speed: nil).count, 1)
    expect(yard.isParked)
    try expectEqual(yard.observe(60, by: 1, speed: nil).count, 1)
    expect(!yard.isParked)
  }

  @Test(
    "a vehicle that was moved during a gap is at once no longer parked at its old position", arguments: [0.0, nil])
  func movedInGap(speed: Double?) throws {
    var yard = Yard()
    _ = try yard.observe(60, speed: speed)
    yard.second += 2000
    yard.north += 200
    try expectEqual(yard.observe(1, speed: speed), [2060])
    expect(!yard.isParked)
    // It is parked again at its new position, and its speed is accepted as before.
    try expectEqual(yard.observe(30, speed: speed).count, 1)
    expect(yard.isParked)
  }

  @Test(
    "a vehicle that was moved in a gap is no longer parked, even if its receiver's clock was set back",
    arguments: [145, 2000, 946_080_000])
  func movedWhileClockWasSet(error: Int) throws {
    var yard = Yard(clockError: error)
    _ = try yard.observe(60, speed: 0)
    yard.second += 147
    yard.north += 200
    yard.clockError = 0
    try expectEqual(yard.observe(1, speed: 10), [207])
  }

  @Test(
    "a gap alone does not end parking, nor does a fix within its accuracy after it",
    arguments: [(0.0, 4.0), (28, 4), (90, 100)])
  func gapAlone(metres: Double, accuracy: Double) throws {
    var yard = Yard()
    _ = try yard.observe(60, speed: 0, accuracy: accuracy)
    yard.second += 2000
    yard.north += metres
    try expectEqual(yard.observe(2, speed: 0, accuracy: accuracy), [])
    expect(yard.isParked)
  }

  @Test("a receiver with a fix every ten seconds has no gaps: one distant fix does not end parking")
  func rareFixes() throws {
    var yard = Yard()
    for index in 0..<20 {
      _ = try yard.observe(1, speed: 0) { _ in index == 15 ? 60 : 0 }
      yard.second += 9
    }
    expect(yard.isParked)
  }

  @Test("drift within three times the accuracy does not end parking", arguments: [4.0, 15, 50])
  func drift(accuracy: Double) throws {
    var yard = Yard()
    _ = try yard.observe(20, speed: 0, accuracy: accuracy)
    let widest = max(28, 2.8 * accuracy)
    let turns = try yard.observe(7200, speed: 0.2, accuracy: accuracy) { second in
      widest * Trigonometry.sine(Double(second) / 200)
    }
    expect(turns.isEmpty)
    expect(yard.isParked)
  }

  @Test("two outliers do not end parking")
  func wild() throws {
    var yard = Yard()
    _ = try yard.observe(20, speed: 0)
    expect(try yard.observe(2, speed: 0, drift: { _ in 500 }).isEmpty)
    expect(try yard.observe(20, speed: 0).isEmpty)
    expect(yard.isParked)
  }

  @Test("a vehicle pushed to another position is parked there")
  func pushed() throws {
    var yard = Yard()
    _ = try yard.observe(20, speed: 0)
    let turns = try yard.observe(60, speed: 0, drift: { _ in 60 })
    expectEqual(turns.count, 2)
    guard case .parked(let place) = yard.detector.state else {
      Issue.record("not parked")
      return
    }
    expect(abs(place.latitude - (48 + 60 / 111_200)) < 1e-9)
  }
}
