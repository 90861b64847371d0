// SPDX-License-Identifier: Apache-2.0
import Glibc
import Positioning
import Timekeeping

/// A vehicle with a planned speed and a wandering heading.
struct PlannedDrive {
  enum Plan: Sendable {
    /// At this constant speed in metres per second.
    case steady(Double)
    /// Between traffic lights: 40 s at up to 12 m/s, 30 s at red.
    case city
    /// Stretches of random length and speed; on average, every fourth is a stop.
    case random
    /// Pairs of seconds and metres per second; the last continues forever.
    case stretches([(seconds: Int, speed: Double)])
  }

  private let plan: Plan
  private var random: SplitMix64
  private(set) var coordinate: Coordinate
  private(set) var speed = 0.0
  private(set) var heading: Double
  private var targetSpeed = 0.0
  private var targetUntil = 0

  init(_ plan: Plan, from start: Coordinate, seed: UInt64) {
    self.plan = plan
    random = SplitMix64(seed: seed)
    coordinate = start
    heading = Double.random(in: 0..<360, using: &random)
    if case .steady(let steady) = plan { speed = steady }
  }

  /// Drives for one more second.
  mutating func advance(second: Int) {
    if second >= targetUntil { chooseTargetSpeed(second) }
    // At most 2 m/s² of acceleration and braking: a truck that is driven smoothly.
    speed += min(max(targetSpeed - speed, -2), 2)
    if speed > 1 {
      heading = (heading + Double.random(in: -4...4, using: &random) + 360).truncatingRemainder(dividingBy: 360)
    }
    coordinate = coordinate.stepped(by: speed, heading: heading)
  }

  private mutating func chooseTargetSpeed(_ second: Int) {
    switch plan {
    case .steady(let steady):
      (targetSpeed, targetUntil) = (steady, .max)
    case .city:
      let isRed = second % 70 >= 40
      (targetSpeed, targetUntil) = (isRed ? 0 : 12, second + (isRed ? 70 : 40) - second % 70)
    case .random:
      targetSpeed = Int.random(in: 0..<4, using: &random) == 0 ? 0 : Double.random(in: 3...30, using: &random)
      targetUntil = second + Int.random(in: 5...180, using: &random)
    case .stretches(let stretches):
      var end = 0
      for stretch in stretches {
        end += stretch.seconds
        (targetSpeed, targetUntil) = (stretch.speed, end)
        if second < end { return }
      }
      targetUntil = .max
    }
  }
}

extension Coordinate {
  /// A step on a flat Earth: accurate enough for a few kilometres, and fast.
  func stepped(by metres: Double, heading: Double) -> Coordinate {
    let radians = heading * .pi / 180
    let north = metres * cos(radians) / 111_320
    let east = metres * sin(radians) / (111_320 * 0.667)
    return Coordinate(latitude: latitude + north, longitude: longitude + east) ?? self
  }
}
