// SPDX-License-Identifier: Apache-2.0

/// The emulator's state machine: a request and a time in, a reply out. It performs no I/O.
package final class FleetService {
  /// The options of the command line.
  package struct Options: Sendable {
    /// The only provider ID that is accepted; nil accepts any.
    package var provider: String?
    /// Lifetime of tokens in seconds.
    package var tokenLifetime: Int64 = 3600
    /// The value of `Authorization` that token requests must have; nil requires none.
    package var tokenAuthorization: String?
    /// Whether a vehicle's first update creates it, as if a backend had done so.
    package var createsVehicles = true
    /// Minimum milliseconds between two updates of a vehicle; a shorter interval causes a warning. 0 for a simulated
    /// drive that is faster than real time.
    package var minimumInterval = VehicleStatistics.minimumInterval

    package init() {}
  }

  let options: Options
  var issuer: TokenIssuer
  var verifier: TokenVerifier
  var faults = FaultPlan()
  /// By resource name.
  var vehicles: [String: JSON] = [:]
  /// By `VehicleService.key`.
  var statistics: [String: VehicleStatistics] = [:]
  var tokenRequests = 0
  private let log: (String) -> Void
  private let observe: ((FleetEvent) -> Void)?
  private let record: ((JSON) -> Void)?
  private var startTime: ServerTime?

  /// - Parameters:
  ///   - key: signs the tokens of its own token endpoints.
  ///   - account: a service account whose tokens are accepted too.
  ///   - log: receives each line for the terminal.
  ///   - observe: receives each event, before its line is logged.
  ///   - record: receives each update request.
  package init(
    options: Options, key: SigningKey, account: ServiceAccount? = nil, log: @escaping (String) -> Void,
    observe: ((FleetEvent) -> Void)? = nil, record: ((JSON) -> Void)? = nil
  ) {
    self.options = options
    self.log = log
    self.observe = observe
    self.record = record
    issuer = TokenIssuer(key: key, lifetime: options.tokenLifetime)
    verifier = TokenVerifier(key: key, account: account)
  }

  /// Updates accepted since the start.
  package var acceptedCount: Int { statistics.values.reduce(0) { $0 + $1.acceptedCount } }

  /// Updates rejected, or not answered, since the start.
  package var refusedCount: Int { statistics.values.reduce(0) { $0 + $1.refusedCount } }

  /// Violations of rules that Fleet Engine does not answer with an error.
  package var warningCount: Int { statistics.values.reduce(0) { $0 + $1.warningCount } }

  /// Tokens issued since the start.
  package var issuedTokenCount: Int { statistics.values.reduce(consumerTokenCount) { $0 + $1.issuedTokenCount } }
  /// Those of consumers, which have no statistics.
  var consumerTokenCount = 0

  /// Answers one request, and publishes what happened.
  package func handle(_ request: Request, at now: ServerTime) -> Reply {
    startTime = startTime ?? now
    _ = endFaults(at: now)
    var reply: Reply
    do throws(APIError) {
      reply = try route(request, at: now)
    } catch {
      reply = Reply(error)
    }
    reply.headers.append(("Date", RFC3339.httpDate(now.wall)))
    return reply
  }

  /// Publishes an event to the observer and the log.
  ///
  /// - Parameters:
  ///   - vehicle: its `VehicleService.key`, or the ID where services do not matter; empty when the event concerns no
  ///     vehicle or all of them.
  ///   - text: for the terminal; empty for no line.
  func publish(_ kind: FleetEvent.Kind, _ vehicle: String, _ text: String, at now: ServerTime) {
    let event = FleetEvent(
      at: now, vehicle: vehicle, kind: kind, statistics: statistics[vehicle] ?? .init(), text: text)
    observe?(event)
    if !text.isEmpty { log(event.line) }
  }

  private func route(_ request: Request, at now: ServerTime) throws(APIError) -> Reply {
    if request.isTooLarge {
      throw APIError(
        .invalidArgument, "The request body is larger than the server takes.", reason: "REQUEST_TOO_LARGE",
        httpStatus: 413)
    }
    let segments = try request.segments()
    switch (segments.first, segments.count) {
    case ("token", 3): return try token(request, kind: segments[1], id: segments[2], at: now)
    case ("debug", 2): return try debug(request, segments[1], at: now)
    case ("v1", 4...) where segments[1] == "providers":
      if let service = VehicleService.all.first(where: { $0.collection == segments[3] }) {
        return try vehicle(request, segments, of: service, at: now)
      }
      throw APIError(.unimplemented, "The emulator has deliveryVehicles and vehicles only.", reason: "NOT_EMULATED")
    default:
      throw APIError(
        .notFound, "The requested URL \(request.path) was not found on this server.", reason: "NO_SUCH_PATH")
    }
  }

  private func vehicle(
    _ request: Request, _ segments: [String], of service: VehicleService, at now: ServerTime
  ) throws(APIError) -> Reply {
    switch (segments.count, request.method) {
    case (5, service.updateMethod):
      return update(request, service, provider: segments[2], vehicle: segments[4], at: now)
    case (5, "GET"): return try get(request, service, provider: segments[2], vehicle: segments[4], at: now)
    case (4, "POST"): return try create(request, service, provider: segments[2], at: now)
    case (4, "GET"): return try list(request, service, provider: segments[2], at: now)
    case (5, "DELETE"):
      throw APIError(.unimplemented, "\(request.method) is not emulated here.", reason: "NOT_EMULATED")
    case (4...5, _): throw Self.methodNotAllowed(request)
    default: throw APIError(.notFound, "The requested URL was not found on this server.", reason: "NO_SUCH_PATH")
    }
  }

  static func methodNotAllowed(_ request: Request) -> APIError {
    APIError(
      .unimplemented, "\(request.method) is not allowed for \(request.path).", reason: "METHOD_NOT_ALLOWED",
      httpStatus: 405)
  }

  private func debug(_ request: Request, _ topic: String, at now: ServerTime) throws(APIError) -> Reply {
    switch (topic, request.method) {
    case ("stats", "GET"): return Reply(json: stats(at: now))
    case ("faults", "GET"): return Reply(json: faultList)
    case ("faults", "DELETE"):
      clearFaults(at: now)
      return Reply(json: faultList)
    case ("faults", "POST"):
      add(try Fault(try Self.parse(request), at: now), at: now)
      return Reply(json: faultList)
    case ("key", "GET"):
      return Reply(
        status: 200, headers: [("Content-Type", "application/x-pem-file")],
        content: .bytes(Array(issuer.publicKey.utf8)))
    case ("stats", _), ("faults", _), ("key", _): throw Self.methodNotAllowed(request)
    default: throw APIError(.notFound, "There are /debug/stats, /debug/faults and /debug/key.", reason: "NO_SUCH_PATH")
    }
  }

  private var faultList: JSON {
    [
      "faults": .array(
        faults.faults.map { fault in
          var json: JSON = ["target": .string(fault.target.rawValue), "effect": .string(fault.summary)]
          if let vehicle = fault.vehicle { json["vehicle"] = .string(vehicle) }
          if let times = fault.times { json["times"] = JSON(times) }
          return json
        })
    ]
  }

  private func stats(at now: ServerTime) -> JSON {
    [
      "uptime_ms": JSON(now.steady - (startTime ?? now).steady), "accepted": JSON(acceptedCount),
      "refused": JSON(refusedCount), "tokens": JSON(issuedTokenCount), "token_requests": JSON(tokenRequests),
      "warnings": JSON(warningCount),
      "faults": faultList["faults"] ?? [],
      "vehicles": .object(statistics.sorted { $0.key < $1.key }.map { .init($0.key, $0.value.json) }),
    ]
  }

  /// The body of a request as JSON.
  static func parse(_ request: Request) throws(APIError) -> JSON {
    do throws(JSONError) {
      return try JSONParser.parse(request.body)
    } catch {
      throw .invalid(
        "Invalid JSON payload received. At byte \(error.offset): \(error.message).", reason: "INVALID_JSON")
    }
  }

  /// - Parameter received: the request before its body was decoded; an encoded body is recorded in both forms.
  func recordUpdate(_ request: Request, as received: Request, accepted: Bool, status: Int, at now: ServerTime) {
    guard let record else { return }
    let headers = request.headers.map { header in
      guard header.name.lowercased() == "authorization" else { return JSON.Member(header.name, .string(header.value)) }
      let scheme = header.value.prefix { $0 != " " }
      return JSON.Member(header.name, .string("\(scheme) <redacted>"))
    }
    var line: JSON = [
      "time": .string(RFC3339.text(milliseconds: now.wall)), "method": .string(request.method),
      "path": .string(request.path), "query": .string(request.query), "headers": .object(headers),
      "body": .string(String(decoding: request.body, as: UTF8.self)), "accepted": .bool(accepted),
      "status": JSON(status),
    ]
    if received.isEncoded { line["encoded"] = .string(Base64.encodeURLSafe(received.body)) }
    record(line)
  }
}
