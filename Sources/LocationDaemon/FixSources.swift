// SPDX-License-Identifier: Apache-2.0
import Configuration
import EventLoop
import Positioning
import Release
import RouteFile

/// Makes the sources that the settings name.
enum FixSources {
  /// - Parameter key: what the settings file calls it, for messages.
  /// - Throws: exit code `configuration` when a route or recording cannot be read. A receiver is not opened yet: it may be
  ///   plugged in later.
  static func make(
    _ settings: Settings.Source, key: String, loop: EventLoop, report: @escaping (SourceReport) -> Void
  ) throws(DaemonError) -> any FixSource {
    switch settings.kind {
    case .gpsd(let gpsd):
      return GPSDSource(
        loop: loop, host: gpsd.host, port: gpsd.port, device: gpsd.device, silenceTimeout: settings.silenceTimeout,
        report: report)
    case .serial(let device, let baud):
      let speed: Int? = if case .fixed(let speed) = baud { speed } else { nil }
      return SerialSource(
        loop: loop, device: device, baud: speed, silenceTimeout: settings.silenceTimeout, report: report)
    case .simulated(let simulated):
      let route: Route
      do {
        route = try RouteFile.load(path: simulated.route)
      } catch {
        throw DaemonError(ExitCode.configuration, "\(key).route: \(error.message)", cause: error)
      }
      let simulator: RouteSimulator
      do {
        simulator = try RouteSimulator(route: route, settings: SimulationSettings(simulated))
      } catch {
        throw DaemonError(ExitCode.configuration, "\(key).route: \(simulated.route): \(error.message)", cause: error)
      }
      return SimulatedSource(
        loop: loop, name: simulated.route, simulator: simulator, buildDate: Release.buildDate, report: report)
    case .replay(let replay):
      return try ReplaySource(
        loop: loop, key: key, file: replay.file, pace: replay.pace, shiftsTimes: replay.time == .shift, report: report)
    }
  }
}
