// SPDX-License-Identifier: Apache-2.0
import Configuration
import EventLoop
import Positioning

/// Makes the sources of the settings.
enum FixSources {
  /// The parameters that all kinds of source have.
  struct Context {
    /// Its key in the settings file, for messages.
    var key: String
    var loop: EventLoop
    var silenceTimeout: Duration
    var report: (SourceReport) -> Void
  }

  /// Checks the settings of a source without making it: an invalid route is a mistake in the settings.
  ///
  /// - Parameter key: its key in the settings file, for messages.
  /// - Throws: as `make`.
  nonisolated static func check(_ settings: Settings.Source, key: String) throws(DaemonError) {
    switch settings.kind {
    case .simulated(let simulated): _ = try SimulatedSource.simulator(simulated, key: key)
    // A receiver may be plugged in later, and a recording may be a pipe that appears later.
    case .serial, .gpsd, .nmeaTCP, .nmeaUDP, .modemManager, .replay: break
    }
  }

  /// - Parameter key: its key in the settings file, for messages.
  /// - Throws: exit code `configuration` if a route or recording cannot be read. A receiver is not opened yet.
  static func make(
    _ settings: Settings.Source, key: String, loop: EventLoop, report: @escaping (SourceReport) -> Void
  ) throws(DaemonError) -> any FixSource {
    let context = Context(key: key, loop: loop, silenceTimeout: settings.silenceTimeout, report: report)
    switch settings.kind {
    case .serial(let serial): return SerialSource(serial, context)
    case .gpsd(let gpsd): return GPSDSource(gpsd, context)
    case .nmeaTCP(let tcp): return NMEANetworkSource(tcp, context)
    case .nmeaUDP(let udp): return NMEANetworkSource(udp, context)
    case .modemManager(let modem): return ModemManagerSource(modem, context)
    case .simulated(let simulated): return try SimulatedSource(simulated, context)
    case .replay(let replay): return try ReplaySource(replay, context)
    }
  }
}
