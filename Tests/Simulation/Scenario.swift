// SPDX-License-Identifier: Apache-2.0
import Reporting
import Timekeeping

/// What happens in one simulated run: all of it follows from this and the seed.
struct Scenario {
  enum Act: Sendable {
    /// The machine has another address.
    case networkUp
    /// The machine has no network any more, or has one.
    case network(Bool)
    /// The machine sleeps for so many seconds.
    case suspend(Int)
    case reload(vehicle: String)
    case stop(within: Int)
    case sourceEnded
    /// The wall clock jumps by so many seconds.
    case clockStep(Int64)
  }

  var seed: UInt64 = 1
  /// Seconds.
  var duration = 3600
  var drive = Drive.Plan.steady(14)
  var faults: [Fault] = []
  var acts: [(second: Int, act: Act)] = []
  /// Seconds by which the wall clock is wrong at boot; nil: it starts in 1970.
  var wallError: Int64? = 0
  var tokenLife = 3600
  /// The receiver tells positions up to so many metres off.
  var noise = 1.5
  var adjust: @Sendable (inout VehicleAgent.Configuration) -> Void = { _ in }

  /// The first second that is known to the world: boot.
  static let boot = Timestamp(seconds: 1_796_083_200)
  static let buildDate = Timestamp(seconds: 1_795_219_200)

  func isActive(at second: Double, _ matches: (Fault.Kind) -> Bool) -> Bool {
    faults.contains { $0.isActive(at: second) && matches($0.kind) }
  }
}
