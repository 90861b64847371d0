// SPDX-License-Identifier: Apache-2.0
import SimulatedDrives
import Positioning
import Timekeeping

/// A receiver with one kind of error on a known drive.
struct FaultyReceiver {
  static let start = Timestamp(seconds: 1_796_083_200)

  private let trouble: Trouble
  private var random: SplitMix64
  /// Errors in metres that change gradually: of every receiver, and from multipath.
  private var drift = (east: 0.0, north: 0.0)
  private var echo = (east: 0.0, north: 0.0)
  /// A jump: its error in metres, the number of fixes that will still have it, and the error of their times.
  private var offset = (east: 0.0, north: 0.0)
  private var jumping = 0
  private var shift = Duration.zero
  /// The last fix that the receiver computed; a frozen one repeats it.
  private var lastSound: Fix?

  init(_ trouble: Trouble, seed: UInt64) {
    self.trouble = trouble
    random = SplitMix64(seed: seed)
  }

  /// The fix that the receiver reports for the true position at this second; nil without a fix.
  mutating func fix(_ state: TrueDrive.State, second: Int) -> Fix? {
    FaultyReceiver.wander(&drift, sigma: trouble == .parked ? 8 : 2, persistence: 0.98, &random)
    var east = state.east + drift.east + 0.3 * random.normal()
    var north = state.north + drift.north + 0.3 * random.normal()
    var accuracy = 3.5
    var stamp = FaultyReceiver.start + .seconds(second)
    let isActive = second >= 100 && second < 220
    switch trouble {
    case .jump, .burst, .noSpeedBurst:
      if jumping == 0, second % 25 == 20 { beginJump() }
      if jumping > 0 {
        jumping -= 1
        (east, north) = (east + offset.east, north + offset.north)
      }
    case .honestCanyon, .falseCanyon:
      let sigma = trouble == .honestCanyon ? 15.0 : 25
      FaultyReceiver.wander(&echo, sigma: isActive ? sigma : 0, persistence: 0.85, &random)
      if isActive {
        (east, north) = (east + echo.east, north + echo.north)
        accuracy = trouble == .honestCanyon ? 21 : 4
      }
    case .honestTunnel, .falseTunnel:
      if (100..<160).contains(second) { return nil }
      if second == 160 { beginJump(from: 80, to: 400) }
      if second >= 160 {
        (east, north) = (east + offset.east, north + offset.north)
        if trouble == .honestTunnel {
          accuracy += (offset.east * offset.east + offset.north * offset.north).squareRoot() / 1.5
        }
        offset = (offset.east * 0.7, offset.north * 0.7)
      }
    case .future, .past:
      if second % 30 == 20 {
        let size = Duration.seconds(random.uniform() < 0.5 ? 3600 : 86_400)
        shift = trouble == .future ? size : .zero - size
        jumping = 1 + Int(random.next() % 3)
      }
      if jumping > 0 {
        jumping -= 1
        stamp = stamp + shift
      }
    case .rollover: if isActive { stamp = stamp - .seconds(1024 * 7 * 86_400) }
    case .zero: if (100..<110).contains(second) { return FaultyReceiver.nowhere(stamp) }
    case .frozen:
      if (100..<120).contains(second), var fix = lastSound {
        fix.time = .utc(stamp)
        return fix
      }
    default: break
    }
    guard var fix = FaultyReceiver.fix(east: east, north: north, stamp) else { return nil }
    fix.horizontalAccuracy = accuracy
    addMotion(&fix, state)
    lastSound = fix
    return fix
  }

  /// The distance from the true position in metres.
  static func error(of coordinate: Coordinate, _ state: TrueDrive.State) -> Double {
    fix(east: state.east, north: state.north, start)?.coordinate.distance(to: coordinate) ?? .infinity
  }

  private mutating func addMotion(_ fix: inout Fix, _ state: TrueDrive.State) {
    if trouble == .noSpeedBurst { return }
    fix.speed = trouble == .zeroSpeed ? 0 : max(state.speed + 0.1 * random.normal(), 0)
    guard state.speed > 0.5, trouble != .zeroSpeed else { return }
    let heading = state.heading + 2 * random.normal() + (trouble == .ferry ? 15 : 0) + 360
    fix.heading = heading.truncatingRemainder(dividingBy: 360)
  }

  private mutating func beginJump(from least: Double = 60, to most: Double = 2000) {
    jumping = trouble == .jump ? 1 : 2 + Int(random.next() % 3)
    // The size of a jump is uniformly distributed on a logarithmic scale.
    var size = least
    let steps = 64 * random.uniform()
    for _ in 0..<Int(steps) {
      size *= trouble == .jump || trouble == .burst || trouble == .noSpeedBurst ? 1.056 : 1.0255
    }
    size = min(size, most)
    let direction = Trigonometry.rotation(degrees: 360 * random.uniform())
    offset = (size * direction.sine, size * direction.cosine)
  }

  private static func wander(
    _ error: inout (east: Double, north: Double), sigma: Double, persistence: Double, _ random: inout SplitMix64
  ) {
    let fresh = sigma * (1 - persistence * persistence).squareRoot()
    error.east = persistence * error.east + fresh * random.normal()
    error.north = persistence * error.north + fresh * random.normal()
  }

  private static func nowhere(_ stamp: Timestamp) -> Fix? {
    var fix = Coordinate(latitude: 0, longitude: 0).map { Fix(coordinate: $0, time: .utc(stamp)) }
    fix?.speed = 0
    fix?.horizontalAccuracy = 5
    return fix
  }

  /// A fix near 48.1° N, with seven decimals as many receivers report.
  private static func fix(east: Double, north: Double, _ stamp: Timestamp) -> Fix? {
    let latitude = 48.137 + north / 111_200
    let longitude = 11.575 + east / 74_450
    let coordinate = Coordinate(
      latitude: (latitude * 1e7).rounded() / 1e7, longitude: (longitude * 1e7).rounded() / 1e7)
    return coordinate.map { Fix(coordinate: $0, time: .utc(stamp)) }
  }
}
