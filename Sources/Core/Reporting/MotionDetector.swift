// SPDX-License-Identifier: Apache-2.0
package import Positioning
import Timekeeping

/// Tells a parked vehicle from one that drives, and holds a parked one still.
///
/// Parked after ten seconds under 0.7 m/s, moving again after three seconds at 1.5 m/s or more: the gap between the two is
/// what a receiver's noise cannot cross. A receiver that tells no speed is judged by the distance covered in ten seconds.
package struct MotionDetector: Sendable {
  package enum State: Equatable, Sendable {
    case moving
    /// Standing at this place, facing this way.
    case parked(Coordinate, heading: Double?)
  }

  package static let parkedBelow = 0.7
  package static let parkedAfter = Duration.seconds(10)
  package static let movingFrom = 1.5
  package static let movingAfter = Duration.seconds(3)

  package private(set) var state = State.moving
  /// Since when the speed has spoken for the other state.
  private var changingSince: Timestamp?
  /// Positions of the last seconds, for receivers that tell no speed.
  private var trail: [(time: Timestamp, coordinate: Coordinate)] = []
  private var lastHeading: Double?

  package init() {}

  /// Takes the next believed fix.
  ///
  /// - Returns: true when the vehicle has just stopped, or just set off.
  package mutating func observe(_ fix: FixFilter.Accepted) -> Bool {
    guard let speed = fix.fix.speed ?? coveredSpeed(fix) else { return false }
    switch state {
    case .moving:
      if speed >= MotionDetector.parkedBelow, let heading = fix.fix.heading { lastHeading = heading }
      guard hasLasted(speed < MotionDetector.parkedBelow, for: MotionDetector.parkedAfter, at: fix.time) else {
        return false
      }
      state = .parked(fix.fix.coordinate, heading: lastHeading ?? fix.fix.heading)
    case .parked:
      guard hasLasted(speed >= MotionDetector.movingFrom, for: MotionDetector.movingAfter, at: fix.time) else {
        return false
      }
      state = .moving
    }
    changingSince = nil
    return true
  }

  private mutating func hasLasted(_ holds: Bool, for duration: Duration, at time: Timestamp) -> Bool {
    guard holds else {
      changingSince = nil
      return false
    }
    guard let since = changingSince, since <= time else {
      changingSince = time
      return false
    }
    return time - since >= duration
  }

  private mutating func coveredSpeed(_ fix: FixFilter.Accepted) -> Double? {
    trail.append((fix.time, fix.fix.coordinate))
    // At 10 Hz a window of ten seconds holds a hundred.
    while let first = trail.first, fix.time - first.time > MotionDetector.parkedAfter || trail.count > 128 {
      trail.removeFirst()
    }
    guard let first = trail.first, fix.time - first.time >= .seconds(5) else { return nil }
    return first.coordinate.distance(to: fix.fix.coordinate) / (fix.time - first.time).inSeconds
  }
}
