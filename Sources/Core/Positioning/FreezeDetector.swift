// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Distinguishes a frozen receiver from a parked one: the same position to the last digit, advancing timestamps, and a
/// speed that would have moved the vehicle. A parked receiver may repeat its position exactly (static navigation), but
/// then it reports no speed.
struct FreezeDetector: Sendable {
  /// Metres per second. A receiver may report a lower speed for a stationary vehicle.
  static let minimumSpeed = 2.0
  /// The distance in metres that the speed must have covered. A receiver with two decimals of a minute has steps of 18
  /// m.
  private static let minimumDistance = 30.0

  private var place: Coordinate?
  private var time = Timestamp(milliseconds: .min)
  private var distance = 0.0

  /// Whether the last fix is from a frozen receiver.
  var isFrozen: Bool { distance >= FreezeDetector.minimumDistance }

  /// Moves the timestamp of the last fix.
  mutating func redate(by change: Duration) { time = time + change }

  /// Processes the next fix, accepted or not.
  mutating func observe(_ fix: FixReference) {
    defer {
      place = fix.coordinate
      time = fix.time
    }
    guard fix.coordinate == place, let speed = fix.speed, speed >= FreezeDetector.minimumSpeed else {
      distance = 0
      return
    }
    distance += speed * max(fix.driveTime(since: time), 0)
  }
}
