// SPDX-License-Identifier: Apache-2.0

/// The command of a button of the live map: simulates a fault of the network, the server or the backend, or ends all
/// faults.
package struct MapCommand: Equatable, Sendable {
  /// The command's name in JSON (`act`).
  package enum Name: String, Sendable, CaseIterable {
    /// The link is lost: neither updates nor tokens are answered.
    case tunnel
    /// Every response is late.
    case slow
    case unavailable
    case throttled
    case tokensDown = "tokens-down"
    /// All tokens issued so far are rejected.
    case revoke
    /// All tokens issued so far are rejected as expired.
    case expire
    /// Every fault ends.
    case clear

    /// Default duration in seconds; nil for a command without duration.
    var duration: Int64? {
      switch self {
      case .tunnel, .slow, .unavailable: 30
      case .throttled: 20
      case .tokensDown: 60
      case .revoke, .expire, .clear: nil
      }
    }
  }

  /// The command.
  package var name: Name
  /// Seconds; nil for a command without duration.
  package var duration: Int64?
  /// The vehicle that it applies to; nil means every vehicle.
  package var vehicle: String?

  /// Parses the body of a POST request.
  ///
  /// - Throws: `APIError`, INVALID_ARGUMENT, with the key and its allowed values.
  init(_ json: JSON) throws(APIError) {
    var reader = JSONObjectReader(json, of: "a command")
    guard let name = try reader.choice("act", Name.self) else {
      let names = Name.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
      throw .invalid("\"act\" is missing: expected one of \(names).", field: "act")
    }
    self.name = name
    let seconds = try reader.integer("seconds", 1...3600)
    vehicle = try reader.identifier("vehicle")
    try reader.finish()
    if seconds != nil && name.duration == nil {
      throw .invalid("\"\(name.rawValue)\" has no duration: remove \"seconds\".", field: "seconds")
    }
    if vehicle != nil && name == .clear {
      throw .invalid("\"clear\" ends every fault: remove \"vehicle\".", field: "vehicle")
    }
    duration = name.duration.map { seconds ?? $0 }
  }

  /// The fault that it causes; nil for a command without duration.
  func fault(at now: ServerTime) -> Fault? {
    guard let duration else { return nil }
    let end = now.steady + duration * 1000
    switch name {
    case .tunnel: return Fault(command: name, .any, vehicle: vehicle, end: end, silence: .reset)
    case .slow: return Fault(command: name, .any, vehicle: vehicle, end: end, delay: 3000)
    case .unavailable:
      return Fault(
        command: name, .update, vehicle: vehicle, end: end, status: 503, reason: "UNAVAILABLE",
        message: "The service is currently unavailable.")
    case .throttled:
      return Fault(
        command: name, .update, vehicle: vehicle, end: end, status: 429, retryAfter: "10",
        reason: "RATE_LIMIT_EXCEEDED",
        message: "Quota exceeded for update requests.")
    case .tokensDown:
      return Fault(
        command: name, .token, vehicle: vehicle, end: end, status: 503, reason: "UNAVAILABLE",
        message: "The token provider is down.")
    case .revoke, .expire, .clear: return nil
    }
  }
}
