// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import Positioning

/// Positions are metres north and east of an origin, times are seconds. Each limit is tested from both sides.
struct FixReferenceTests {
  private static let start = Timestamp(seconds: 1_796_083_200)

  /// - Parameters:
  ///   - north: metres from the origin.
  ///   - second: seconds since the start.
  private func reference(
    _ north: Double, east: Double = 0, at second: Double, speed: Double? = nil, heading: Double? = nil,
    accuracy: Double? = 3, mode: Fix.Mode = .threeD
  ) throws -> FixReference {
    let origin = try #require(Coordinate(latitude: 48, longitude: 11))
    let place = origin.moved(by: north, heading: 0).moved(by: east, heading: 90)
    let elapsed = Duration.milliseconds(Int64((second * 1000).rounded()))
    var fix = Fix(coordinate: place, time: .utc(FixReferenceTests.start + elapsed), mode: mode)
    fix.speed = speed
    fix.heading = heading
    fix.horizontalAccuracy = accuracy
    return FixReference(fix, time: FixReferenceTests.start + elapsed, at: .boot + elapsed)
  }

  // MARK: - Reach

  @Test("a position is reachable within the speed limit, plus 2.15 standard deviations of both errors")
  func reach() throws {
    let before = try reference(0, at: 0, accuracy: 3)
    // √(3² + 4²) · 2.15 m + 50 m
    expect(try reference(60.7, at: 1, accuracy: 4).isReachable(from: before, at: 50))
    expect(try !reference(60.8, at: 1, accuracy: 4).isReachable(from: before, at: 50))
    // The default accuracy is 15 m.
    expect(try reference(82.8, at: 1, accuracy: nil).isReachable(from: before, at: 50))
    expect(try !reference(83, at: 1, accuracy: nil).isReachable(from: before, at: 50))
    // A negative time allows no distance.
    expect(try reference(10.7, at: -5, accuracy: 4).isReachable(from: before, at: 50))
    expect(try !reference(10.8, at: -5, accuracy: 4).isReachable(from: before, at: 50))
  }

  // MARK: - Distances explained by the reported motion

  @Test("without a heading, the higher speed, an acceleration of 4 m/s² and 30 m limit the distance in any direction")
  func followsSpeed() throws {
    let before = try reference(0, at: 0, speed: 10)
    for north in [43.9, -43.9] { expect(try reference(north, at: 1, speed: 6).isConsistent(with: before)) }
    for north in [44.1, -44.1] { expect(try !reference(north, at: 1, speed: 6).isConsistent(with: before)) }
    expect(try reference(0, at: 1, speed: 10).isConsistent(with: before))
    // Large errors allow more than the usual 30 m: 15 · √2 · 2.15 m.
    let vague = try reference(0, at: 0, speed: 10, accuracy: 15)
    expect(try reference(59.5, at: 1, speed: 10, accuracy: 15).isConsistent(with: vague))
    expect(try !reference(59.7, at: 1, speed: 10, accuracy: 15).isConsistent(with: vague))
  }

  @Test("at 3 m/s or more, a heading predicts the position within 30 m, plus an acceleration of 5 m/s², for up to 5 s")
  func followsHeading() throws {
    let before = try reference(0, at: 0, speed: 10, heading: 0)
    expect(try reference(42.4, at: 1, speed: 10).isConsistent(with: before))
    expect(try !reference(42.6, at: 1, speed: 10).isConsistent(with: before))
    // The predicted position is 10 m to the north, so less is allowed to the south.
    expect(try reference(-22.4, at: 1, speed: 10).isConsistent(with: before))
    expect(try !reference(-22.6, at: 1, speed: 10).isConsistent(with: before))
    expect(try reference(-42.4, at: 5, speed: 10).isConsistent(with: before))
    expect(try !reference(-42.6, at: 5, speed: 10).isConsistent(with: before))
    expect(try reference(-180, at: 5.1, speed: 10).isConsistent(with: before))
    let slow = try reference(0, at: 0, speed: 2.9, heading: 0)
    expect(try reference(-36.8, at: 1, speed: 2.9).isConsistent(with: slow))
    let faster = try reference(0, at: 0, speed: 3, heading: 0)
    expect(try reference(-29.4, at: 1, speed: 3).isConsistent(with: faster))
    expect(try !reference(-29.6, at: 1, speed: 3).isConsistent(with: faster))
  }

  @Test("a fix without a speed is predicted from the last three positions, once there are three within 5 s")
  func followsPlaces() throws {
    let first = try reference(0, at: 0)
    var second = try reference(10, at: 1)
    second.inherit(from: first)
    // Two positions are not a motion yet.
    expect(try reference(90_000, at: 2).isConsistent(with: second))
    var third = try reference(20, at: 2)
    third.inherit(from: second)
    expect(try reference(62.4, at: 3).isConsistent(with: third))
    expect(try !reference(62.6, at: 3).isConsistent(with: third))
    expect(try reference(90_000, at: 7.1).isConsistent(with: third))
    var late = try reference(20, at: 5.1)
    late.inherit(from: second)
    expect(try reference(90_000, at: 6).isConsistent(with: late))
  }

  // MARK: - Continuation

  @Test(
    "a fix continues another if it is within 10 m, plus an acceleration of 5 m/s², of where both velocities predict it")
  func continues() throws {
    let before = try reference(0, at: 0, speed: 10, heading: 0)
    expect(try reference(22.4, at: 1, speed: 10, heading: 0).continues(before))
    expect(try !reference(22.6, at: 1, speed: 10, heading: 0).continues(before))
    expect(try reference(17.4, at: 1, speed: 10, heading: 0).continues(before, within: FixReference.overrulingSlack))
    expect(try !reference(17.6, at: 1, speed: 10, heading: 0).continues(before, within: FixReference.overrulingSlack))
    // The mean of both velocities: half north and half east.
    expect(try reference(5, east: 17.4, at: 1, speed: 10, heading: 90).continues(before))
    expect(try !reference(5, east: 17.6, at: 1, speed: 10, heading: 90).continues(before))
    // Without a heading only the distance is compared.
    expect(try reference(-22.4, at: 1, speed: 10).continues(before))
    expect(try !reference(-22.6, at: 1, speed: 10).continues(before))
  }

  @Test("a fix does not continue a fix with the same time, one from more than 5 s before, or one without a motion")
  func continuesNothing() throws {
    let before = try reference(0, at: 0, speed: 10, heading: 0)
    expect(try !reference(0, at: 0, speed: 10, heading: 0).continues(before))
    expect(try reference(50, at: 5, speed: 10, heading: 0).continues(before))
    expect(try !reference(51, at: 5.1, speed: 10, heading: 0).continues(before))
    expect(try !reference(1, at: 1).continues(try reference(0, at: 0)))
    // A repeated position with a speed is not a continuation; at walking pace, rounding may explain it.
    let walking = try reference(0, at: 0, speed: 1.9, heading: 0)
    expect(try reference(0, at: 1, speed: 1.9, heading: 0).continues(walking))
    expect(try !reference(0, at: 1, speed: 2, heading: 0).continues(walking))
  }

  @Test(
    "a fix without a speed continues another if it is within 10 m, plus 5 m/s², of where three positions predict it")
  func continuesPlaces() throws {
    var second = try reference(10, at: 1)
    second.inherit(from: try reference(0, at: 0))
    var third = try reference(20, at: 2)
    third.inherit(from: second)
    expect(try reference(42.4, at: 3).continues(third))
    expect(try !reference(42.6, at: 3).continues(third))
  }

  @Test("a first fix after a gap bridges it if within 20 m of the position predicted from the motion before and after")
  func bridges() throws {
    let before = try reference(0, at: 0, speed: 10, heading: 0)
    expect(try reference(619.9, at: 60, speed: 10, heading: 0).bridges(gapAfter: before))
    expect(try !reference(620.1, at: 60, speed: 10, heading: 0).bridges(gapAfter: before))
    // With a speed but no heading there is no prediction; at rest the last position is the prediction.
    expect(try !reference(600, at: 60, speed: 10).bridges(gapAfter: before))
    let parked = try reference(0, at: 0, speed: 0)
    expect(try reference(19.9, at: 60, speed: 2.9).bridges(gapAfter: parked))
    expect(try !reference(20.1, at: 60, speed: 2.9).bridges(gapAfter: parked))
    expect(try !reference(0, at: 60, speed: 3).bridges(gapAfter: parked))
  }

  @Test("a fix is plausible within 2.15 times its accuracy of the predicted position; without a prediction, anywhere")
  func expected() throws {
    let before = try reference(0, at: 0, speed: 10, heading: 0)
    expect(try reference(31.4, at: 1, speed: 10, heading: 0).isExpected(after: before, accuracy: 10))
    expect(try !reference(31.6, at: 1, speed: 10, heading: 0).isExpected(after: before, accuracy: 10))
    expect(try reference(-31.4, at: 1, speed: 10).isExpected(after: before, accuracy: 10))
    expect(try !reference(-31.6, at: 1, speed: 10).isExpected(after: before, accuracy: 10))
    expect(try reference(90_000, at: 1).isExpected(after: before, accuracy: 10))
  }

  // MARK: - Replacing the reference

  @Test("a reference that has drifted 50 m from the position predicted by its speeds is replaced by any other fix")
  func outweighsDrift() throws {
    // The drift after two steps of a receiver that reports a speed of 0 is 0.9 · step + step.
    func drifted(by step: Double, accuracy: Double = 3) throws -> FixReference {
      var second = try reference(step, at: 1, speed: 0, accuracy: accuracy)
      second.accumulateDrift(from: try reference(0, at: 0, speed: 0, accuracy: accuracy))
      var third = try reference(2 * step, at: 2, speed: 0, accuracy: accuracy)
      third.accumulateDrift(from: second)
      return third
    }
    let other = try reference(0, at: 3, speed: 0, accuracy: 40)
    expect(try !other.outweighs(drifted(by: 26.3)))
    expect(try other.outweighs(drifted(by: 26.4)))
    // Large stated errors allow more: 20 · √2 · 2.15 m.
    expect(try !other.outweighs(drifted(by: 31.9, accuracy: 20)))
    expect(try other.outweighs(drifted(by: 32.1, accuracy: 20)))
  }

  @Test("opposite drifts cancel out, and a gap of more than 5 s resets the drift")
  func driftCancels() throws {
    let other = try reference(0, at: 9, speed: 0)
    var away = try reference(60, at: 1, speed: 0)
    away.accumulateDrift(from: try reference(0, at: 0, speed: 0))
    expect(other.outweighs(away))
    var back = try reference(0, at: 2, speed: 0)
    back.accumulateDrift(from: away)
    // The drift is 0.9 · 60 m − 60 m.
    expect(!other.outweighs(back))
    var late = try reference(60, at: 5.1, speed: 0)
    late.accumulateDrift(from: try reference(0, at: 0, speed: 0))
    expect(!other.outweighs(late))
  }

  @Test("a 3D fix replaces a 2D reference, unless the fix is less accurate")
  func outweighsFlat() throws {
    let flat = try reference(0, at: 0, accuracy: 5, mode: .twoD)
    expect(try reference(0, at: 1, accuracy: 5).outweighs(flat))
    expect(try !reference(0, at: 1, accuracy: 5.1).outweighs(flat))
    expect(try !reference(0, at: 1, accuracy: 5, mode: .twoD).outweighs(flat))
    expect(try !reference(0, at: 1, accuracy: 5).outweighs(try reference(0, at: 0, accuracy: 5)))
  }

  // MARK: - Dates

  @Test("a corrected date also shifts the clock offset and the previous fix's time, so that the motion remains known")
  func redate() throws {
    let day = Duration.seconds(86_400)
    var second = try reference(10, at: 1)
    let offsetFromElapsed = second.offsetFromElapsed
    expectEqual(offsetFromElapsed, FixReferenceTests.start - Timestamp(milliseconds: 0))
    second.inherit(from: try reference(0, at: 0))
    second.redate(by: day)
    expectEqual(second.time, FixReferenceTests.start + .seconds(1) + day)
    expectEqual(second.offsetFromElapsed, offsetFromElapsed + day)
    var third = try reference(20, at: 86_402)
    third.inherit(from: second)
    expect(try reference(30, at: 86_403).continues(third))
  }
}
