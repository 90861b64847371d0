// SPDX-License-Identifier: Apache-2.0
import Authorization
package import Configuration
package import FleetEngine
import HTTPMessages
package import Positioning
import Release
import Delivery
import ServiceManager

extension VehicleAgent.Configuration {
  /// What the settings mean to the core.
  ///
  /// - Throws: exit code `configuration` when a credential or secret file that they name cannot be used.
  init(_ settings: Settings) throws(DaemonError) {
    let reporting = ReportingPolicy.Configuration(
      interval: settings.reporting.interval, heartbeat: settings.reporting.heartbeat,
      distance: settings.reporting.distance, heading: settings.reporting.heading)
    self.init(
      context: settings.vehicle.fleetEngine.tokenContext,
      tokenProvider: try TokenProvider(settings.token),
      filter: FixFilter.Configuration(settings),
      reporting: reporting,
      delivery: DeliveryAgent.Configuration(
        endpoint: FleetEngineEndpoint(
          origin: settings.fleetEngine.endpoint, vehicle: settings.vehicle.fleetEngine,
          positionField: settings.fleetEngine.positionField == .location ? .location : .supplemental,
          deadline: settings.fleetEngine.deadline),
        floor: reporting.floor, interval: reporting.interval, batch: settings.backlog.batch,
        maxLocations: settings.backlog.maxLocations, maxBytes: settings.backlog.maxBytes,
        maxAge: settings.backlog.maxAge),
      drainLimit: settings.reporting.drainTimeout)
    needsNetwork = !settings.fleetEngine.isLoopback
    tellsPositions = settings.log.positions
    if settings.token.isCached { tokenKey = KeptToken.Key(context, tokenProvider) }
  }
}

extension Settings.Vehicle {
  /// The vehicle as Fleet Engine knows it.
  package var fleetEngine: FleetEngineVehicle {
    FleetEngineVehicle(service: .deliveries, providerID: providerID, vehicleID: vehicleID)
  }
}

extension Settings.Backlog {
  /// What of `max_size` is for positions, whether there is a file or not; the rest is its log's.
  fileprivate var maxBytes: Int { Int(clamping: max(maxSize - 1_048_576, 0)) }
}

extension FixFilter.Configuration {
  /// What the settings mean to the filter.
  package init(_ settings: Settings) {
    self.init(
      maxAccuracy: settings.filter.maxAccuracy, maxSpeed: settings.filter.maxSpeed,
      maxHDOP: settings.filter.maxHDOP, minSatellites: settings.filter.minSatellites,
      maxAge: settings.filter.maxAge, buildDate: Release.buildDate,
      // Only a recording that is alone keeps its times.
      keepsTimes: settings.sources.allSatisfy(\.keepsTimes))
  }
}

extension Settings.Source {
  /// Whether fixes keep the times of a recording.
  fileprivate var keepsTimes: Bool {
    if case .replay(let replay) = kind { return replay.time == .keep }
    return false
  }
}

extension TokenProvider {
  /// What the settings mean to the core.
  ///
  /// - Throws: exit code `configuration` when a credential or secret file that they name cannot be used.
  init(_ settings: Settings.Token) throws(DaemonError) {
    let format = TokenResponseFormat(settings)
    switch settings.provider {
    case .http(let http):
      var headers = [HTTPRequest.Header]()
      for header in http.headers {
        headers.append(HTTPRequest.Header(header.name, try TokenProvider.value(of: header)))
      }
      self = .http(
        TokenEndpoint(
          urlTemplate: http.url, method: http.method == .post ? .post : .get, bodyTemplate: http.body,
          headers: headers, format: format, deadline: settings.deadline))
    case .command(let arguments):
      self = .command(TokenCommand(arguments: arguments, format: format, deadline: settings.deadline))
    case .file(let path):
      self = .file(TokenFile(path: path, format: format))
    }
  }

  private static func value(of header: Settings.Token.Header) throws(DaemonError) -> HTTPRequest.HeaderValue {
    do {
      switch header.value {
      case .plain(let text): return .plain(text)
      case .credential(let name): return .secret(prefix: "", try Credentials().credential(named: name))
      case .file(let path): return .secret(prefix: "", try Credentials().secret(inFile: path))
      }
    } catch {
      throw DaemonError(
        ExitCode.configuration, "token.headers.\(header.name): \(error.message)", cause: error)
    }
  }
}

extension TokenResponseFormat {
  fileprivate init(_ settings: Settings.Token) {
    let expiration: Expiration =
      switch settings.expirationFormat {
      case .epochSeconds: .epochSeconds
      case .epochMilliseconds: .epochMilliseconds
      case .seconds: .relativeSeconds
      case .rfc3339: .rfc3339
      case .jwt: .jwt
      case .auto: .automatic
      }
    self.init(
      tokenKey: settings.tokenKey, expirationKey: settings.expirationKey, expiration: expiration,
      creationKey: settings.creationKey)
  }
}
