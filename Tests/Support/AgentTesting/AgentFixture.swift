// SPDX-License-Identifier: Apache-2.0
import FixSources
package import Authorization
package import SourceSelection
import Reporting
package import PositionBacklog
import Delivery
import Observability
package import Vehicle
import ExternalInput
import FleetEngine
import FoundationEssentials
package import HTTPMessages
import Positioning
package import Timekeeping

/// A vehicle agent with a clock, a drive and responses for tests.
package struct AgentFixture {
  /// Wall-clock time at boot.
  package static let start = Timestamp(seconds: 1_796_083_200)
  /// The only source.
  package static let source = SourceSelector.ConfiguredSource(id: 0, label: "/dev/gps0", silenceTimeout: .seconds(10))
  /// Fleet Engine's response to an accepted update.
  package static let accepted = HTTPOutcome.response(HTTPResponse(status: 200, body: [UInt8](#"{"name":"v"}"#.utf8)))
  /// The outcome of a request without a route.
  package static let unreachable = HTTPOutcome.failure(TransportFailure(.unreachable, "no route to host"))

  /// The agent under test.
  package var agent: VehicleAgent
  /// Seconds since boot.
  package var now = 0.0
  /// The longitude of the drive.
  package var longitude = 11.0
  private var serial = 0

  private struct PoleReached: Error {}

  /// Makes an agent whose source is being read and has not reported a fix yet.
  package init(_ change: (inout VehicleAgent.Configuration) throws -> Void = { _ in }) throws {
    var configuration = try AgentFixture.configuration()
    try change(&configuration)
    agent = VehicleAgent(configuration, seed: 1)
    _ = agent.handle(.sources([AgentFixture.source]), at: moment)
    _ = agent.handle(.source(0, .reading("/dev/gps0")), at: moment)
  }

  /// The default configuration, with a token provider and a Fleet Engine.
  package static func configuration(vehicle: String = "truck-1") throws -> VehicleAgent.Configuration {
    VehicleAgent.Configuration(
      context: AuthorizationContext(providerID: "p", scope: .deliveryVehicle(vehicle)),
      tokenProvider: .http(
        TokenEndpoint(
          urlTemplate: "https://t.test/{vehicle_id}",
          format: TokenResponseFormat(tokenKey: "token", expirationKey: "seconds", expiration: .relativeSeconds))),
      filter: FixFilter.Configuration(buildDate: Timestamp(seconds: 1_795_219_200)),
      reporting: ReportingPolicy.Configuration(),
      delivery: DeliveryAgent.Configuration(
        endpoint: FleetEngineEndpoint(
          origin: "https://e.test",
          vehicle: FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: vehicle))))
  }

  /// The same configuration for a vehicle of on-demand trips.
  package static func tripsConfiguration(vehicle: String = "truck-1") throws -> VehicleAgent.Configuration {
    var configuration = try configuration(vehicle: vehicle)
    let taxi = FleetEngineVehicle(service: .trips, providerID: "p", vehicleID: vehicle)
    configuration.context = taxi.tokenContext
    configuration.delivery.endpoint = FleetEngineEndpoint(origin: "https://e.test", vehicle: taxi)
    return configuration
  }

  /// `now`, and the time of a correct wall clock.
  package var moment: Moment { AgentFixture.moment(now) }

  private static func moment(_ second: Double) -> Moment {
    let elapsed = Duration.milliseconds(Int64((second * 1000).rounded()))
    return Moment(boot: .boot + elapsed, wall: AgentFixture.start + elapsed)
  }

  /// The agent's snapshot at this time.
  /// - Parameter second: seconds since boot; nil: `now`.
  package func snapshot(at second: Double? = nil) -> VehicleAgent.Snapshot {
    agent.snapshot(at: AgentFixture.moment(second ?? now))
  }

  /// A rejection by Fleet Engine with the message "no".
  /// - Parameter status: such as `PERMISSION_DENIED`.
  package static func error(_ http: Int, _ status: String) -> HTTPOutcome {
    .response(HTTPResponse(status: http, body: [UInt8](#"{"error":{"status":"\#(status)","message":"no"}}"#.utf8)))
  }

  /// The next token of the provider, different each time.
  /// - Parameter life: in seconds.
  package mutating func token(vehicle: String = "truck-1", life: Int = 3600) -> TokenOutcome {
    serial += 1
    // Base64url of {"authorization":{"deliveryvehicleid":"…","vehicleid":"…"}}.
    let payload =
      vehicle == "truck-1"
      ? "eyJhdXRob3JpemF0aW9uIjp7ImRlbGl2ZXJ5dmVoaWNsZWlkIjoidHJ1Y2stMSIsInZlaGljbGVpZCI6InRydWNrLTEifX0"
      : "eyJhdXRob3JpemF0aW9uIjp7ImRlbGl2ZXJ5dmVoaWNsZWlkIjoidHJ1Y2stMiIsInZlaGljbGVpZCI6InRydWNrLTIifX0"
    return .http(
      .response(
        HTTPResponse(
          status: 200, body: [UInt8](#"{"token":"e30.\#(payload).s\#(serial)","seconds":\#(life)}"#.utf8))))
  }

  /// A token with all claims that Fleet Engine requires; `audience` can make one of them wrong.
  ///
  /// - Parameter life: in seconds.
  package static func signedToken(
    audience: String = "https://fleetengine.googleapis.com/", life: Int = 3600
  ) -> TokenOutcome {
    let issued = start.milliseconds / 1000
    let claims =
      #"{"aud":"\#(audience)","iss":"a@p","sub":"a@p","iat":\#(issued),"exp":\#(issued + Int64(life)),"#
      + #""authorization":{"deliveryvehicleid":"truck-1"}}"#
    let payload = String(
      Data(claims.utf8).base64EncodedString().compactMap { $0 == "=" ? nil : $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    // Base64url of {"alg":"RS256","kid":"k"}.
    let token = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.\(payload).s"
    return .http(
      .response(HTTPResponse(status: 200, body: [UInt8](#"{"token":"\#(token)","seconds":\#(life)}"#.utf8))))
  }

  /// Passes the agent a fix at this time, from a vehicle that has driven north at this speed since boot.
  package mutating func drive(to second: Double, speed: Double = 14) throws -> [VehicleAgent.Effect] {
    now = second
    guard let coordinate = Coordinate(latitude: 48 + second * speed / 111_200, longitude: longitude) else {
      throw PoleReached()
    }
    var fix = Fix(coordinate: coordinate, time: .utc(moment.wall))
    fix.speed = speed
    fix.horizontalAccuracy = 3
    fix.satellites = 9
    return agent.handle(.source(0, .fix(fix)), at: moment)
  }

  /// The ID of a record as the number of seconds since the start.
  package static func second(_ id: Backlog.ID) -> Double { (id - start).inSeconds }

  /// - Parameter second: seconds since boot.
  package mutating func handle(_ input: VehicleAgent.Input, at second: Double) -> [VehicleAgent.Effect] {
    now = second
    return agent.handle(input, at: moment)
  }

  /// Drives until the first update is accepted, at 0.2 s.
  package mutating func comeOnline() throws {
    _ = try drive(to: 0)
    _ = handle(.tokenEnded(id: 1, token()), at: 0.1)
    _ = handle(.updateEnded(id: 1, AgentFixture.accepted), at: 0.2)
  }
}

extension [VehicleAgent.Effect] {
  /// The effects in short form, without the events and some other effects.
  package var brief: [String] {
    compactMap { effect in
      switch effect {
      case .sendUpdate(let id, let request) where request.body == [UInt8](#"{"vehicleState":"OFFLINE"}"#.utf8):
        "send \(id) OFFLINE"
      case .sendUpdate(let id, let request)
      where String(decoding: request.body, as: UTF8.self).contains(text: #""OFFLINE""#):
        "send \(id) with OFFLINE"
      case .sendUpdate(let id, let request): "send \(id)\(request.url.contains(text: "past") ? " with past" : "")"
      case .cancelUpdate(let id): "cancel update \(id)"
      case .fetchToken(let id, .http(let request)): "fetch \(id) \(request.url)"
      case .fetchToken(let id, _): "fetch \(id)"
      case .cancelToken(let id): "cancel fetch \(id)"
      case .backlog(.added(let record)): "keep \(AgentFixture.second(record.id))"
      case .backlog(.changed): nil
      case .backlog(.removed(let ids, let reason)): "drop \(ids.map(AgentFixture.second)) \(reason)"
      case .readStore: "read store"
      case .lockVehicle: "lock vehicle"
      case .forgetOthers: "forget others"
      case .storeToken: "keep token"
      case .removeStoredToken: "forget token"
      case .storeRunState: nil
      case .storeUpdateForm: "keep update form"
      case .dropConnections: "drop connections"
      case .storePause(let note): "keep pause \(note?.text.dropLast() ?? "no more")"
      case .storeDuty(let note): "keep duty \(note?.text.dropLast() ?? "no more")"
      case .backlogSnapshot(let records): "keep all \(records.map { AgentFixture.second($0.id) })"
      case .collectChanges(let isInOutage): isInOutage ? "collect" : "collect no more"
      case .commitBacklog: "commit"
      case .connect, .event, .accepted, .needFixes: nil
      case .position: "position"
      case .readyForNextFix: "ready"
      case .stopping: "stopping"
      case .finished(let ending): "finished \(ending.undelivered)"
      }
    }
  }

  package var events: [Event.Kind] {
    compactMap { if case .event(let event) = $0 { event.kind } else { nil } }
  }
}
