// SPDX-License-Identifier: Apache-2.0
import Delivery
import ExternalInput
import Configuration
import Vehicle
import EventLoop
import FleetEngine
import HTTPMessages
import LocationDaemon
import StreamSocket
import Timekeeping
import SystemCalls

/// The connection to Fleet Engine, step by step: name resolution, TCP, TLS, which server answers, its clock, and
/// whether it accepts the token.
struct FleetEngineCheck: Check {
  private static let connectTimeout = Duration.seconds(10)

  let settings: Settings
  let environment: Doctor.Environment
  let token: FetchedToken

  var subject: Doctor.Subject { .fleetEngine }
  var title: String {
    "Fleet Engine: \(settings.fleetEngine.endpoint)"
      + (settings.fleetEngine.client.proxy.map { " through \($0)" } ?? "")
  }

  func run(_ report: (Finding) -> Void) {
    do {
      guard try checkConnection(report) else { return }
      let loop = environment.loop
      let probe = try FleetEngineProbe(settings, loop: loop)
      probe.clockError = environment.clockError
      var outcome: HTTPOutcome?
      probe.requestWithoutToken { outcome = $0 }
      // The request has its own deadline; this one is a safeguard.
      try loop.run(until: loop.now.boot + settings.agent.delivery.endpoint.deadline + .seconds(2)) { outcome != nil }
      let end = outcome ?? .failure(TransportFailure(.timedOut, "no response"))
      let findings = FleetEngineFindings.findings(end, settings: settings.fleetEngine, at: loop.now)
      for finding in findings { report(finding) }
      guard let secret = token.secret, !findings.contains(where: { $0.severity == .fail }) else { return }
      var update: UpdateOutcome?
      probe.tryUpdate(with: secret) { update = $0 }
      try loop.run(until: loop.now.boot + settings.agent.delivery.endpoint.deadline + .seconds(2)) { update != nil }
      let silence = UpdateFailure(.network, "no response", from: settings.vehicle.service)
      report(FleetEngineFindings.finding(update ?? .failed(silence)))
    } catch let error as DaemonError {
      report(.fail(.clientSettings, error.message, "Check fleet_engine.ca_file and fleet_engine.proxy"))
    } catch {
      report(.fail(.checkFailed, "\(error)", "Close other programs, and try again"))
    }
  }

  /// Name resolution and TCP connection to the endpoint or its proxy, as separate findings, which the HTTP client's
  /// errors would not distinguish.
  private func checkConnection(_ report: (Finding) -> Void) throws -> Bool {
    guard let hop = settings.fleetEngine.firstHop else { return true }
    let what = settings.fleetEngine.client.proxy == nil ? "" : "the proxy "
    let loop = environment.loop
    let lookup = HostLookup(loop: loop, host: hop.host, port: hop.port)
    var lookupResult: StreamSocketError??
    lookup.probe { lookupResult = .some($0) }
    try loop.run(until: loop.now.boot + FleetEngineCheck.connectTimeout) { lookupResult != nil }
    guard case .some(nil) = lookupResult else {
      let message =
        lookupResult??.message
        ?? "\(hop.host): no name server answered within \(FleetEngineCheck.connectTimeout.wholeSeconds) s"
      report(
        .fail(
          .nameUnresolved, "\(what)\(message)",
          "Check the name servers (/etc/resolv.conf) and the network: getent hosts \(hop.host)"))
      return false
    }
    report(.pass("\(what)\(hop.host) resolves to an address"))
    var isConnected = false
    var failure: StreamSocketError?
    let socket = StreamSocket(
      loop: loop, lookup: lookup, deadline: FleetEngineCheck.connectTimeout, onConnected: { isConnected = true },
      onBytes: { _ in }, onEnd: { failure = $0 })
    defer { socket.close() }
    try loop.run(until: loop.now.boot + FleetEngineCheck.connectTimeout + .seconds(1)) {
      isConnected || failure != nil
    }
    guard isConnected else {
      let message = failure?.message ?? "\(lookup.name): no response"
      report(
        .fail(
          .unreachable, "\(what)\(message)",
          failure?.code == .refused
            ? FleetEngineCheck.refusedAdvice(hop.host)
            : "Check the network, and the firewall (also IPAddressDeny= of the unit): it must allow TCP to this port"))
      return false
    }
    report(.pass("\(what)\(lookup.name) accepts connections"))
    return true
  }

  /// - Parameter host: a name, or an address, which no name server can replace.
  nonisolated static func refusedAdvice(_ host: String) -> String {
    IPAddress(host) == nil
      ? "Check its address with getent hosts \(host): /etc/hosts or a filtering name server may replace it; and "
        + "the firewall"
      : "Nothing listens at this address and port: check both in the settings, the program there, and the firewall"
  }
}
