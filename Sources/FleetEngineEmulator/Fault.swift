// SPDX-License-Identifier: Apache-2.0

/// A fault that was requested by a test or a demo at `/debug/faults`, or by a button of the live map.
package struct Fault: Equatable, Sendable {
  /// The requests that it applies to.
  package enum Target: String, Sendable, CaseIterable {
    /// Those for Fleet Engine.
    case update
    /// Those for the token provider.
    case token
    /// Both, as when the network is bad.
    case any

    func covers(_ target: Target) -> Bool { self == target || self == .any }
  }

  /// A body that replaces that of the response.
  package enum Body: String, Sendable, CaseIterable {
    /// A captive portal's page.
    case html
    case empty
    /// Ends before the stated length.
    case truncated
    /// 200 MB, beginning like JSON.
    case huge
    case notJSON = "not-json"
  }

  /// How the connection ends without a response.
  package enum Silence: String, Sendable {
    /// The connection is reset at once.
    case reset
    /// No response is sent until the client closes the connection.
    case drop
  }

  /// A number from 1, which the plan assigns.
  package internal(set) var id = 0
  /// The name of the map's command that caused it; empty for `/debug/faults`.
  package internal(set) var commandName = ""
  /// The vehicle that it applies to; nil means every vehicle.
  package var vehicle: String?
  /// The requests that it applies to.
  package var target: Target
  /// The remaining number of requests that it applies to; nil if it ends by time.
  package var times: Int?
  /// Steady milliseconds when it ends; nil when it ends by count.
  package var end: Int64?
  /// The feature that a request must have; nil if the fault applies to all requests.
  package var feature: Feature?
  /// HTTP status of the response, 200 to 599; nil for the usual one.
  package var status: Int?
  /// A body that replaces the usual one.
  package var body: Body?
  /// How the connection ends without a response; nil if there is a response.
  package var silence: Silence?
  /// Delay of the response in milliseconds.
  package var delay: Int64
  /// `Retry-After`: seconds as text, `date+N` for an HTTP date N seconds ahead, `http-date` for one ten seconds ahead,
  /// or any other text, which is sent unchanged.
  package var retryAfter: String?
  /// `RetryInfo.retryDelay`.
  package var retryInfo: String?
  /// `ErrorInfo.reason` of the response.
  package var reason: String?
  /// `error.message` of the response.
  package var message: String?
  /// What is wrong with the issued token.
  package var flaw: TokenIssuer.Flaw?
  /// Whether the update is applied, so that only its response has the fault.
  package var appliesUpdate: Bool

  /// The fault of a command of the live map, which ends by time.
  ///
  /// - Parameters:
  ///   - end: steady milliseconds.
  ///   - delay: milliseconds.
  init(
    command: MapCommand.Name, _ target: Target, vehicle: String?, end: Int64, status: Int? = nil,
    silence: Silence? = nil,
    delay: Int64 = 0, retryAfter: String? = nil, reason: String? = nil, message: String? = nil
  ) {
    commandName = command.rawValue
    self.target = target
    self.vehicle = vehicle
    self.end = end
    self.status = status
    self.silence = silence
    self.delay = delay
    self.retryAfter = retryAfter
    self.reason = reason
    self.message = message
    appliesUpdate = false
  }

  /// Parses the body of a POST request.
  ///
  /// - Throws: `APIError`, INVALID_ARGUMENT, with the key and its allowed values.
  package init(_ json: JSON, at now: ServerTime) throws(APIError) {
    var reader = JSONObjectReader(json, of: "a fault")
    guard let target = try reader.choice("target", Target.self) else {
      throw .invalid("\"target\" is missing: expected \"update\", \"token\" or \"any\".", field: "target")
    }
    self.target = target
    vehicle = try reader.identifier("vehicle")
    let limit = try reader.integer("times", 1...1_000_000_000)
    let duration = try reader.integer("for_ms", 1...86_400_000)
    end = duration.map { now.steady + $0 }
    times = limit.map(Int.init) ?? (duration == nil ? 1 : nil)
    status = try reader.integer("status", 200...599).map(Int.init)
    body = try reader.choice("body", Body.self)
    delay = try reader.integer("delay_ms", 0...3_600_000) ?? 0
    retryAfter = try reader.text("retry_after")
    retryInfo = try reader.text("retry_info")
    reason = try reader.text("reason")
    message = try reader.text("message")
    flaw = try reader.choice("token", TokenIssuer.Flaw.self)
    appliesUpdate = try reader.flag("apply")
    feature = try reader.choice("for", Feature.self)
    let reset = try reader.flag("reset")
    let drop = try reader.flag("drop")
    silence = reset ? .reset : drop ? .drop : nil
    try reader.finish()
    if reset && drop { throw .invalid("\"reset\" and \"drop\" exclude each other.", field: "reset") }
    if let retryInfo, !MessageValidator.isDuration(retryInfo) {
      throw .invalid("\"retry_info\" is a duration such as \"3.5s\".", field: "retry_info")
    }
    if flaw != nil && target != .token { throw .invalid("\"token\" is for the target \"token\".", field: "token") }
    if status == nil && body == nil && silence == nil && delay == 0 && flaw == nil {
      throw .invalid(
        "The fault does nothing: give \"status\", \"body\", \"delay_ms\", \"reset\", \"drop\" or \"token\".")
    }
  }

  /// Prefix of the log line for a request that the fault affected.
  var label: String { commandName.isEmpty ? "fault" : commandName }

  /// One line for the log and for `/debug/stats`.
  package var summary: String {
    var words: [String] = []
    if let status { words.append("status \(status)") }
    if let body { words.append("body \(body.rawValue)") }
    if let silence { words.append(silence.rawValue) }
    if let flaw { words.append("token \(flaw.rawValue)") }
    if delay > 0 { words.append("delay \(delay) ms") }
    return words.joined(separator: ", ")
  }
}
