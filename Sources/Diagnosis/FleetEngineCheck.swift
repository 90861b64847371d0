// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Configuration
import Delivery
import EventLoop
import FleetEngine
import HTTPMessages
import LocationDaemon
import StreamSocket
import Timekeeping
import SystemCalls

/// The way to Fleet Engine, step by step: the name, the connection, encryption, who answers, its clock, and whether it takes
/// the token.
struct FleetEngineCheck: Check {
  private static let patience = Duration.seconds(10)

  let settings: Settings
  let surroundings: Doctor.Surroundings
  let token: TokenInHand

  var title: String {
    "Fleet Engine: \(settings.fleetEngine.endpoint)"
      + (settings.fleetEngine.client.proxy.map { " through \($0)" } ?? "")
  }

  func run(_ report: (Finding) -> Void) {
    do {
      guard try isReached(report) else { return }
      let loop = surroundings.loop
      let inquiry = try FleetEngineInquiry(settings, loop: loop)
      var outcome: HTTPOutcome?
      inquiry.greet { outcome = $0 }
      // The request has its own deadline; this one is for a loop that does not keep it.
      try loop.turn(until: loop.now.boot + settings.agent.delivery.endpoint.deadline + .seconds(2)) { outcome != nil }
      let end = outcome ?? .failure(TransportFailure(.timedOut, "no answer"))
      let findings = FleetEngineFindings.findings(end, settings: settings.fleetEngine, at: loop.now)
      for finding in findings { report(finding) }
      guard let secret = token.secret, !findings.contains(where: { $0.verdict == .fail }) else { return }
      var update: UpdateOutcome?
      inquiry.tryUpdate(with: secret) { update = $0 }
      try loop.turn(until: loop.now.boot + settings.agent.delivery.endpoint.deadline + .seconds(2)) { update != nil }
      let silence = UpdateFailure(.network, "no answer", from: settings.vehicle.service)
      report(FleetEngineFindings.finding(update ?? .failed(silence), settings.vehicle))
    } catch let error as DaemonError {
      report(.fail(error.message, "Check fleet_engine.ca_file and fleet_engine.proxy"))
    } catch {
      report(.fail("\(error)", "Close other programs, and try again"))
    }
  }

  /// The name and the connection to the first party on the way, which the HTTP client's own words would not keep apart.
  private func isReached(_ report: (Finding) -> Void) throws -> Bool {
    guard let hop = settings.fleetEngine.firstHop else { return true }
    let what = settings.fleetEngine.client.proxy == nil ? "" : "the proxy "
    let loop = surroundings.loop
    let lookup = HostLookup(loop: loop, host: hop.host, port: hop.port)
    var found: StreamSocketError??
    lookup.probe { found = .some($0) }
    try loop.turn(until: loop.now.boot + FleetEngineCheck.patience) { found != nil }
    guard case .some(nil) = found else {
      let message =
        found??.message ?? "\(hop.host): no name server answers in \(FleetEngineCheck.patience.wholeSeconds) s"
      report(
        .fail(
          "\(what)\(message)", "Check the name servers and the network: resolvectl status, getent hosts \(hop.host)"))
      return false
    }
    report(.pass("\(what)\(hop.host) has an address"))
    var isConnected = false
    var failure: StreamSocketError?
    let socket = StreamSocket(
      loop: loop, lookup: lookup, deadline: FleetEngineCheck.patience, onConnected: { isConnected = true },
      onBytes: { _ in }, onEnd: { failure = $0 })
    defer { socket.close() }
    try loop.turn(until: loop.now.boot + FleetEngineCheck.patience + .seconds(1)) { isConnected || failure != nil }
    guard isConnected else {
      let message = failure?.message ?? "\(lookup.name): no answer"
      report(
        .fail("\(what)\(message)", "Check the network, and the firewall between: it must let TCP to this port through"))
      return false
    }
    report(.pass("\(what)\(lookup.name) takes the connection"))
    return true
  }
}
