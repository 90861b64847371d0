// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import FoundationEssentials
import HTTPMessages
import Timekeeping

/// The state of one vehicle at Fleet Engine and the token provider.
struct FleetServerState {
  /// The time of the newest position that has arrived.
  private(set) var newest: Timestamp?
  /// The times of queued positions that have not arrived.
  private var undelivered: Set<Timestamp> = []
  /// The last three tokens, and when they expire.
  private var tokens: [(secret: Secret, end: BootInstant)] = []
  /// During an outage of the token provider, the times of the vehicle's first and last token requests.
  private var refusedTokenRequests: (first: BootInstant, last: BootInstant)?

  // MARK: - Tokens

  mutating func remember(_ secret: Secret, until end: BootInstant) {
    if tokens.count == 3 { tokens.removeFirst() }
    tokens.append((secret, end))
  }

  /// A request reaches the token provider, or finds its port closed.
  mutating func receiveTokenRequest(at now: BootInstant, _ conditions: FleetConditions, _ tally: inout FleetTally) {
    tally.tokenRequests += 1
    guard case .providerRefuses = conditions.fault else { return refusedTokenRequests = nil }
    defer { refusedTokenRequests = (refusedTokenRequests?.first ?? now, now) }
    guard let (first, last) = refusedTokenRequests else { return }
    if last - first >= .seconds(300), now - last < .seconds(60) { tally.hastyTokenRequests += 1 }
  }

  /// Issues a token, which by default is valid for an hour.
  mutating func issueToken(for vehicle: String, from second: Int, life: Int = FleetModel.tokenLife) -> Secret {
    let iat = FleetModel.start.milliseconds / 1000 + Int64(second)
    let payload = #"{"iat":\#(iat),"exp":\#(iat + Int64(life)),"authorization":{"deliveryvehicleid":"\#(vehicle)"}}"#
    let code = Data(payload.utf8).base64EncodedString().filter { $0 != "=" }
    let secret = Secret("e30.\(String(code.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })).s\(second)")
    remember(secret, until: FleetModel.instant(second + life))
    return secret
  }

  mutating func tokenAnswer(for vehicle: String, _ conditions: FleetConditions) -> HTTPOutcome {
    let secret = issueToken(for: vehicle, from: conditions.second)
    let end = FleetModel.start.milliseconds + Int64(conditions.second + FleetModel.tokenLife) * 1000
    let body = #"{"token":"\#(secret.reveal())","expiration_timestamp_ms":\#(end)}"#
    return .response(HTTPResponse(status: 200, headers: [("Date", conditions.date)], body: Array(body.utf8)))
  }

  // MARK: - Updates

  /// An update reaches Fleet Engine.
  mutating func answer(
    _ request: HTTPRequest, at now: BootInstant, _ conditions: FleetConditions, _ tally: inout FleetTally
  ) -> HTTPOutcome {
    tally.updates += 1
    tally.bytes += request.body.count
    if case .engineAnswers(let status, let wait) = conditions.fault {
      var headers = [(name: "Date", value: conditions.date)]
      switch wait {
      case .seconds(let seconds): headers.append(("Retry-After", "\(seconds)"))
      case .until(let second): headers.append(("Retry-After", FleetConditions.httpDate(second)))
      case nil: break
      }
      return FleetServerState.refusal(status, headers)
    }
    guard hasValidToken(request, at: now) else { return FleetServerState.refusal(401, [("Date", conditions.date)]) }
    tally.accepted += 1
    for time in FleetServerState.times(in: request.body) {
      newest = max(newest ?? time, time)
      undelivered.remove(time)
    }
    return .response(
      HTTPResponse(status: 200, headers: [("Date", conditions.date)], body: Array(#"{"name":"v"}"#.utf8)))
  }

  /// Requests in flight when their token expired are accepted.
  private func hasValidToken(_ request: HTTPRequest, at now: BootInstant) -> Bool {
    request.headers.contains { header in
      guard case .secret(_, let secret) = header.value else { return false }
      return tokens.contains { $0.secret == secret && now < $0.end + .seconds(10) }
    }
  }

  private static func refusal(_ status: Int, _ headers: [(name: String, value: String)]) -> HTTPOutcome {
    let code =
      switch status {
      case 401: "UNAUTHENTICATED"
      case 404: "NOT_FOUND"
      case 429: "RESOURCE_EXHAUSTED"
      default: "UNAVAILABLE"
      }
    let body = #"{"error":{"code":\#(status),"message":"as the scenario has it","status":"\#(code)"}}"#
    return .response(HTTPResponse(status: status, headers: headers, body: Array(body.utf8)))
  }

  /// The time of every position in a body.
  private static func times(in body: [UInt8]) -> [Timestamp] {
    let key = Array(#"LocationTime":""#.utf8)
    var times: [Timestamp] = []
    var index = 0
    while index + key.count < body.count {
      guard body[index] == key[0], body[index..<(index + key.count)].elementsEqual(key) else {
        index += 1
        continue
      }
      index += key.count
      guard let end = body[index...].firstIndex(of: UInt8(ascii: "\"")) else { break }
      if let time = Timestamp(rfc3339: String(decoding: body[index..<end], as: UTF8.self)) { times.append(time) }
      index = end
    }
    return times
  }

  // MARK: - Backlog

  /// The vehicle has queued a position.
  mutating func enqueue(_ time: Timestamp) { undelivered.insert(time) }

  /// The vehicle has removed positions as delivered.
  ///
  /// - Returns: the number of those that Fleet Engine has never received.
  mutating func confirm(delivered times: [Timestamp]) -> Int { times.count { undelivered.remove($0) != nil } }

  /// The number of queued positions that have not arrived and are no longer pending.
  func lost(pending: Set<Timestamp>) -> Int { undelivered.count { !pending.contains($0) } }
}
