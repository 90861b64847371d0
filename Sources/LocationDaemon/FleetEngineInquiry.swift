// SPDX-License-Identifier: Apache-2.0
package import Configuration
import Delivery
package import EventLoop
package import FleetEngine
package import HTTPMessages
import Release
import Timekeeping

/// Asks the Fleet Engine of some settings, through the proxy and with the issuers that the daemon uses: for the vehicle and
/// without a token, to see who answers; then with a token for an update of nothing, to see whether it is taken.
package final class FleetEngineInquiry {
  private let loop: EventLoop
  private let exchanges: ExchangeTable
  private let endpoint: FleetEngineEndpoint
  private var asked: UInt64 = 0

  /// - Throws: `DaemonError` when libcurl refuses a certificate file or proxy that the settings name.
  package init(_ settings: Settings, loop: EventLoop) throws(DaemonError) {
    self.loop = loop
    exchanges = try HTTPClients(settings, loop: loop).updates
    endpoint = settings.agent.delivery.endpoint
  }

  /// Asks without a token who answers.
  ///
  /// - Parameter completion: called once, in a later turn.
  package func greet(completion: @escaping (HTTPOutcome) -> Void) {
    ask(endpoint.greeting, completion)
  }

  /// Asks for an update that changes nothing.
  ///
  /// - Parameter completion: called once, in a later turn.
  package func tryUpdate(with token: Secret, completion: @escaping (UpdateOutcome) -> Void) {
    ask(endpoint.dryRun(token: token)) { [endpoint] in
      completion(UpdateOutcome($0, from: endpoint.vehicle.service))
    }
  }

  private func ask(_ request: HTTPRequest, _ completion: @escaping (HTTPOutcome) -> Void) {
    asked += 1
    var request = request
    request.certificateTime = CertificateTime.at(loop.now, buildDate: Release.buildDate)
    exchanges.start(asked, request, completion: completion)
  }
}
