// SPDX-License-Identifier: Apache-2.0
import Vehicle
import AgentTesting
import SourceSelection
import EventLoop
import ExternalInput
import FixSources
import NMEA
import Testing
import Timekeeping

@testable import Daemon
@testable import LocationDaemon

/// A daemon with one source, whose line is on the test's event loop; passes on the source's reports.
final class SourceRig: LineOwner {
  private struct Settings: SourceIdentity, Equatable {}

  private enum Pending {
    case input(Daemon.Input)
    case read
  }

  private let loop: EventLoop
  private let report: (SourceReport) -> Void
  private var daemon: Daemon
  private var session: (any SourceSession)?
  private(set) var line: (any SourceLine)?
  private var timer: LoopTimer?
  private var pending: [Pending] = []
  private var isStepping = false

  /// - Parameter line: creates the line; returns nil for a source without one.
  init(
    _ loop: EventLoop, _ session: any SourceSession, line: (LineHandlers) throws -> (any SourceLine)?,
    report: @escaping (SourceReport) -> Void
  ) throws {
    self.loop = loop
    self.session = session
    self.report = report
    daemon = Daemon(
      running: Daemon.Configuration(vehicle: try AgentFixture.configuration(), store: .init(), settingsText: nil),
      seed: 1)
    self.line = try line(LineHandlers(owner: self, id: 1))
  }

  func pass(_ input: SourceInput, of id: Int) { pass(.line(id, input)) }

  func receive(_ bytes: Span<UInt8>, from sender: SourceSender, of id: Int) {
    call { $0.receive(bytes, from: sender, of: id, at: loop.now, observer: $1) }
  }

  func admit(_ address: IPAddress, to id: Int) -> NMEANetworkSession.Admission? {
    defer { arm() }
    return daemon.admit(address, to: id, at: loop.now.boot)
  }

  /// Adds the source to the daemon, which opens it.
  func start() throws {
    timer = try loop.makeTimer { [weak self] in self?.pass(.deadline) }
    let configured = SourceSelector.ConfiguredSource(id: 1, label: "source", silenceTimeout: .seconds(10))
    pass(.sources([Daemon.Source(Settings(), configured, session: session)]))
    session = nil
  }

  /// Removes the source, as new settings without it would.
  func stop() {
    pass(.sources([]))
    timer?.close()
    timer = nil
  }

  /// When the source's session must handle `deadline`.
  var nextDeadline: BootInstant? { daemon.run?.sources.nextDeadline }

  var lineStatistics: LineStatistics? { daemon.run?.lines.first?.statistics }

  private func pass(_ input: Daemon.Input) {
    pending.append(.input(input))
    step()
  }

  private func step() {
    guard !isStepping else { return }
    while !pending.isEmpty {
      switch pending.removeFirst() {
      case .input(let input): call { $0.handle(input, at: loop.now, observer: $1) }
      case .read: line?.perform(.read)
      }
    }
  }

  private func call(_ body: (inout Daemon, @escaping Daemon.Observer) -> [Daemon.Effect]) {
    let wasStepping = isStepping
    isStepping = true
    var reports: [SourceReport] = []
    let effects = body(&daemon) { message, _ in
      if case .toVehicle(.source(1, let report)) = message { reports.append(report) }
    }
    for effect in effects {
      guard case .line(_, let operation) = effect else { continue }
      if operation == .read { pending.append(.read) } else { line?.perform(operation) }
    }
    arm()
    for report in reports { self.report(report) }
    isStepping = wasStepping
    step()
  }

  private func arm() {
    if let deadline = daemon.nextDeadline { timer?.arm(at: deadline) } else { timer?.disarm() }
  }
}
