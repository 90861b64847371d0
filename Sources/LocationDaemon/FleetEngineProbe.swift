// SPDX-License-Identifier: Apache-2.0
import Delivery
package import Configuration
import Vehicle
package import EventLoop
package import FleetEngine
package import HTTPMessages
import Release
import Timekeeping

/// Test requests to Fleet Engine with the daemon's settings, proxy and certificates: a request without a token, to see
/// which server answers, and an update that changes nothing, to see whether its token is accepted.
package final class FleetEngineProbe {
  /// How far this machine's clock is ahead; nil if that is unknown. Certificates are verified at the corrected time
  /// while the clock is unset.
  package var clockError: Duration?
  private let loop: EventLoop
  private let exchanges: ExchangeTable
  private let endpoint: FleetEngineEndpoint
  private var lastID: UInt64 = 0

  /// - Throws: `DaemonError` if libcurl rejects a certificate file or proxy that the settings name.
  package init(_ settings: Settings, loop: EventLoop) throws(DaemonError) {
    self.loop = loop
    exchanges = try HTTPClients(settings, loop: loop).updates
    endpoint = settings.agent.delivery.endpoint
  }

  /// Makes a request without a token.
  ///
  /// - Parameter completion: called once, in a later iteration of the loop.
  package func requestWithoutToken(completion: @escaping (HTTPOutcome) -> Void) {
    ask(endpoint.probe, completion)
  }

  /// Sends an update that changes nothing.
  ///
  /// - Parameter completion: called once, in a later iteration of the loop.
  package func tryUpdate(with token: Secret, completion: @escaping (UpdateOutcome) -> Void) {
    ask(endpoint.dryRun(token: token)) { [vehicle = endpoint.vehicle] in
      completion(UpdateOutcome($0, of: vehicle))
    }
  }

  private func ask(_ request: HTTPRequest, _ completion: @escaping (HTTPOutcome) -> Void) {
    lastID += 1
    var request = request
    let now = loop.now
    request.certificateTime = CertificateTime.at(now, buildDate: Release.buildDate, clockError: clockError)
    let id = lastID
    exchanges.start(id, request) { [weak exchanges] in
      exchanges?.requestEnded(id)
      completion($0)
    }
  }
}
