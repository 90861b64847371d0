// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// Distinguishes a parked vehicle from a moving one, and holds the position of a parked one.
///
/// A vehicle is parked after ten seconds below 0.7 m/s, and moving again after three seconds at 1.5 m/s or more: a
/// receiver's noise does not exceed this hysteresis. Without a reported speed, the distance covered in ten seconds
/// counts. Whatever the speed, a vehicle that has been far from its parked position for three seconds is moving; so is
/// one that is far away at the first fix after a gap, such as on a ferry.
package struct MotionDetector: Sendable {
  /// Whether the vehicle is moving.
  package enum State: Equatable, Sendable {
    case moving
    /// Parked at this position.
    case parked(Coordinate)
  }

  /// Below this speed the vehicle may be parked, in metres per second.
  package static let parkedBelow = 0.7
  /// It is parked after this time below that speed.
  package static let parkedAfter = Duration.seconds(10)
  /// From this speed on the vehicle may be moving, in metres per second.
  package static let movingFrom = 1.5
  /// It is moving after this time at that speed.
  package static let movingAfter = Duration.seconds(3)
  /// The distance from the parked position, in metres, beyond which drift is not the cause; three times the accuracy if
  /// that is more, or, after a gap, the accuracy.
  package static let departureDistance = 30.0
  /// The minimum length of a gap, if fixes usually come at least twice as often.
  private static let minimumGap = Duration.seconds(5)

  /// The state after the last fix; moving before the first.
  package private(set) var state = State.moving
  /// The speed at the last fix, in metres per second: as reported, or, if the receiver reports none or its report was
  /// refuted, computed from the positions of ten seconds. Nil if unknown.
  package private(set) var speed: Double?
  /// When the speed began to indicate the other state; nil if it does not.
  private var changingSince: Timestamp?
  /// When the vehicle was first too far from its parked position; nil if it is not.
  private var awaySince: Timestamp?
  /// When the last fix arrived, its timestamp, and the time since the previous one; after a gap, that between their
  /// timestamps, because it may be the last one before the gap and have arrived late.
  private var last: (at: BootInstant, time: Timestamp, period: Duration?)?
  /// Positions of the last few seconds, for receivers that do not report a speed.
  private var trail: [(time: Timestamp, coordinate: Coordinate)] = []
  /// Whether the receiver reported a standstill while the vehicle moved away: then the speed is computed from positions
  /// until it reports one; or, if it ever has, until the vehicle is parked, because its position may only have drifted.
  private(set) var isReportedSpeedWrong = false
  /// Whether the receiver has reported the speed of a moving vehicle.
  private var hasReportedMotion = false

  package init() {}

  /// Processes the next accepted fix, which arrived at `now`.
  ///
  /// - Returns: true if the vehicle has just stopped or started to move.
  package mutating func observe(_ fix: FixFilter.Accepted, at now: BootInstant) -> Bool {
    let isAfterGap = recordArrival(of: fix, at: now)
    if let speed = fix.fix.speed, speed >= MotionDetector.movingFrom {
      (isReportedSpeedWrong, hasReportedMotion) = (false, true)
    }
    speed = (isReportedSpeedWrong ? nil : fix.fix.speed) ?? speedFromPositions(fix)
    if case .parked(let place) = state {
      let isSettingOff = MotionDetector.hasLasted(
        speed ?? 0 >= MotionDetector.movingFrom, for: MotionDetector.movingAfter, at: fix.time, since: &changingSince)
      let isAway = MotionDetector.hasLasted(
        isBeyond(fix.fix, from: place, accuracies: 3), for: MotionDetector.movingAfter, at: fix.time, since: &awaySince)
      let wasMoved = isAfterGap && isBeyond(fix.fix, from: place, accuracies: 1)
      guard isSettingOff || isAway || wasMoved else { return false }
      if isAway, !isSettingOff, let speed = fix.fix.speed, speed < MotionDetector.parkedBelow {
        isReportedSpeedWrong = true
      }
      state = .moving
    } else {
      guard let speed else { return false }
      let isStanding = MotionDetector.hasLasted(
        speed < MotionDetector.parkedBelow, for: MotionDetector.parkedAfter, at: fix.time, since: &changingSince)
      guard isStanding else { return false }
      state = .parked(fix.fix.coordinate)
      if hasReportedMotion { isReportedSpeedWrong = false }
    }
    changingSince = nil
    awaySince = nil
    return true
  }

  private func isBeyond(_ fix: Fix, from place: Coordinate, accuracies: Double) -> Bool {
    place.distance(to: fix.coordinate)
      > max(MotionDetector.departureDistance, accuracies * (fix.horizontalAccuracy ?? 0))
  }

  /// Records the arrival of a fix.
  ///
  /// - Returns: whether there was a gap before it. Timestamps alone do not show it, because a receiver's clock may be
  ///   corrected in the gap; nor do arrivals alone, because old fixes may arrive in one burst.
  private mutating func recordArrival(of fix: FixFilter.Accepted, at now: BootInstant) -> Bool {
    guard let previous = last else {
      last = (now, fix.time, nil)
      return false
    }
    let stamps = fix.time - previous.time
    let period = max(now - previous.at, stamps)
    let isAfterGap = previous.period.map { period >= MotionDetector.minimumGap && period > $0 * 2 } ?? false
    last = (now, fix.time, isAfterGap && stamps > .zero ? stamps : period)
    return isAfterGap
  }

  private static func hasLasted(
    _ holds: Bool, for duration: Duration, at time: Timestamp, since start: inout Timestamp?
  ) -> Bool {
    guard holds else {
      start = nil
      return false
    }
    guard let since = start, since <= time else {
      start = time
      return false
    }
    return time - since >= duration
  }

  private mutating func speedFromPositions(_ fix: FixFilter.Accepted) -> Double? {
    // The last timestamp was wrong, and was corrected.
    if let last = trail.last, fix.time < last.time { trail.removeAll() }
    trail.append((fix.time, fix.fix.coordinate))
    // At 10 Hz a window of ten seconds holds a hundred positions.
    while let first = trail.first, fix.time - first.time > MotionDetector.parkedAfter || trail.count > 128 {
      trail.removeFirst()
    }
    guard let first = trail.first, fix.time - first.time >= .seconds(5) else { return nil }
    return first.coordinate.distance(to: fix.fix.coordinate) / (fix.time - first.time).inSeconds
  }
}
