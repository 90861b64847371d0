// SPDX-License-Identifier: Apache-2.0
package import Delivery
package import FleetEngine
package import HTTPMessages
import Positioning
import Release
package import Timekeeping

/// Everything that can be set, with the defaults applied: what a settings file means.
///
/// Where the core has a type for it, it is that type, and its default is the default of the setting. `docs/settings.md` says
/// the same to a reader; the table there is made from the declarations in `Sections` and `Sources`.
package struct Settings: Equatable, Sendable {
  /// Whose positions are reported, and to which service.
  package var vehicle = FleetEngineVehicle(service: .deliveries, providerID: "", vehicleID: "")
  /// In the order of preference; one or more.
  package var sources: [Source] = []
  /// How tokens are asked for.
  package var token = Token()
  /// Where positions go.
  package var fleetEngine = FleetEngine()
  /// What the core is to know, whole but for what only a running daemon has: the secrets in the headers of the token
  /// provider, and the key under which a token is kept.
  package var agent: VehicleAgent.Configuration
  /// The file of the backlog.
  package var store = StoreAgent.Configuration()
  /// How long the last update may take when the service stops.
  package var stopTimeout = Duration.seconds(3)
  /// What is less serious is not written to the journal.
  package var logLevel = Priority.info
  /// Path of a file for Prometheus' node exporter; nil writes none.
  package var metricsFile: String?

  /// The defaults, with nothing in place of what must be written.
  init() {
    agent = VehicleAgent.Configuration(
      context: nil, tokenProvider: TokenDraft().provider, filter: FixFilter.Configuration(buildDate: Release.buildDate),
      reporting: ReportingPolicy.Configuration(),
      delivery: DeliveryAgent.Configuration(
        endpoint: FleetEngineEndpoint(origin: fleetEngine.endpoint, vehicle: vehicle)))
  }

  /// Where fixes come from.
  package struct Source: Equatable, Sendable {
    package var kind: SourceKind
    /// A source that says nothing for this long is closed and opened again; 2 s to 10 min.
    package var silenceTimeout: Duration
  }

  /// How tokens are asked for, beside what the core knows of their provider.
  package struct Token: Equatable, Sendable {
    /// Where the value of a header comes from.
    package enum HeaderSource: Equatable, Sendable {
      case plain(String)
      /// The name of a systemd credential.
      case credential(String)
      /// Path of a file that others cannot read.
      case file(String)
    }

    /// A header of the request for a token.
    package struct Header: Equatable, Sendable {
      package var name: String
      /// Where its value comes from, which is read when the daemon starts and reloads.
      package var value: HeaderSource
    }

    /// Of the request, in the order of their names; those of the core's provider are made of them.
    package var headers: [Header] = []
    /// How a URL is reached. A request an hour gains nothing from HTTP/2.
    package var client = HTTPClientConfiguration(transport: .http1)
    /// Whether a restart goes on with the token in hand.
    package var isCached = true
  }

  /// Where positions go, beside what the core knows of it.
  package struct FleetEngine: Equatable, Sendable {
    /// `https://host[:port]` without a path, or `http://` to a loopback address.
    package var endpoint = "https://fleetengine.googleapis.com"
    /// How it is reached.
    package var client = HTTPClientConfiguration()
  }
}
