// SPDX-License-Identifier: Apache-2.0
import Configuration
import ExternalInput
import SimulatedDrives
import RouteFile
import Timekeeping

/// Whether the route of a simulated drive can be read, and has the places that the settings name.
struct RouteCheck: Check {
  let name: String
  let settings: SimulatedSettings

  var subject: Doctor.Subject { .source }
  var title: String { "\(name): simulated drive along \(settings.route)" }

  func run(_ report: (Finding) -> Void) {
    do {
      let route = try RouteFile.load(path: settings.route)
      let simulator = try RouteSimulator(route: route, settings: settings.drive)
      let time = simulator.duration.map { "takes \($0.wholeSeconds) s" } ?? "repeats without end"
      report(.pass("a route of \(route.points.count) points; the drive \(time)"))
      report(
        .warn(
          .simulated, "the positions are simulated",
          "For a real vehicle configure its receiver: \(ManualPage.receivers)"))
    } catch {
      report(.fail(.fileUnreadable, "\(error)", "Check source.route, and the places in the other settings"))
    }
  }
}
