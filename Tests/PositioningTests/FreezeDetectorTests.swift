// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import Positioning

struct FreezeDetectorTests {
  private func reference(at second: Double, speed: Double?, north: Double = 0) throws -> FixReference {
    let place = try #require(Coordinate(latitude: 48, longitude: 11)).moved(by: north, heading: 0)
    let time = Timestamp(seconds: 1_796_083_200) + .milliseconds(Int64((second * 1000).rounded()))
    var fix = Fix(coordinate: place, time: .utc(time))
    fix.speed = speed
    return FixReference(fix, time: time, at: .boot)
  }

  /// The number of repetitions of a position, one a second, after which the receiver counts as frozen; nil if more than
  /// 100.
  private func repetitions(speed: Double?) throws -> Int? {
    var detector = FreezeDetector()
    for second in 0...100 {
      detector.observe(try reference(at: Double(second), speed: speed))
      if detector.isFrozen { return second }
    }
    return nil
  }

  @Test("a receiver that repeats a position while its speed would have covered 30 m is frozen")
  func frozen() throws {
    try expectEqual(repetitions(speed: 10), 3)
    try expectEqual(repetitions(speed: 9.9), 4)
    try expectEqual(repetitions(speed: 30), 1)
    try expectEqual(repetitions(speed: 2), 15)
  }

  @Test("a receiver that repeats its position without a speed, or with one below 2 m/s, is not frozen")
  func parked() throws {
    expectNil(try repetitions(speed: nil))
    expectNil(try repetitions(speed: 0))
    expectNil(try repetitions(speed: 1.99))
  }

  @Test(
    "a different position, or a repetition at rest, ends the freeze and resets the distance",
    arguments: [(10.0, 0.01), (0, 0)])
  func thaws(speed: Double, north: Double) throws {
    var detector = FreezeDetector()
    for second in 0...3 { detector.observe(try reference(at: Double(second), speed: 10)) }
    expect(detector.isFrozen)
    detector.observe(try reference(at: 4, speed: speed, north: north))
    expect(!detector.isFrozen)
    for second in 5...6 { detector.observe(try reference(at: Double(second), speed: 10, north: north)) }
    expect(!detector.isFrozen)
    for second in 7...8 { detector.observe(try reference(at: Double(second), speed: 10, north: north)) }
    expect(detector.isFrozen)
  }

  @Test("a timestamp that does not advance adds no distance")
  func time() throws {
    var detector = FreezeDetector()
    for second in [9.0, 9, 9, 8, 7] { detector.observe(try reference(at: second, speed: 100)) }
    expect(!detector.isFrozen)
  }

  @Test("the shift of a corrected date is not treated as elapsed time")
  func redate() throws {
    var detector = FreezeDetector()
    detector.observe(try reference(at: 0, speed: 10))
    detector.redate(by: .seconds(86_400))
    detector.observe(try reference(at: 86_401, speed: 10))
    expect(!detector.isFrozen)
    detector.observe(try reference(at: 86_403, speed: 10))
    expect(detector.isFrozen)
  }
}
