// SPDX-License-Identifier: Apache-2.0
import Glibc
import Positioning
import Timekeeping

/// A delivery round: drives of 4 to 12 minutes, and stops of 1 to 4 minutes.
struct FleetDrive {
  private var latitude: Double
  private var longitude: Double
  private var heading: Double
  private var speed = 0.0
  private var targetSpeed = 0.0
  /// Degrees per second.
  private var turn = 0.0
  private var secondsLeft = 0.0
  private var secondsToTurn = 0.0

  init(using random: inout SplitMix64) {
    latitude = .random(in: 47...53, using: &random)
    longitude = .random(in: 8...13, using: &random)
    heading = .random(in: 0..<360, using: &random)
    // The state at a random moment of a round.
    let isDriving = Double.random(in: 0..<1, using: &random) < 480 / (480 + 150)
    if isDriving { speed = .random(in: 8...20, using: &random) }
    targetSpeed = speed
    secondsLeft = .random(in: 0...(isDriving ? 600 : 200), using: &random)
  }

  mutating func advance(by seconds: Double, using random: inout SplitMix64) {
    secondsLeft -= seconds
    if secondsLeft <= 0 {
      let isDriving = targetSpeed == 0
      targetSpeed = isDriving ? .random(in: 8...20, using: &random) : 0
      secondsLeft = isDriving ? .random(in: 240...720, using: &random) : .random(in: 60...240, using: &random)
    }
    secondsToTurn -= seconds
    if secondsToTurn <= 0 {
      turn = .random(in: -2...2, using: &random)
      secondsToTurn = .random(in: 5...40, using: &random)
    }
    let before = speed
    speed += min(max(targetSpeed - speed, -2 * seconds), 2 * seconds)
    guard speed > 0 || before > 0 else { return }
    let distance = (speed + before) / 2 * seconds
    let radians = heading * .pi / 180
    latitude += distance * cos(radians) / 111_320
    longitude += distance * sin(radians) / (111_320 * cos(latitude * .pi / 180))
    if speed > 1 { heading = (heading + turn * seconds + 360).truncatingRemainder(dividingBy: 360) }
  }

  /// The receiver's position, within a metre.
  func fix(at time: Timestamp, using random: inout SplitMix64) -> Fix? {
    let noise = random.next()
    let north = Double(noise & 0xFFFF) / 65536 - 0.5
    let east = Double(noise >> 16 & 0xFFFF) / 65536 - 0.5
    guard let place = Coordinate(latitude: latitude + north * 1e-5, longitude: longitude + east * 1.5e-5) else {
      return nil
    }
    var fix = Fix(coordinate: place, time: .utc(time))
    fix.altitude = 500 + north
    fix.speed = speed > 0 ? speed + north * 0.1 : 0
    fix.heading = speed > 1 ? heading : nil
    fix.satellites = 11
    fix.hdop = 0.9
    fix.horizontalAccuracy = 3
    return fix
  }
}
