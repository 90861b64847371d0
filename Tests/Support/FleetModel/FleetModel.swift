// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// A fleet in virtual time: each vehicle is a `VehicleAgent`, and all share one model of Fleet Engine, of the token
/// provider and of mobile cells.
///
/// Time passes in slices of a second. Within a slice the vehicles are independent, so that they can be distributed to
/// threads; their effects on each other, through the load of a cell, apply in the next slice. The same seed gives the
/// same run on any number of threads.
package struct FleetModel: Sendable {
  /// The number of mobile cells, each with an equal part of the fleet.
  package static let cells = 5
  /// Bytes that a cell carries in a second for each vehicle in it: 50 Mbit/s for 2,000 vehicles.
  static let cellRate = 3125.0
  /// The lifetime of tokens in seconds.
  static let tokenLife = 3600

  /// True time at the start.
  static let start = Timestamp(seconds: 1_796_119_200)
  static let buildDate = Timestamp(seconds: 1_795_219_200)
  /// The uptime of the machines at the start: tokens of previous runs are younger.
  private static let uptime = Duration.seconds(20_000)

  static func instant(_ second: Int) -> BootInstant { .boot + uptime + .seconds(second) }
  static func time(_ instant: BootInstant) -> Timestamp { start + ((instant - .boot) - uptime) }

  /// The number of vehicles.
  package var vehicles: Int
  /// The seed of all random numbers.
  package var seed: UInt64
  /// The number of concurrent groups of vehicles.
  package var threads: Int
  /// Whole seconds between fixes of a receiver.
  package var fixPeriod: Int

  package init(vehicles: Int, seed: UInt64 = 1, threads: Int, fixPeriod: Int = 1) {
    self.vehicles = vehicles
    self.seed = seed
    self.threads = max(threads, 1)
    self.fixPeriod = max(fixPeriod, 1)
  }

  /// Runs a scenario to its end.
  package func run(_ scenario: FleetScenario) async -> FleetRun {
    let shares = (0..<threads).map { share in
      FleetShare(
        stride(from: share, to: vehicles, by: threads).compactMap { number in
          FleetVehicle(number, of: scenario, seed: seed, fixPeriod: .seconds(fixPeriod))
        })
    }
    var run = FleetRun(scenario, vehicles: vehicles)
    var queues = [Double](repeating: 0, count: FleetModel.cells)
    let capacity = FleetModel.cellRate * Double(vehicles) / Double(FleetModel.cells)
    for second in 0..<scenario.duration {
      let conditions = FleetConditions(scenario, second: second, cellDelays: queues.map { $0 / capacity })
      let isLast = second == scenario.duration - 1
      let tally = await withTaskGroup(of: FleetTally.self) { group in
        for share in shares { group.addTask { await share.advance(conditions, isLast: isLast) } }
        var sum = FleetTally()
        for await tally in group { sum += tally }
        return sum
      }
      for cell in queues.indices {
        queues[cell] = max(queues[cell] + Double(tally.cellBytes[cell]) - capacity, 0)
      }
      run.add(tally)
    }
    return run
  }
}

/// The vehicles that one thread simulates.
private actor FleetShare {
  private var vehicles: [FleetVehicle]

  init(_ vehicles: [FleetVehicle]) {
    self.vehicles = vehicles
  }

  func advance(_ conditions: FleetConditions, isLast: Bool) -> FleetTally {
    var tally = FleetTally()
    let end = FleetModel.instant(conditions.second + 1)
    for index in vehicles.indices {
      vehicles[index].advance(until: end, conditions, &tally)
      if isLast { vehicles[index].close(&tally) }
    }
    return tally
  }
}
