// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Tells a frozen receiver from a parked one: the same place to the last digit, a clock that goes on, and a speed that would
/// have taken the vehicle elsewhere. A parked receiver may well repeat its place exactly (static navigation), but then it
/// reports no speed.
struct FreezeDetector: Sendable {
  /// Metres per second. Less is what a receiver may report of a vehicle that stands.
  static let leastSpeed = 2.0
  /// Metres that the speed must have covered. A receiver with two digits of a minute moves its place in steps of 18 m.
  private static let leastDistance = 30.0

  private var place: Coordinate?
  private var time = Timestamp(milliseconds: .min)
  private var distance = 0.0

  /// Whether the last fix is one of a frozen receiver.
  var isFrozen: Bool { distance >= FreezeDetector.leastDistance }

  /// Moves the time of the last fix by whole days.
  mutating func redate(by days: Duration) { time = time + days }

  /// Notes the next fix, accepted or not.
  mutating func observe(_ fix: FixReference) {
    defer {
      place = fix.coordinate
      time = fix.time
    }
    guard fix.coordinate == place, let speed = fix.speed, speed >= FreezeDetector.leastSpeed else {
      distance = 0
      return
    }
    distance += speed * max((fix.time - time).inSeconds, 0)
  }
}
