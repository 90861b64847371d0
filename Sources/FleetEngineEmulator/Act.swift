// SPDX-License-Identifier: Apache-2.0

/// What a button of the live map asks for: a fault of the network, the server or the backend.
package struct Act: Equatable, Sendable {
  /// What the buttons are called on the wire.
  package enum Name: String, Sendable, CaseIterable {
    /// The link is lost: neither updates nor tokens are answered.
    case tunnel
    /// Every answer is late.
    case slow
    case unavailable
    case throttled
    case tokensDown = "tokens-down"
    /// Tokens that were given until now are refused.
    case revoke
    /// The same, as if their time were over.
    case expire
    /// Every fault ends.
    case clear

    /// Seconds, unless others are asked for; nil for what is done in a moment.
    var duration: Int64? {
      switch self {
      case .tunnel, .slow, .unavailable: 30
      case .throttled: 20
      case .tokensDown: 60
      case .revoke, .expire, .clear: nil
      }
    }
  }

  /// Which button.
  package var name: Name
  /// Seconds; nil for what is done in a moment.
  package var duration: Int64?
  /// The vehicle that it applies to; nil means every vehicle.
  package var vehicle: String?

  /// Reads what was posted.
  ///
  /// - Throws: `APIError`, INVALID_ARGUMENT, which names the key and what it may be.
  init(_ json: JSON) throws(APIError) {
    var reader = MemberReader(json, of: "an act")
    guard let name = try reader.choice("act", Name.self) else {
      let names = Name.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
      throw .invalid("\"act\" is missing: expected one of \(names).", field: "act")
    }
    self.name = name
    let seconds = try reader.whole("seconds", 1...3600)
    vehicle = try reader.text("vehicle")
    try reader.finish()
    if seconds != nil && name.duration == nil {
      throw .invalid("\"\(name.rawValue)\" is done in a moment: it takes no \"seconds\".", field: "seconds")
    }
    if vehicle != nil && name == .clear {
      throw .invalid("\"clear\" ends every fault: it takes no \"vehicle\".", field: "vehicle")
    }
    duration = name.duration.map { seconds ?? $0 }
  }

  /// What it does to requests; nil for what is done in a moment.
  func fault(at now: ServerTime) -> Fault? {
    guard let duration else { return nil }
    let end = now.steady + duration * 1000
    switch name {
    case .tunnel: return Fault(act: name, .any, vehicle: vehicle, end: end, silence: .reset)
    case .slow: return Fault(act: name, .any, vehicle: vehicle, end: end, delay: 3000)
    case .unavailable:
      return Fault(
        act: name, .update, vehicle: vehicle, end: end, status: 503, reason: "UNAVAILABLE",
        message: "The service is currently unavailable.")
    case .throttled:
      return Fault(
        act: name, .update, vehicle: vehicle, end: end, status: 429, retryAfter: "10", reason: "RATE_LIMIT_EXCEEDED",
        message: "Quota exceeded for update requests.")
    case .tokensDown:
      return Fault(
        act: name, .token, vehicle: vehicle, end: end, status: 503, reason: "UNAVAILABLE",
        message: "The token provider is down.")
    case .revoke, .expire, .clear: return nil
    }
  }
}
