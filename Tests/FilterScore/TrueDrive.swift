// SPDX-License-Identifier: Apache-2.0
import SimulatedDrives
import Positioning
import Timekeeping

/// The true position of a vehicle, second by second: the reference for the scores.
struct TrueDrive {
  enum Kind {
    case town, highway, ferry
    /// The maximum speed in metres per second.
    case train(Double)
    case creeping, parked
  }

  struct State {
    /// Metres from the start.
    var east = 0.0
    var north = 0.0
    /// Metres per second.
    var speed = 0.0
    /// Degrees from true north, from 0 to less than 360.
    var heading = 0.0
  }

  private(set) var state = State()
  private let kind: Kind
  private var random: SplitMix64
  private var target = 0.0
  private var turn = 0.0
  private var remaining = 0

  init(_ kind: Kind, seed: UInt64) {
    self.kind = kind
    random = SplitMix64(seed: seed)
    state.heading = 360 * random.uniform()
    if case .ferry = kind { state.speed = 25 }
  }

  /// Advances by one second.
  mutating func advance() {
    if remaining == 0 { decide() }
    remaining -= 1
    let before = state.speed
    state.speed += min(max(target - state.speed, -2.5), 1.5)
    let heading = state.heading + turn + 360
    state.heading = heading.truncatingRemainder(dividingBy: 360)
    let direction = Trigonometry.rotation(degrees: state.heading - turn / 2)
    state.east += (before + state.speed) / 2 * direction.sine
    state.north += (before + state.speed) / 2 * direction.cosine
  }

  private mutating func decide() {
    remaining = 5 + Int(random.next() % 16)
    turn = 0
    switch kind {
    case .town:
      target = [0, 8, 14, 14, 19][Int(random.next() % 5)]
      // The vehicle slows down for a corner.
      if random.uniform() < 0.4 {
        (target, remaining) = (6, 6)
        turn = state.speed < 9 ? (random.uniform() < 0.5 ? -15 : 15) : 0
      }
    case .highway:
      target = 22 + 14 * random.uniform()
      turn = random.uniform() - 0.5
    case .ferry:
      target = 25
      turn = 0.4 * (random.uniform() - 0.5)
    case .train(let speed):
      target = speed
      turn = 0.1 * (random.uniform() - 0.5)
    case .creeping:
      target = random.uniform() < 0.3 ? 0 : 0.3 + 1.2 * random.uniform()
      turn = random.uniform() - 0.5
    case .parked: target = 0
    }
  }
}
