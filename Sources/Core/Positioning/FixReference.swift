// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// What the fix filter keeps of a fix, to judge others by.
struct FixReference: Sendable {
  /// Metres that two fixes may differ by, whatever accuracies they claim: receivers promise too much between walls.
  static let usualSlack = 30.0
  /// The same for the first ones after a gap, which often claim to be good while they are drawn in from far away.
  static let settlingSlack = 20.0
  /// Metres that a receiver which tells no accuracy is taken to be right within.
  private static let usualAccuracy = 15.0
  /// Metres per second squared, by which a vehicle may become faster without telling. More than any does for long.
  private static let acceleration = 4.0
  /// Metres per second squared, by which a vehicle may leave the way that it was heading: hard braking, a tight corner.
  private static let swerve = 5.0
  /// For how many seconds a heading foretells the way at all.
  private static let foresight = 5.0
  /// A heading means something from this speed on. Metres per second.
  private static let headingSpeed = 3.0

  let coordinate: Coordinate
  /// Metres, one sigma.
  let accuracy: Double
  /// Metres per second; nil when the receiver tells none.
  let speed: Double?
  private let heading: Double?
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

  init(_ fix: Fix, time: Timestamp, at: BootInstant) {
    coordinate = fix.coordinate
    accuracy = fix.horizontalAccuracy ?? FixReference.usualAccuracy
    speed = fix.speed
    heading = fix.heading
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

  /// This one is believed after another that it contradicts in nothing.
  mutating func succeed(_ before: FixReference) {
    origin = (before.coordinate, before.time)
    guard speed == nil, let earlier = before.origin else { return }
    let seconds = (time - earlier.time).inSeconds
    guard seconds > 0, seconds <= FixReference.foresight else { return }
    motion = (
      earlier.coordinate.distance(to: coordinate) / seconds, earlier.coordinate.heading(to: coordinate) ?? 0
    )
  }

  /// Whether a vehicle no faster than `limit` metres per second can have come here.
  func isReachable(from before: FixReference, at limit: Double) -> Bool {
    let distance = before.coordinate.distance(to: coordinate)
    return distance - slack(to: before) <= limit * max((time - before.time).inSeconds, 0)
  }

  /// Whether the speeds that the receiver told, which come from the Doppler shift and are right when the place is not,
  /// explain the way from there to here. True when it told none.
  ///
  /// - Parameter leastSlack: metres that two fixes may differ by, whatever accuracies they claim.
  func follows(_ before: FixReference, leastSlack: Double = usualSlack) -> Bool {
    guard let speed, let earlier = before.speed else { return continues(before, leastSlack) }
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

  /// Whether the motion of the fixes before explains the way here, for a receiver that tells no speed.
  private func continues(_ before: FixReference, _ leastSlack: Double) -> Bool {
    guard let motion = before.motion else { return true }
    let seconds = max((time - before.time).inSeconds, 0)
    guard seconds <= FixReference.foresight else { return true }
    let foretold = before.coordinate.moved(by: motion.speed * seconds, heading: motion.heading)
    return foretold.distance(to: coordinate) - max(slack(to: before), leastSlack)
      <= FixReference.swerve * seconds * seconds / 2
  }

  /// Metres that both may be wrong by together, with few exceptions.
  private func slack(to other: FixReference) -> Double { 2 * (accuracy + other.accuracy) }
}
