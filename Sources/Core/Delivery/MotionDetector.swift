// SPDX-License-Identifier: Apache-2.0
package import Positioning
import Timekeeping

/// Tells a parked vehicle from one that drives, and holds a parked one still.
///
/// Parked after ten seconds under 0.7 m/s, moving again after three seconds at 1.5 m/s or more: the gap between the two is
/// what a receiver's noise cannot cross. A receiver that reports no speed is judged by the distance covered in ten seconds.
/// Whatever the speed, a vehicle that has been far from where it was parked for three seconds is parked there no longer; nor
/// is one that is far away at the first fix after a gap, in which it was moved unseen.
package struct MotionDetector: Sendable {
  /// Whether the vehicle drives.
  package enum State: Equatable, Sendable {
    case moving
    /// Standing at this place, facing this way.
    case parked(Coordinate, heading: Double?)
  }

  /// Slower than this it may be parked. Metres per second.
  package static let parkedBelow = 0.7
  /// It is, when it has been that slow for this long.
  package static let parkedAfter = Duration.seconds(10)
  /// From this speed on it may be moving. Metres per second.
  package static let movingFrom = 1.5
  /// It is, when it has been that fast for this long.
  package static let movingAfter = Duration.seconds(3)
  /// Metres from the parked place that no drift explains, if three times the accuracy does not either.
  package static let leastEscape = 30.0
  /// The shortest gap, in a stream whose fixes usually come at least twice as often.
  private static let gap = Duration.seconds(5)

  /// As of the last fix; moving before the first.
  package private(set) var state = State.moving
  /// Since when the speed has spoken for the other state.
  private var changingSince: Timestamp?
  /// Since when the vehicle has been too far from its place to be parked there.
  private var awaySince: Timestamp?
  /// The time of the last fix, and from the one before to it.
  private var last: (time: Timestamp, period: Duration?)?
  /// Positions of the last seconds, for receivers that report no speed.
  private var trail: [(time: Timestamp, coordinate: Coordinate)] = []
  private var lastHeading: Double?
  /// Whether the receiver reported a standstill while it went away: then its places give the speed, until it reports one.
  private var isSpeedRefuted = false

  package init() {}

  /// Notes the next accepted fix.
  ///
  /// - Returns: true when the vehicle has just stopped, or just set off.
  package mutating func observe(_ fix: FixFilter.Accepted) -> Bool {
    let isAfterGap = isAfterGap(fix.time)
    if let speed = fix.fix.speed, speed >= MotionDetector.movingFrom { isSpeedRefuted = false }
    let speed = (isSpeedRefuted ? nil : fix.fix.speed) ?? coveredSpeed(fix)
    if case .parked(let place, _) = state {
      let isSettingOff = MotionDetector.hasLasted(
        speed ?? 0 >= MotionDetector.movingFrom, for: MotionDetector.movingAfter, at: fix.time, since: &changingSince)
      let isAway = MotionDetector.hasLasted(
        isBeyond(fix.fix, from: place, accuracies: 3), for: MotionDetector.movingAfter, at: fix.time, since: &awaySince)
      let wasMoved = isAfterGap && isBeyond(fix.fix, from: place, accuracies: 1)
      guard isSettingOff || isAway || wasMoved else { return false }
      if isAway, !isSettingOff, let speed = fix.fix.speed, speed < MotionDetector.parkedBelow { isSpeedRefuted = true }
      state = .moving
    } else {
      guard let speed else { return false }
      if speed >= MotionDetector.parkedBelow, let heading = fix.fix.heading { lastHeading = heading }
      let isStanding = MotionDetector.hasLasted(
        speed < MotionDetector.parkedBelow, for: MotionDetector.parkedAfter, at: fix.time, since: &changingSince)
      guard isStanding else { return false }
      state = .parked(fix.fix.coordinate, heading: lastHeading ?? fix.fix.heading)
    }
    changingSince = nil
    awaySince = nil
    return true
  }

  private func isBeyond(_ fix: Fix, from place: Coordinate, accuracies: Double) -> Bool {
    place.distance(to: fix.coordinate) > max(MotionDetector.leastEscape, accuracies * (fix.horizontalAccuracy ?? 0))
  }

  /// Whether there was a gap before a fix of this time, which is the last one from here on.
  private mutating func isAfterGap(_ time: Timestamp) -> Bool {
    let period = last.map { time - $0.time }
    defer { last = (time, period) }
    guard let period, let usual = last?.period else { return false }
    return period >= MotionDetector.gap && period > usual * 2
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

  private mutating func coveredSpeed(_ fix: FixFilter.Accepted) -> Double? {
    // A stamp that was wrong has been overruled.
    if let last = trail.last, fix.time < last.time { trail.removeAll() }
    trail.append((fix.time, fix.fix.coordinate))
    // At 10 Hz a window of ten seconds holds a hundred.
    while let first = trail.first, fix.time - first.time > MotionDetector.parkedAfter || trail.count > 128 {
      trail.removeFirst()
    }
    guard let first = trail.first, fix.time - first.time >= .seconds(5) else { return nil }
    return first.coordinate.distance(to: fix.fix.coordinate) / (fix.time - first.time).inSeconds
  }
}
