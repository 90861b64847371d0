// SPDX-License-Identifier: Apache-2.0
import Reporting
import Delivery
package import Vehicle
package import FleetEngine
package import HTTPMessages
import Positioning
import Release
package import Timekeeping

/// The values of all settings, with defaults applied.
///
/// Types of the core are used directly, and their defaults are the defaults of the settings. `docs/settings.md` is
/// generated from the declarations in `Sections` and `Sources`.
package struct Settings: Equatable, Sendable {
  /// The vehicle, and the service of Fleet Engine.
  package var vehicle = FleetEngineVehicle(service: .deliveries, providerID: "", vehicleID: "")
  /// One or more, in the order of priority.
  package var sources: [Source] = []
  /// How tokens are requested.
  package var token = Token()
  /// The server that receives positions.
  package var fleetEngine = FleetEngine()
  /// The agent's configuration, without the values that only a running daemon has: the secrets in the headers of the
  /// token provider, and the key under which a token is cached.
  package var agent: VehicleAgent.Configuration
  /// The file of the backlog.
  package var store = StoreAgent.Configuration()
  /// Maximum time for the last update when the service stops.
  package var stopTimeout = Duration.seconds(3)
  /// Minimum priority of the events in the journal.
  package var logLevel = Priority.info
  /// Path of a file for Prometheus' node exporter; nil for none.
  package var metricsFile: String?
  /// Whether other programs on the machine may monitor the positions.
  package var servesPositions = false

  /// The defaults; required settings are empty.
  init() {
    agent = VehicleAgent.Configuration(
      context: nil, tokenProvider: TokenSection().provider,
      filter: FixFilter.Configuration(buildDate: Release.buildDate),
      reporting: ReportingPolicy.Configuration(),
      delivery: DeliveryAgent.Configuration(
        endpoint: FleetEngineEndpoint(origin: fleetEngine.endpoint, vehicle: vehicle),
        form: UpdateFormNegotiation.Configuration(release: Release.version)))
  }

  /// A source of fixes.
  package struct Source: Equatable, Sendable {
    package var kind: SourceKind
    /// A source that sends nothing for this time is closed and opened again; 2 s to 10 min.
    package var silenceTimeout: Duration
  }

  /// How tokens are requested, apart from the core's configuration of the provider.
  package struct Token: Equatable, Sendable {
    /// Where the value of a header comes from.
    package enum HeaderSource: Equatable, Sendable {
      case plain(String)
      /// The name of a systemd credential.
      case credential(String)
      /// Path of a file that other users cannot read.
      case file(String)
    }

    /// A header of the request for a token.
    package struct Header: Equatable, Sendable {
      package var name: String
      /// The source of its value, which is read when the daemon starts or reloads.
      package var valueSource: HeaderSource
    }

    /// The headers of the request, in the order of their names.
    package var headers: [Header] = []
    /// The connection to the URL. One request an hour does not need HTTP/2, nor probes of a connection that no later
    /// request uses.
    package var client = HTTPClientConfiguration(transport: .http1, keepAliveIdle: nil)
    /// Whether the token is cached for a restart.
    package var isCached = true
  }

  /// The connection to Fleet Engine, apart from the core's configuration.
  package struct FleetEngine: Equatable, Sendable {
    /// `https://host[:port]` without a path, or `http://` to a loopback address.
    package var endpoint = "https://fleetengine.googleapis.com"
    /// The connection to it.
    package var client = HTTPClientConfiguration()
  }
}
