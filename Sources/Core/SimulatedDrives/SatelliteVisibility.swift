// SPDX-License-Identifier: Apache-2.0

/// The satellites in view along the route: all, none in a tunnel, few in an urban canyon.
struct SatelliteVisibility: Sendable {
  /// The length over which a canyon begins and ends, in metres.
  private static let rampLength = 30.0
  /// How long a receiver takes to recover its accuracy after a tunnel, in seconds.
  private static let recoveryTime = 20.0
  /// The factor of the error of the first fix after a tunnel.
  private static let initialErrorFactor = 6.0

  struct Reception: Equatable {
    /// Whether there are enough satellites for a fix.
    var hasFix: Bool
    /// The factor of all errors: 1 is normal.
    var errorFactor = 1.0
    /// The additional multipath error in metres, one sigma.
    var multipath = 0.0
  }

  private struct Outage: Sendable {
    var from: Double
    var until: Double
    /// When the tunnel ends, and when the next fix follows, in seconds of the lap.
    var exitTime: Double
    var fixTime: Double
  }

  private let canyons: [(from: Double, until: Double, noise: Double)]
  /// The outages of the first lap, and those of each later lap, in order of distance.
  private let outages: [[Outage]]

  init(_ settings: SimulationSettings, _ drive: Drive, _ noise: ReceiverNoise) throws(SimulationError) {
    let path = drive.path
    var tunnels = SatelliteVisibility.marked(.tunnel, path)
    for tunnel in settings.tunnels { tunnels.append(try SatelliteVisibility.range(tunnel, "tunnel", path)) }
    var canyons = SatelliteVisibility.marked(.canyon, path).map { ($0.from, $0.until, SimulationSettings.canyonNoise) }
    for canyon in settings.canyons {
      let range = try SatelliteVisibility.range(canyon.stretch, "urban canyon", path)
      canyons.append((range.from, range.until, canyon.noise))
    }
    self.canyons = canyons.map { (from: $0.0, until: $0.1, noise: $0.2) }
    let ordered = SatelliteVisibility.joined(tunnels)
    outages =
      drive.isStanding
      ? [[], []]
      : (0..<2).map { lap in
        ordered.enumerated().map { index, tunnel in
          let exit = drive.time(at: tunnel.until, lap: lap)
          let delay = 1 + 3 * noise.uniform(.reacquisition, Int64(index))
          return Outage(from: tunnel.from, until: tunnel.until, exitTime: exit, fixTime: exit + delay)
        }
      }
  }

  func reception(_ state: Drive.State, in drive: Drive) -> Reception {
    let outages = outages[state.lap == 0 ? 0 : 1]
    var reception = Reception(hasFix: true)
    if outages.contains(where: { $0.from <= state.distance && state.distance < $0.until }) { reception.hasFix = false }
    var age: Double?
    if let last = outages.last(where: { $0.exitTime <= state.time }) {
      age = state.time - last.fixTime
    } else if state.lap > 0, let last = self.outages[state.lap == 1 ? 0 : 1].last {
      age = state.time + drive.duration(ofLap: state.lap - 1) - last.fixTime
    }
    if let age {
      if age < 0 { reception.hasFix = false }
      let left = max(1 - age / SatelliteVisibility.recoveryTime, 0)
      reception.errorFactor += (SatelliteVisibility.initialErrorFactor - 1) * left * left
    }
    for canyon in canyons where canyon.from <= state.distance && state.distance <= canyon.until {
      let depth = min(state.distance - canyon.from, canyon.until - state.distance) / SatelliteVisibility.rampLength
      reception.multipath = max(reception.multipath, canyon.noise * min(depth, 1))
    }
    return reception
  }

  /// The stretches that the route marks.
  private static func marked(_ surroundings: Route.Surroundings, _ path: RoutePath) -> [(from: Double, until: Double)] {
    joined(
      path.vertices.indices.dropLast().filter { path.vertices[$0].surroundings == surroundings }.map {
        (path.vertexDistances[$0], path.vertexDistances[$0 + 1])
      })
  }

  /// In order of distance; adjacent ranges are merged.
  private static func joined(_ ranges: [(from: Double, until: Double)]) -> [(from: Double, until: Double)] {
    var result: [(from: Double, until: Double)] = []
    for range in ranges.sorted(by: { $0.from < $1.from }) {
      if let last = result.last, range.from <= last.until {
        result[result.count - 1].until = max(last.until, range.until)
      } else {
        result.append(range)
      }
    }
    return result
  }

  private static func range(
    _ stretch: SimulationSettings.Stretch, _ what: String, _ path: RoutePath
  ) throws(SimulationError) -> (from: Double, until: Double) {
    let until = stretch.from + stretch.length
    guard stretch.from >= 0, stretch.length > 0, until <= path.length + 1 else {
      throw SimulationError(
        .outside,
        "the \(what) from \(Drive.distanceText(stretch.from)) on for \(Drive.distanceText(stretch.length)) is not on "
          + "the route, which is \(Drive.distanceText(path.length)) long")
    }
    return (stretch.from, min(until, path.length))
  }
}
