// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// The state of a fix that the filter compares others with.
struct FixReference: Sendable {
  /// Lower bound of the tolerated difference between two fixes in metres, whatever their accuracies: receivers are too
  /// optimistic in urban canyons.
  static let defaultSlack = 30.0
  /// The same for the first fixes after a gap, which often report a good accuracy while they converge from far away.
  static let settlingSlack = 20.0
  /// Maximum distance in metres from the predicted position of a fix that continues the previous ones.
  static let continuationSlack = 10.0
  /// The same for fixes that replace the reference.
  static let overrulingSlack = 5.0
  /// More drift than this, in metres, is not explained by errors of single positions.
  private static let maximumDrift = 50.0
  /// Standard deviations that contain 99 % of differences: √(ln 100), for a two-dimensional deviation.
  private static let confidenceFactor = 2.15
  /// Metres per second squared: how much a vehicle may accelerate without reporting it. More than any vehicle sustains.
  private static let maximumAcceleration = 4.0
  /// Metres per second squared: how much a vehicle may deviate from its heading, as in hard braking or a tight corner.
  private static let manoeuvreAcceleration = 5.0
  /// The maximum time, in seconds, for which a heading predicts the position.
  private static let predictionHorizon = 5.0
  /// Minimum speed at which the heading is meaningful, in metres per second.
  private static let minimumHeadingSpeed = 3.0
  /// The time constant of the drift, in seconds.
  private static let driftTimeConstant = 10.0

  let coordinate: Coordinate
  /// Metres, one sigma.
  let accuracy: Double
  /// Metres per second, at the vehicle's own pace; nil if not reported.
  let speed: Double?
  private let heading: Double?
  private let mode: Fix.Mode
  private(set) var time: Timestamp
  let arrival: BootInstant
  /// Seconds of the drive per second of its timestamps.
  private let pace: Double
  /// The clock offset: timestamps minus elapsed time, by the fixes with the least latency.
  var offsetFromElapsed: Duration
  /// The time since the previous fix by timestamps; nil for the first.
  var period: Duration?
  /// The position of the previous fix; nil for the first.
  private var previousPosition: (coordinate: Coordinate, time: Timestamp)?
  /// The motion computed from three consecutive positions, if the receiver does not report one: metres per second and
  /// degrees.
  private var motion: (speed: Double, heading: Double)?
  /// The accumulated difference, in metres, between the positions of the last few seconds and those predicted from the
  /// reported speeds and headings. Errors of single positions cancel out.
  private var drift = Displacement()

  /// - Parameter pace: seconds of the drive per second of its timestamps; more than zero.
  init(_ fix: Fix, time: Timestamp, at: BootInstant, pace: Double = 1) {
    coordinate = fix.coordinate
    accuracy = fix.assumedAccuracy
    speed = fix.speed.map { $0 / pace }
    heading = fix.heading
    mode = fix.mode
    self.time = time
    arrival = at
    self.pace = pace
    offsetFromElapsed = time - Timestamp(milliseconds: 0) - (at - .boot)
  }

  /// Moves all timestamps: by whole days, if the date came from the machine's clock and that has been set since, or by
  /// the error of the receiver's clock.
  mutating func redate(by change: Duration) {
    time = time + change
    offsetFromElapsed += change
    if let previousPosition { self.previousPosition?.time = previousPosition.time + change }
  }

  /// Continues the state of the previous reference, which this fix does not contradict.
  mutating func inherit(from before: FixReference) {
    accumulateDrift(from: before)
    previousPosition = (before.coordinate, before.time)
    guard speed == nil, let earlier = before.previousPosition else { return }
    let seconds = driveTime(since: earlier.time)
    guard seconds > 0, seconds <= FixReference.predictionHorizon else { return }
    motion = (
      earlier.coordinate.distance(to: coordinate) / seconds, earlier.coordinate.heading(to: coordinate) ?? 0
    )
  }

  /// Accumulates the difference from the predicted position, for any accepted fix.
  mutating func accumulateDrift(from before: FixReference) {
    let seconds = driveTime(since: before.time)
    guard seconds > 0, seconds <= FixReference.predictionHorizon, let expected = expected(from: before) else { return }
    drift = before.drift * (1 - seconds / FixReference.driftTimeConstant) + (displacement(from: before) - expected)
  }

  /// Seconds of the drive since the fix with this timestamp.
  func driveTime(since before: Timestamp) -> Double { (time - before).inSeconds * pace }

  /// Whether a vehicle can have reached this position within the speed limit, in metres per second.
  func isReachable(from before: FixReference, at limit: Double) -> Bool {
    let distance = before.coordinate.distance(to: coordinate)
    return distance - slack(to: before) <= limit * max(driveTime(since: before.time), 0)
  }

  /// Whether the reported speeds explain the movement from `before` to this fix. Speeds come from the Doppler shift,
  /// and are right even if the position is wrong. Without them, the motion computed from positions is used; true if
  /// that is unknown too.
  ///
  /// - Parameter minimumSlack: lower bound of the tolerance in metres, whatever the accuracies.
  func isConsistent(with before: FixReference, minimumSlack: Double = defaultSlack) -> Bool {
    guard let speed, let previousSpeed = before.speed else { return isPredicted(by: before, minimumSlack) }
    let seconds = max(driveTime(since: before.time), 0)
    let slack = max(slack(to: before), minimumSlack)
    let reach = (max(speed, previousSpeed) + FixReference.maximumAcceleration * seconds) * seconds
    guard before.coordinate.distance(to: coordinate) - slack <= reach else { return false }
    guard let heading = before.heading, previousSpeed >= FixReference.minimumHeadingSpeed,
      seconds <= FixReference.predictionHorizon
    else {
      return true
    }
    let predicted = before.coordinate.moved(by: (speed + previousSpeed) / 2 * seconds, heading: heading)
    return predicted.distance(to: coordinate) - slack <= FixReference.manoeuvreAcceleration * seconds * seconds / 2
  }

  /// Whether this fix is within a few metres of the position predicted from the motion before and now. False if the
  /// motion is unknown, or if the position is unchanged although a speed is reported.
  ///
  /// - Parameter slack: metres.
  func continues(_ before: FixReference, within slack: Double = continuationSlack) -> Bool {
    let seconds = driveTime(since: before.time)
    guard seconds > 0, seconds <= FixReference.predictionHorizon else { return false }
    if coordinate == before.coordinate, let speed, speed >= FreezeDetector.minimumSpeed { return false }
    guard speed != nil, before.speed != nil else {
      return before.motion != nil && isPredicted(by: before, slack, allowsForAccuracy: false)
    }
    return deviation(from: before).map { $0 <= slack + FixReference.manoeuvreAcceleration * seconds * seconds / 2 }
      ?? false
  }

  /// Whether this first fix after a gap is at the position predicted from the motion before and after the gap. A fix
  /// that is still converging from far away is there only by chance.
  func bridges(gapAfter before: FixReference) -> Bool {
    guard let expected = expected(from: before) else { return false }
    return (displacement(from: before) - expected).length <= FixReference.settlingSlack
  }

  /// Whether this accuracy, in metres, explains the difference from the predicted position. True if there is no
  /// prediction.
  func isExpected(after before: FixReference, accuracy: Double) -> Bool {
    deviation(from: before).map { $0 <= FixReference.confidenceFactor * accuracy } ?? true
  }

  /// Whether this fix is more credible than `before`, which it contradicts: because the earlier positions drifted away
  /// from the reported speeds, or had no altitude.
  func outweighs(_ before: FixReference) -> Bool {
    if before.drift.length > max(before.slack(to: before), FixReference.maximumDrift) { return true }
    return before.mode == .twoD && mode == .threeD && accuracy <= before.accuracy
  }

  /// Whether the motion of the previous fixes predicts this position, for a receiver that does not report a speed.
  private func isPredicted(by before: FixReference, _ minimumSlack: Double, allowsForAccuracy: Bool = true) -> Bool {
    guard let motion = before.motion else { return true }
    let seconds = max(driveTime(since: before.time), 0)
    guard seconds <= FixReference.predictionHorizon else { return true }
    let predicted = before.coordinate.moved(by: motion.speed * seconds, heading: motion.heading)
    return predicted.distance(to: coordinate)
      - (allowsForAccuracy ? max(slack(to: before), minimumSlack) : minimumSlack)
      <= FixReference.manoeuvreAcceleration * seconds * seconds / 2
  }

  /// Metres between this position and the one predicted from the motion before and after; nil if unknown.
  private func deviation(from before: FixReference) -> Double? {
    if let expected = expected(from: before) { return (displacement(from: before) - expected).length }
    guard let speed, let previousSpeed = before.speed else { return nil }
    // Without a direction, compare the distances.
    let seconds = max(driveTime(since: before.time), 0)
    return (before.coordinate.distance(to: coordinate) - (speed + previousSpeed) / 2 * seconds).magnitude
  }

  /// The displacement predicted from the mean of both velocities; nil if either is unknown.
  private func expected(from before: FixReference) -> Displacement? {
    guard let now = velocity, let then = before.velocity else { return nil }
    return (now + then) * (max(driveTime(since: before.time), 0) / 2)
  }

  /// Metres per second. The heading is meaningless at rest.
  private var velocity: Displacement? {
    guard let speed else { return nil }
    if let heading { return Displacement(speed, heading: heading) }
    return speed < FixReference.minimumHeadingSpeed ? Displacement() : nil
  }

  private func displacement(from before: FixReference) -> Displacement {
    Displacement(
      before.coordinate.distance(to: coordinate), heading: before.coordinate.heading(to: coordinate) ?? 0)
  }

  /// The largest expected difference between both positions in metres if their errors are independent. Errors of one
  /// receiver are strongly correlated.
  private func slack(to other: FixReference) -> Double {
    FixReference.confidenceFactor * (accuracy * accuracy + other.accuracy * other.accuracy).squareRoot()
  }
}

/// A displacement over ground in metres, or a velocity in metres per second.
private struct Displacement {
  var east = 0.0
  var north = 0.0

  init() {}

  init(_ metres: Double, heading: Double) {
    let direction = Trigonometry.rotation(degrees: heading)
    (east, north) = (metres * direction.sine, metres * direction.cosine)
  }

  var length: Double { (east * east + north * north).squareRoot() }

  static func + (left: Displacement, right: Displacement) -> Displacement {
    var sum = left
    sum.east += right.east
    sum.north += right.north
    return sum
  }

  static func - (left: Displacement, right: Displacement) -> Displacement { left + right * -1 }

  static func * (step: Displacement, factor: Double) -> Displacement {
    var product = step
    product.east *= factor
    product.north *= factor
    return product
  }
}
