// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import HTTPMessages
import Timekeeping

/// A strict Fleet Engine: it checks the URL, the mask, the token and every field with its own parser, and records
/// when each position arrives.
struct FleetEngineServer {
  struct Position: Hashable {
    var latitude: Double
    var longitude: Double
    var time: Timestamp
  }

  struct Applied {
    /// True seconds since boot.
    var at: Double
    var vehicle: String
    var live: Position
    var past: [Position]
    var bytes: Int
    var timeSinceUpdate: Int?
    var request: UInt64
    /// Whether the server already had a newer position, so that it did not apply this one.
    var isIgnored: Bool
    var isCompact: Bool
  }

  private(set) var applied: [Applied] = []
  /// A vehicle's state, as set by an update.
  struct Change {
    /// True seconds since boot.
    var at: Double
    var vehicle: String
    var isOnline: Bool
    var request: UInt64
  }

  /// Changes of the states of vehicles of on-demand trips, in the order of arrival.
  private(set) var states: [Change] = []
  private(set) var requests = 0
  /// By vehicle, the time of the position that dispatchers see.
  private var newest: [String: Timestamp] = [:]
  /// Violations of the protocol by the client, as text.
  private(set) var offences: [String] = []
  /// Requests that were rejected for their form.
  private(set) var refusedForms: Set<UInt64> = []
  /// The faults that have affected requests.
  private(set) var coveredFaults: Set<FaultCase> = []
  private var knownClaims: [String: (exp: Double, vehicle: String)] = [:]

  mutating func answer(
    _ request: HTTPRequest, id: UInt64, at second: Double, _ scenario: Scenario, tokens: TokenProviderServer
  ) -> HTTPResponse {
    requests += 1
    var date = TokenProviderServer.date(at: second)
    for fault in scenario.faults where fault.isActive(at: second) {
      guard case .serverClock(let error) = fault.kind else { continue }
      date = TokenProviderServer.date(at: second, wrongBy: error)
      coveredFaults.insert(.serverClock)
    }
    let target = Target(request)
    if let refusal = formRefusal(of: target, id: id, at: second, scenario) { return refusal }
    let answer = decide(request, for: target, id: id, at: second, scenario, tokens: tokens)
    if case .refused(let status, let code, let why, let headers, let details) = answer {
      let body =
        #"{"error":{"code":\#(status),"message":"\#(why)","status":"\#(code)","details":[\#(details)]}}"#
      return HTTPResponse(status: status, headers: [date] + headers, body: [UInt8](body.utf8))
    }
    let body = target?.form == .compact ? "{}\n" : #"{"name":"providers/p/deliveryVehicles/v"}"#
    return HTTPResponse(status: 200, headers: [date], body: [UInt8](body.utf8))
  }

  private mutating func formRefusal(
    of target: Target?, id: UInt64, at second: Double, _ scenario: Scenario
  ) -> HTTPResponse? {
    guard target?.form == .compact,
      !scenario.isActive(at: second, { if case .answers = $0 { true } else { false } })
    else { return nil }
    for fault in scenario.faults where fault.isActive(at: second) {
      guard case .refusesCompact(let part, let refusal) = fault.kind else { continue }
      var random = SplitMix64(seed: scenario.seed &+ UInt64(requests) &+ 0x666F_726D)
      guard Double.random(in: 0..<1, using: &random) < part else { continue }
      refusedForms.insert(id)
      coveredFaults.insert(FaultCase(fault.kind))
      switch refusal {
      case .status(let status, let code):
        let body = #"{"error":{"code":\#(status),"message":"what is this","status":"\#(code)"}}"#
        return HTTPResponse(status: status, body: [UInt8](body.utf8))
      case .page(let status):
        return HTTPResponse(status: status, body: [UInt8]("<html>\(status)</html>".utf8))
      }
    }
    return nil
  }

  private enum Decision {
    case accepted
    case refused(Int, String, String, [(name: String, value: String)] = [], details: String = "")
  }

  private mutating func decide(
    _ request: HTTPRequest, for target: Target?, id: UInt64, at second: Double, _ scenario: Scenario,
    tokens: TokenProviderServer
  ) -> Decision {
    let faults = scenario.faults.filter { $0.place == .server && $0.isActive(at: second) }
    for fault in faults {
      guard case .answers(let status, let code, let retryAfter, let retryInfo) = fault.kind else { continue }
      coveredFaults.insert(.answers)
      var headers: [(name: String, value: String)] = []
      if let retryAfter { headers.append(("Retry-After", retryAfter)) }
      let details = retryInfo.map { #"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"\#($0)"}"# }
      return .refused(status, code, "simulated error", headers, details: details ?? "")
    }
    for case (.answersSometimes(let part, let status, let code), let from) in faults.map({ ($0.kind, $0.from) }) {
      var random = SplitMix64(seed: scenario.seed &+ UInt64(requests) &+ UInt64(from) << 32)
      guard Double.random(in: 0..<1, using: &random) < part else { continue }
      coveredFaults.insert(.answersSometimes)
      return .refused(status, code, "by chance")
    }
    guard let target else {
      offences.append("\(request.method) \(request.url)")
      return .refused(400, "INVALID_ARGUMENT", "bad target")
    }
    guard target.isTrips == (scenario.trips != nil), target.setsState == (scenario.trips?.reportsState ?? false) else {
      offences.append("\(request.method) \(request.url): another service, or a state that is not the vehicle's to set")
      return .refused(400, "INVALID_ARGUMENT", "bad mask")
    }
    if let refusal = refusal(of: request, for: target, at: second, faults, tokens) { return refusal }
    let body = StrictJSON(request.body)?.object
    if let body, target.mask == ["vehicleState"], body == ["vehicleState": .string("OFFLINE")] {
      states.append(Change(at: second, vehicle: target.vehicle, isOnline: false, request: id))
      return .accepted
    }
    guard let body, Set(body.keys) == target.mask, let live = body["lastLocation"].flatMap({ read($0, target.form) }),
      !target.setsState || [.string("ONLINE"), .string("OFFLINE")].contains(body["vehicleState"])
    else {
      offences.append("body \(String(decoding: request.body, as: UTF8.self))")
      return .refused(400, "INVALID_ARGUMENT", "bad body")
    }
    var past: [Position] = []
    if let elements = body["pastLocations"]?.array {
      for element in elements {
        guard let position = read(element, target.form), position.timeSinceUpdate == nil else {
          offences.append("past location \(element)")
          return .refused(400, "INVALID_ARGUMENT", "bad past location")
        }
        past.append(position.position)
      }
      if past.isEmpty || past.map(\.time) != past.map(\.time).sorted()
        || past.contains(where: { $0.time >= live.position.time })
      {
        offences.append("past locations out of order, or not before the live one")
      }
    }
    for fault in faults {
      func has(_ seconds: Set<Int>, _ positions: [Position]) -> Bool {
        positions.contains { seconds.contains(Int(($0.time - Scenario.boot).wholeSeconds)) }
      }
      let refusal: Decision? =
        switch fault.kind {
        case .deniesPast where !past.isEmpty: .refused(403, "PERMISSION_DENIED", "no past locations for you")
        case .rejectsPast where !past.isEmpty: .refused(400, "INVALID_ARGUMENT", "unknown field")
        case .failsPast(let status, let code) where !past.isEmpty: .refused(status, code, "simulated error")
        case .failsPositions(let seconds) where has(seconds, past): .refused(500, "INTERNAL", "simulated error")
        case .mostPast(let most) where past.count > most: .refused(400, "INVALID_ARGUMENT", "too many")
        case .mostBytes(let most) where request.body.count > most: .refused(413, "INVALID_ARGUMENT", "too large")
        case .rejectsPositions(let seconds) where has(seconds, past),
          .rejectsLivePositions(let seconds) where has(seconds, past + [live.position]):
          .refused(400, "INVALID_ARGUMENT", "a location that I do not like")
        case .refusesRepeats where hasAny(of: past, from: target.vehicle):
          .refused(400, "INVALID_ARGUMENT", "a location that I have")
        case .refusesOfflinePositions where body["vehicleState"] == .string("OFFLINE"):
          .refused(400, "INVALID_ARGUMENT", "a location of a vehicle that is OFFLINE")
        default: nil
        }
      guard let refusal else { continue }
      coveredFaults.insert(FaultCase(fault.kind))
      return refusal
    }
    applied.append(
      Applied(
        at: second, vehicle: target.vehicle, live: live.position, past: past,
        bytes: request.body.count, timeSinceUpdate: live.timeSinceUpdate,
        request: id, isIgnored: newest[target.vehicle].map { live.position.time < $0 } ?? false,
        isCompact: target.form == .compact))
    newest[target.vehicle] = max(newest[target.vehicle] ?? live.position.time, live.position.time)
    if target.setsState {
      let isOnline = body["vehicleState"] == .string("ONLINE")
      states.append(Change(at: second, vehicle: target.vehicle, isOnline: isOnline, request: id))
    }
    return .accepted
  }

  private func hasAny(of positions: [Position], from vehicle: String) -> Bool {
    let times = Set(positions.map(\.time))
    return applied.contains { applied in
      applied.vehicle == vehicle && (applied.past + [applied.live]).contains { times.contains($0.time) }
    }
  }

  private mutating func refusal(
    of request: HTTPRequest, for target: Target, at second: Double, _ faults: [Fault], _ tokens: TokenProviderServer
  ) -> Decision? {
    guard let token = FleetEngineServer.bearer(of: request), let issued = tokens.issued[token],
      let (exp, allowed) = claims(of: token, isTrips: target.isTrips)
    else { return .refused(401, "UNAUTHENTICATED", "no such token") }
    for fault in faults {
      if case .revoked = fault.kind, issued.issuedAt < Double(fault.from) {
        coveredFaults.insert(.revoked)
        return .refused(401, "UNAUTHENTICATED", "revoked")
      }
    }
    // Requests in flight when the token expired are accepted.
    guard Double(Scenario.boot.milliseconds) / 1000 + second < exp + 40 else {
      return .refused(401, "UNAUTHENTICATED", "expired")
    }
    guard allowed == target.vehicle else {
      return .refused(403, "PERMISSION_DENIED", "a token for another vehicle")
    }
    return nil
  }

  /// The token's expiry, in seconds since 1970, and its vehicle; parsed once per token.
  private mutating func claims(of token: String, isTrips: Bool) -> (exp: Double, vehicle: String)? {
    if let known = knownClaims[token] { return known }
    guard
      let payload = token.split(separator: ".").dropFirst().first.flatMap(Base64URL.decode).flatMap(StrictJSON.init),
      let exp = payload.object?["exp"]?.number,
      let vehicle = payload.object?["authorization"]?.object?[isTrips ? "vehicleid" : "deliveryvehicleid"]?.string
    else { return nil }
    knownClaims[token] = (exp, vehicle)
    return (exp, vehicle)
  }

  static func bearer(of request: HTTPRequest) -> String? {
    for header in request.headers where header.name == "Authorization" {
      if case .secret("Bearer ", let secret) = header.value { return secret.reveal() }
    }
    return nil
  }

  /// A location that has only fields of Google's guide, of the right types and in range; nil for any other value.
  private func read(_ value: StrictJSON, _ form: UpdateForm) -> (position: Position, timeSinceUpdate: Int?)? {
    guard var fields = value.object,
      let place = fields.removeValue(forKey: "supplementalLocation")?.object, place.count == 2,
      let latitude = place["latitude"]?.number, (-90...90).contains(latitude),
      let longitude = place["longitude"]?.number, (-180...180).contains(longitude),
      let time = fields.removeValue(forKey: "supplementalLocationTime")?.string.flatMap({ Timestamp(rfc3339: $0) }),
      fields.removeValue(forKey: "supplementalLocationSensor")
        == (form == .plain ? .string("CUSTOMER_SUPPLIED_LOCATION") : nil)
    else { return nil }
    if let heading = fields.removeValue(forKey: "heading") {
      guard let degrees = heading.number, degrees.rounded() == degrees, (0..<360).contains(degrees) else { return nil }
    }
    var since: Int?
    if let value = fields.removeValue(forKey: "timeSinceUpdate") {
      guard let seconds = value.number.flatMap({ Int(exactly: $0) }), seconds > 0 else { return nil }
      since = seconds
    }
    for key in [
      "supplementalLocationAccuracy", "altitude", "speed", "speedAccuracy", "headingAccuracy", "altitudeAccuracy",
    ] {
      if let value = fields.removeValue(forKey: key), value.number == nil { return nil }
    }
    return fields.isEmpty ? (Position(latitude: latitude, longitude: longitude, time: time), since) : nil
  }

  private struct Target {
    var vehicle: String
    var mask: Set<String>
    var isTrips: Bool
    var form = UpdateForm.plain

    var setsState: Bool { mask.contains("vehicleState") }

    init?(_ request: HTTPRequest) {
      isTrips = request.method == .put
      let prefix = "https://fleetengine.test/v1/providers/provider/\(isTrips ? "vehicles" : "deliveryVehicles")/"
      let plain = request.headers.compactMap { header -> String? in
        if case .plain(let value) = header.value { return "\(header.name): \(value)" }
        return nil
      }
      guard isTrips || request.method == .patch, request.url.hasPrefix(prefix),
        plain.contains("Content-Type: application/json")
      else { return nil }
      var url = request.url
      if url.hasSuffix("&prettyPrint=false") {
        url.removeLast("&prettyPrint=false".count)
        form = .compact
      }
      // The request has all header fields of its form, and none of the other.
      guard plain.contains("X-Goog-FieldMask: \(form == .plain ? "name" : "navigationStatus")"),
        plain.contains("Content-Encoding: gzip") == (form == .compact)
      else { return nil }
      let parts = url.dropFirst(prefix.count).split(separator: "?", omittingEmptySubsequences: false)
      guard parts.count == 2, parts[1].hasPrefix("updateMask=") else { return nil }
      vehicle = String(parts[0])
      let fields = parts[1].dropFirst("updateMask=".count).split(separator: "%2C").map(String.init)
      mask = Set(fields)
      let positions = fields.first == "vehicleState" ? Array(fields.dropFirst()) : fields
      // Only a vehicle of on-demand trips has a state, which it may set without a position.
      guard isTrips || positions == fields, positions != fields || !positions.isEmpty,
        [[], ["lastLocation"], ["lastLocation", "pastLocations"]].contains(positions)
      else { return nil }
    }
  }
}
