// SPDX-License-Identifier: Apache-2.0
package import Configuration
package import EventLoop
import FleetEngine
package import HTTPMessages
import Release
import Timekeeping

/// Asks the Fleet Engine of some settings for the vehicle, through the proxy and with the issuers that the daemon uses, but
/// without a token: to see who answers.
///
/// It belongs to the loop's thread.
package final class FleetEngineInquiry {
  private let loop: EventLoop
  private let exchanges: ExchangeTable
  private let request: HTTPRequest

  /// - Throws: `DaemonError` when libcurl refuses a certificate file or proxy that the settings name.
  package init(_ settings: Settings, loop: EventLoop) throws(DaemonError) {
    self.loop = loop
    exchanges = try HTTPClients(settings, loop: loop).updates
    request =
      FleetEngineEndpoint(
        origin: settings.fleetEngine.endpoint, providerID: settings.vehicle.providerID,
        vehicleID: settings.vehicle.vehicleID, deadline: settings.fleetEngine.deadline
      ).greeting
  }

  /// Asks once.
  ///
  /// - Parameter completion: called once, in a later turn.
  package func ask(completion: @escaping (HTTPOutcome) -> Void) {
    exchanges.start(
      1, request, certificateTime: loop.now.wall < Release.buildDate ? Release.buildDate : nil, completion: completion)
  }
}
