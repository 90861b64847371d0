// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// What the fix filter keeps of a fix, to judge others by.
struct FixReference: Sendable {
  /// Metres that two fixes may differ by, whatever accuracies they claim: receivers promise too much between walls.
  static let usualSlack = 30.0
  /// The same for the first ones after a gap, which often claim to be good while they are drawn in from far away.
  static let settlingSlack = 20.0
  /// Metres that a fix may be away from where the reported motion leads, and still go on from there.
  static let continuationSlack = 10.0
  /// The same for fixes that are to overrule others.
  static let overrulingSlack = 5.0
  /// Metres of drift that are no error of single places any more.
  private static let largestDrift = 50.0
  /// Standard deviations within which 99 of 100 differences lie: √(ln 100), as a deviation is of both axes together.
  private static let deviations = 2.15
  /// Metres that a receiver which reports no accuracy is taken to be right within.
  private static let usualAccuracy = 15.0
  /// Metres per second squared, by which a vehicle may become faster without reporting it. More than any does for long.
  private static let acceleration = 4.0
  /// Metres per second squared, by which a vehicle may leave the way that it was heading: hard braking, a tight corner.
  private static let swerve = 5.0
  /// For how many seconds a heading foretells the way at all.
  private static let foresight = 5.0
  /// A heading means something from this speed on. Metres per second.
  private static let headingSpeed = 3.0
  /// Seconds in which the drift is forgotten.
  private static let driftMemory = 10.0

  let coordinate: Coordinate
  /// Metres, one sigma.
  let accuracy: Double
  /// Metres per second; nil when the receiver reports none.
  let speed: Double?
  private let heading: Double?
  private let mode: Fix.Mode
  private(set) var time: Timestamp
  let at: BootInstant
  /// What elapsed time must be added to, to give the stamps: by the fixes that came with the least delay.
  var lead: Duration
  /// How long after the fix before it came, by the stamps; nil for a first one.
  var period: Duration?
  /// Where the vehicle was at the fix before; nil for a first one.
  private var origin: (coordinate: Coordinate, time: Timestamp)?
  /// How the places of three fixes in a row say that it moves, where the receiver does not: metres per second and degrees.
  private var motion: (speed: Double, heading: Double)?
  /// Metres by which the places of the last seconds have moved away from where the reported speeds and headings led. The
  /// errors of single places cancel out in it.
  private var drift = Displacement()

  init(_ fix: Fix, time: Timestamp, at: BootInstant) {
    coordinate = fix.coordinate
    accuracy = fix.horizontalAccuracy ?? FixReference.usualAccuracy
    speed = fix.speed
    heading = fix.heading
    mode = fix.mode
    self.time = time
    self.at = at
    lead = time - Timestamp(milliseconds: 0) - (at - .boot)
  }

  /// Moves all its times by whole days: the date was the machine clock's, and that clock has been set.
  mutating func redate(by days: Duration) {
    time = time + days
    lead += days
    if let origin { self.origin?.time = origin.time + days }
  }

  /// This one is accepted after another that it contradicts in nothing.
  mutating func succeed(_ before: FixReference) {
    drift(from: before)
    origin = (before.coordinate, before.time)
    guard speed == nil, let earlier = before.origin else { return }
    let seconds = (time - earlier.time).inSeconds
    guard seconds > 0, seconds <= FixReference.foresight else { return }
    motion = (
      earlier.coordinate.distance(to: coordinate) / seconds, earlier.coordinate.heading(to: coordinate) ?? 0
    )
  }

  /// This one is accepted after another, whether it contradicts that one or not: what its speed does not explain is drift.
  mutating func drift(from before: FixReference) {
    let seconds = (time - before.time).inSeconds
    guard seconds > 0, seconds <= FixReference.foresight, let expected = expected(from: before) else { return }
    drift = before.drift * (1 - seconds / FixReference.driftMemory) + (displacement(from: before) - expected)
  }

  /// Whether a vehicle no faster than `limit` metres per second can have come here.
  func isReachable(from before: FixReference, at limit: Double) -> Bool {
    let distance = before.coordinate.distance(to: coordinate)
    return distance - slack(to: before) <= limit * max((time - before.time).inSeconds, 0)
  }

  /// Whether the speeds that the receiver reported, which come from the Doppler shift and are right when the place is not,
  /// explain the way from there to here. True when it reported none.
  ///
  /// - Parameter leastSlack: metres that two fixes may differ by, whatever accuracies they claim.
  func follows(_ before: FixReference, leastSlack: Double = usualSlack) -> Bool {
    guard let speed, let earlier = before.speed else { return isForetold(by: before, leastSlack) }
    let seconds = max((time - before.time).inSeconds, 0)
    let slack = max(slack(to: before), leastSlack)
    let reach = (max(speed, earlier) + FixReference.acceleration * seconds) * seconds
    guard before.coordinate.distance(to: coordinate) - slack <= reach else { return false }
    guard let heading = before.heading, earlier >= FixReference.headingSpeed, seconds <= FixReference.foresight else {
      return true
    }
    let foretold = before.coordinate.moved(by: (speed + earlier) / 2 * seconds, heading: heading)
    return foretold.distance(to: coordinate) - slack <= FixReference.swerve * seconds * seconds / 2
  }

  /// Whether this one is, within a few metres, where the motion reported before and now leads. False when there is nothing
  /// to tell by, and when the same place is repeated at a speed.
  ///
  /// - Parameter slack: metres.
  func continues(_ before: FixReference, within slack: Double = continuationSlack) -> Bool {
    let seconds = (time - before.time).inSeconds
    guard seconds > 0, seconds <= FixReference.foresight else { return false }
    if coordinate == before.coordinate, let speed, speed >= FreezeDetector.leastSpeed { return false }
    guard speed != nil, before.speed != nil else {
      return before.motion != nil && isForetold(by: before, slack, claimed: false)
    }
    return deviation(from: before).map { $0 <= slack + FixReference.swerve * seconds * seconds / 2 } ?? false
  }

  /// Whether this first one after a gap is where the motion before and after the gap leads. One that is still drawn in from
  /// afar is there by chance alone.
  func bridges(gapAfter before: FixReference) -> Bool {
    guard let expected = expected(from: before) else { return false }
    return (displacement(from: before) - expected).length <= FixReference.settlingSlack
  }

  /// Whether this one is no further from where the motion before and now leads than an accuracy in metres excuses. True when
  /// there is nothing to tell by.
  func isExpected(after before: FixReference, accuracy: Double) -> Bool {
    deviation(from: before).map { $0 <= FixReference.deviations * accuracy } ?? true
  }

  /// Whether this one, where it contradicts `before`, is the likelier to be right: because the places before have drifted
  /// away from what the receiver's own speeds say, or had no height of their own.
  func outweighs(_ before: FixReference) -> Bool {
    if before.drift.length > max(before.slack(to: before), FixReference.largestDrift) { return true }
    return before.mode == .twoD && mode == .threeD && accuracy <= before.accuracy
  }

  /// Whether the motion of the fixes before explains the way here, for a receiver that reports no speed.
  private func isForetold(by before: FixReference, _ leastSlack: Double, claimed: Bool = true) -> Bool {
    guard let motion = before.motion else { return true }
    let seconds = max((time - before.time).inSeconds, 0)
    guard seconds <= FixReference.foresight else { return true }
    let foretold = before.coordinate.moved(by: motion.speed * seconds, heading: motion.heading)
    return foretold.distance(to: coordinate) - (claimed ? max(slack(to: before), leastSlack) : leastSlack)
      <= FixReference.swerve * seconds * seconds / 2
  }

  /// Metres between this place and where the motion before and after leads; nil when that is not known.
  private func deviation(from before: FixReference) -> Double? {
    if let expected = expected(from: before) { return (displacement(from: before) - expected).length }
    guard let speed, let earlier = before.speed else { return nil }
    // Without a direction the distance still tells.
    let seconds = max((time - before.time).inSeconds, 0)
    return (before.coordinate.distance(to: coordinate) - (speed + earlier) / 2 * seconds).magnitude
  }

  /// Half of the time at each of the two velocities; nil when one is not known.
  private func expected(from before: FixReference) -> Displacement? {
    guard let now = velocity, let then = before.velocity else { return nil }
    return (now + then) * (max((time - before.time).inSeconds, 0) / 2)
  }

  /// Metres per second. A heading means nothing at rest.
  private var velocity: Displacement? {
    guard let speed else { return nil }
    if let heading { return Displacement(speed, heading: heading) }
    return speed < FixReference.headingSpeed ? Displacement() : nil
  }

  private func displacement(from before: FixReference) -> Displacement {
    Displacement(
      before.coordinate.distance(to: coordinate), heading: before.coordinate.heading(to: coordinate) ?? 0)
  }

  /// Metres that both may be wrong by together, with few exceptions, if their errors have nothing in common. Those of one
  /// receiver have much in common.
  private func slack(to other: FixReference) -> Double {
    FixReference.deviations * (accuracy * accuracy + other.accuracy * other.accuracy).squareRoot()
  }
}

/// A step over ground in metres, or per second.
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
