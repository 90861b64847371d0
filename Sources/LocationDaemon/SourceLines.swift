// SPDX-License-Identifier: Apache-2.0
import Configuration
import Daemon
import SourceSelection
import EventLoop
import ExternalInput
import FixSources
import SimulatedDrives
import Release

extension Settings.Source: SourceIdentity {}

/// The lines of the sources, by their IDs: makes the lines, and performs what `Daemon` decides.
final class SourceLines {
  private let loop: EventLoop
  private weak var owner: (any LineOwner)?
  /// The lines in the order in which they were made. There are few, so a search is cheap.
  private var lines: [(id: Int, line: any SourceLine)] = []

  init(loop: EventLoop, owner: any LineOwner) {
    self.loop = loop
    self.owner = owner
  }

  /// Makes the sessions and lines that are new in a plan for these sources.
  ///
  /// - Returns: the sources for `Daemon`, which must be passed to it.
  /// - Throws: exit code `configuration` if a route or recording cannot be read, `unavailable` if it does not exist;
  ///   then nothing has changed. Receivers are not opened yet.
  func make(_ sources: [Settings.Source], _ plan: [Daemon.PlannedSource]) throws(DaemonError) -> [Daemon.Source] {
    var newLines: [(id: Int, line: any SourceLine)] = []
    var daemonSources: [Daemon.Source] = []
    for (index, (source, planned)) in zip(sources, plan).enumerated() {
      var session: (any SourceSession)?
      if planned.isNew {
        let key = SourceLines.key(index, of: sources.count)
        let (description, line) = try make(source, key: key, id: planned.id)
        session = description.session(
          silenceTimeout: source.silenceTimeout, seed: UInt64.random(in: .min ... .max))
        if let line { newLines.append((planned.id, line)) }
      }
      daemonSources.append(Daemon.Source(source, source.configured(id: planned.id), session: session))
    }
    // Those of settings that were prepared and then not used have the same IDs.
    lines.removeAll { unused in newLines.contains { $0.id == unused.id } }
    lines += newLines
    return daemonSources
  }

  func perform(_ operation: LineOperation, of id: Int) {
    guard let index = lines.firstIndex(where: { $0.id == id }) else { return }
    let line = lines[index].line
    if case .end = operation { lines.remove(at: index) }
    line.perform(operation)
  }

  /// The key of a source in the settings file.
  nonisolated static func key(_ index: Int, of count: Int) -> String { count > 1 ? "source[\(index + 1)]" : "source" }

  /// Checks the settings of a source without making it: an invalid route is a mistake in the settings.
  ///
  /// - Parameter key: its key in the settings file, for messages.
  /// - Throws: as `make`.
  nonisolated static func check(_ settings: Settings.Source, key: String) throws(DaemonError) {
    switch settings.kind {
    case .simulated(let simulated): _ = try RouteSimulator(simulated, key: key)
    // A receiver may be plugged in later, and a recording may be a pipe that appears later.
    case .serial, .gpsd, .nmeaTCP, .nmeaUDP, .modemManager, .replay: break
    }
  }

  // MARK: - The kinds

  private func make(
    _ settings: Settings.Source, key: String, id: Int
  ) throws(DaemonError) -> (SourceDescription, (any SourceLine)?) {
    guard let owner else { throw DaemonError(ExitCode.system, "the daemon has ended") }
    let handlers = LineHandlers(owner: owner, id: id)
    switch settings.kind {
    case .serial(let serial):
      return (
        .serial(device: serial.device, baud: serial.baud),
        SerialLine(loop: loop, device: serial.device, handlers: handlers)
      )
    case .gpsd(let gpsd):
      let line = ConnectionLine(
        .gpsd, loop: loop, host: gpsd.address.host, port: gpsd.address.port, handlers: handlers)
      return (.gpsd(address: line.name, isLocal: gpsd.address.isLocal, device: gpsd.device), line)
    case .nmeaTCP(let tcp):
      guard let listen = tcp.listen else {
        // The settings have either `listen` or `address`.
        let line = ConnectionLine(
          .sender, loop: loop, host: tcp.address?.host ?? "localhost", port: tcp.address?.port ?? 10_110,
          handlers: handlers)
        return (.network(name: settings.kind.name, .connection, allow: tcp.allow), line)
      }
      return network(
        .listen(host: listen.host, port: listen.port, maximumConnections: tcp.maxConnections), name: settings.kind.name,
        allow: tcp.allow, handlers)
    case .nmeaUDP(let udp): return network(.init(udp), name: settings.kind.name, allow: udp.allow, handlers)
    case .modemManager(let modem): return (.modem(modem.selection), ModemManagerLine(loop: loop, handlers: handlers))
    case .simulated(let simulated):
      let simulator = try RouteSimulator(simulated, key: key)
      return (.drive(name: simulated.route, simulator, buildDate: Release.buildDate), nil)
    case .replay(let replay):
      let line = try RecordingLine(loop: loop, key: key, file: replay.file, handlers: handlers)
      return (.recording(name: line.name, pace: replay.pace, shiftsTimes: replay.shiftsTimes), line)
    }
  }

  private func network(
    _ endpoint: NMEANetworkLine.Endpoint, name: String, allow: [AddressRange], _ handlers: LineHandlers
  ) -> (SourceDescription, any SourceLine) {
    (
      .network(name: name, endpoint.transport, allow: allow),
      NMEANetworkLine(loop: loop, endpoint: endpoint, handlers: handlers)
    )
  }
}

extension Settings.Source {
  fileprivate func configured(id: Int) -> SourceSelector.ConfiguredSource {
    var waitsAfterFix = false
    if case .replay(let replay) = kind { waitsAfterFix = replay.pace == 0 }
    return SourceSelector.ConfiguredSource(
      id: id, label: kind.name, silenceTimeout: silenceTimeout, waitsAfterFix: waitsAfterFix, pace: kind.pace)
  }
}
