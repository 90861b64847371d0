// SPDX-License-Identifier: Apache-2.0
package import Configuration
package import Positioning

extension SimulationSettings {
  /// What the settings file says, as the simulator takes it.
  package init(_ settings: Settings.Source.Simulated) {
    self.init()
    speed = settings.speed
    acceleration = settings.acceleration
    braking = settings.braking
    lateral = settings.cornering
    pace = settings.pace
    headStart = settings.headStart
    loops = settings.loop
    noise = settings.noise
    seed = settings.seed
    clockOffset = settings.clockOffset
    stops = settings.stops.map { stop in
      switch stop.place {
      case .distance(let metres): Stop(.distance(metres), dwell: stop.dwell)
      case .waypoint(let name): Stop(.waypoint(name), dwell: stop.dwell)
      }
    }
    tunnels = settings.tunnels.map { Stretch(from: $0.from, length: $0.length) }
    canyons = settings.canyons.map {
      Canyon(Stretch(from: $0.stretch.from, length: $0.stretch.length), noise: $0.noise)
    }
  }
}
