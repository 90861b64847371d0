// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import HTTPMessages
import Positioning
import Testing
import Timekeeping

@testable import Delivery

/// A vehicle agent with a clock to turn, a road to drive, and answers at hand.
struct AgentFixture {
  static let start = Timestamp(seconds: 1_796_083_200)
  static let accepted = HTTPOutcome.response(HTTPResponse(status: 200, body: [UInt8](#"{"name":"v"}"#.utf8)))
  static let unreachable = HTTPOutcome.failure(TransportFailure(.unreachable, "no route to host"))

  var agent: VehicleAgent
  var now = 0.0
  private var serial = 0

  init(_ change: (inout VehicleAgent.Configuration) -> Void = { _ in }) throws {
    var configuration = try AgentFixture.configuration()
    change(&configuration)
    agent = VehicleAgent(configuration, seed: 1)
    _ = agent.handle(.source(.reading("/dev/gps0")), at: moment)
  }

  static func configuration(vehicle: String = "truck-1") throws -> VehicleAgent.Configuration {
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

  var moment: Moment {
    let elapsed = Duration.milliseconds(Int64((now * 1000).rounded()))
    return Moment(boot: .boot + elapsed, wall: AgentFixture.start + elapsed)
  }

  static func error(_ http: Int, _ status: String) -> HTTPOutcome {
    .response(HTTPResponse(status: http, body: [UInt8](#"{"error":{"status":"\#(status)","message":"no"}}"#.utf8)))
  }

  mutating func token(vehicle: String = "truck-1", life: Int = 3600) -> TokenOutcome {
    serial += 1
    // Base64url of {"authorization":{"deliveryvehicleid":"…"}}.
    let payload =
      vehicle == "truck-1"
      ? "eyJhdXRob3JpemF0aW9uIjp7ImRlbGl2ZXJ5dmVoaWNsZWlkIjoidHJ1Y2stMSJ9fQ"
      : "eyJhdXRob3JpemF0aW9uIjp7ImRlbGl2ZXJ5dmVoaWNsZWlkIjoidHJ1Y2stMiJ9fQ"
    return .http(
      .response(
        HTTPResponse(
          status: 200, body: [UInt8](#"{"token":"e30.\#(payload).s\#(serial)","seconds":\#(life)}"#.utf8))))
  }

  /// A second passes and a fix comes, 14 m further on.
  mutating func drive(to second: Double, speed: Double = 14) throws -> [VehicleAgent.Effect] {
    now = second
    let coordinate = try #require(Coordinate(latitude: 48 + second * speed / 111_200, longitude: 11))
    var fix = Fix(coordinate: coordinate, time: .utc(moment.wall))
    fix.speed = speed
    fix.horizontalAccuracy = 3
    fix.satellites = 9
    return agent.handle(.fix(fix), at: moment)
  }

  /// Seconds since the start, as a record's name.
  static func second(_ id: Backlog.ID) -> Double { (id - start).inSeconds }

  mutating func tell(_ input: VehicleAgent.Input, at second: Double) -> [VehicleAgent.Effect] {
    now = second
    return agent.handle(input, at: moment)
  }

  /// Drives until the first update is accepted, at 0.2 s.
  mutating func comeOnline() throws {
    _ = try drive(to: 0)
    _ = tell(.tokenEnded(id: 1, token()), at: 0.1)
    _ = tell(.updateEnded(id: 1, AgentFixture.accepted), at: 0.2)
  }
}

extension [VehicleAgent.Effect] {
  /// The effects in brief, without the events.
  var brief: [String] {
    compactMap { effect in
      switch effect {
      case .sendUpdate(let id, let request): "send \(id)\(request.url.contains("past") ? " with past" : "")"
      case .cancelUpdate(let id): "cancel update \(id)"
      case .fetchToken(let id, .http(let request)): "fetch \(id) \(request.url)"
      case .fetchToken(let id, _): "fetch \(id)"
      case .cancelToken(let id): "cancel fetch \(id)"
      case .backlog(.added(let record)): "keep \(AgentFixture.second(record.id))"
      case .backlog(.changed): nil
      case .backlog(.removed(let ids, let reason)): "drop \(ids.map(AgentFixture.second)) \(reason)"
      case .forgetOthers: "forget others"
      case .keepToken: "keep token"
      case .forgetToken: "forget token"
      case .dropConnections: "drop connections"
      case .keepPause(let note): "keep pause \(note?.text.dropLast() ?? "no more")"
      case .event: nil
      case .finished(let undelivered): "finished \(undelivered)"
      }
    }
  }

  var events: [Event.Kind] {
    compactMap { if case .event(let event) = $0 { event.kind } else { nil } }
  }
}
