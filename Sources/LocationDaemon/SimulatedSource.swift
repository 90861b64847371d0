// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
package import Positioning
import Release
import RouteFile
package import Timekeeping

/// Simulates a drive along a route, as the session decides.
package final class SimulatedSource: SessionSource<DriveSession> {
  /// - Parameters:
  ///   - name: of the route, for messages.
  ///   - buildDate: start of the drive if the wall clock is not set.
  package init(
    loop: EventLoop, name: String, simulator: RouteSimulator, buildDate: Timestamp,
    report: @escaping (SourceReport) -> Void
  ) {
    super.init(
      loop: loop, session: DriveSession(name: name, simulator: simulator, buildDate: buildDate), report: report)
  }

  override func perform(_ report: SourceReport) { self.report(report) }
}

extension SimulatedSource {
  /// - Throws: exit code `configuration` if the route cannot be read, or a place of the settings is not on it;
  ///   `unavailable` if it does not exist.
  convenience init(_ settings: SimulatedSettings, _ context: FixSources.Context) throws(DaemonError) {
    self.init(
      loop: context.loop, name: settings.route, simulator: try SimulatedSource.simulator(settings, key: context.key),
      buildDate: Release.buildDate, report: context.report)
  }

  /// Reads the route and prepares the drive along it.
  ///
  /// - Parameter key: the source's key in the settings file, for messages.
  /// - Throws: as above.
  nonisolated static func simulator(_ settings: SimulatedSettings, key: String) throws(DaemonError) -> RouteSimulator {
    let route: Route
    do {
      route = try RouteFile.load(path: settings.route)
    } catch {
      throw DaemonError(ExitCode.ofFile(settings.route), "\(key).route: \(error.message)", cause: error)
    }
    do {
      return try RouteSimulator(route: route, settings: settings.drive)
    } catch {
      throw DaemonError(ExitCode.configuration, "\(key).route: \(settings.route): \(error.message)", cause: error)
    }
  }
}
