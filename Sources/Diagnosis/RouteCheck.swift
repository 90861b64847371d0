// SPDX-License-Identifier: Apache-2.0
import Configuration
import LocationDaemon
import Positioning
import RouteFile
import Timekeeping

/// A simulated drive: its route can be read, and what the settings want of it is on it.
struct RouteCheck: Check {
  let name: String
  let settings: SimulatedSettings

  var title: String { "\(name): simulated drive along \(settings.route)" }

  func run(_ report: (Finding) -> Void) {
    do {
      let route = try RouteFile.load(path: settings.route)
      let simulator = try RouteSimulator(route: route, settings: settings.drive)
      let time = simulator.duration.map { "takes \($0.wholeSeconds) s" } ?? "goes on for ever"
      report(.pass("a route of \(route.points.count) points; the drive \(time)"))
      report(.warn("the positions are made up", "For a real vehicle name its receiver: docs/receivers.md"))
    } catch {
      report(.fail("\(error)", "Check source.route and what is asked of it"))
    }
  }
}
