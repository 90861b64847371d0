// SPDX-License-Identifier: Apache-2.0
import Configuration
import SimulatedDrives
import RouteFile

extension RouteSimulator {
  /// Reads the route of the settings, and prepares the drive along it.
  ///
  /// - Parameter key: the source's key in the settings file, for messages.
  /// - Throws: exit code `configuration` if the route cannot be read, or a place that the settings name is not on it;
  ///   `unavailable` if it does not exist.
  nonisolated init(_ settings: SimulatedSettings, key: String) throws(DaemonError) {
    let route: Route
    do {
      route = try RouteFile.load(path: settings.route)
    } catch {
      throw DaemonError(ExitCode.ofFile(settings.route), "\(key).route: \(error.message)", cause: error)
    }
    do {
      try self.init(route: route, settings: settings.drive)
    } catch {
      throw DaemonError(ExitCode.configuration, "\(key).route: \(settings.route): \(error.message)", cause: error)
    }
  }
}
