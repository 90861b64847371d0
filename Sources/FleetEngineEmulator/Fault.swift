// SPDX-License-Identifier: Apache-2.0

/// A misbehaviour that a test or a demo asked for at `/debug/faults`.
package struct Fault: Equatable, Sendable {
  package enum Target: String, Sendable, CaseIterable {
    case update
    case token
  }

  /// What stands in the answer instead of what belongs there.
  package enum Body: String, Sendable, CaseIterable {
    /// A captive portal's page.
    case html
    case empty
    /// Ends before the length that was promised.
    case truncated
    /// 200 MB that begin like JSON.
    case huge
    case notJSON = "not-json"
  }

  /// How the connection ends without an answer.
  package enum Silence: String, Sendable {
    /// The connection breaks off at once.
    case reset
    /// Nothing comes until the client gives up.
    case drop
  }

  /// Counts up from 1, once it is in the plan.
  package internal(set) var id = 0
  /// The act that it is part of; empty when it was asked for by itself.
  package internal(set) var name = ""
  /// Whom it befalls; nil means every vehicle.
  package var vehicle: String?
  package var target: Target
  /// For how many requests more; nil when it ends by time.
  package var times: Int?
  /// Steady milliseconds when it ends; nil when it ends by count.
  package var end: Int64?
  package var status: Int?
  package var body: Body?
  package var silence: Silence?
  package var delay: Int64
  /// `Retry-After`: seconds as text, `date+N` for an HTTP date N seconds ahead, or any text to be sent as it is.
  package var retryAfter: String?
  /// `RetryInfo.retryDelay`.
  package var retryInfo: String?
  package var reason: String?
  package var message: String?
  package var flaw: TokenIssuer.Flaw?
  /// The update is applied, and only its answer suffers.
  package var applies: Bool

  /// Reads what was posted.
  ///
  /// - Throws: `APIError`, INVALID_ARGUMENT, which names the key and what it may be.
  package init(_ json: JSON, at now: ServerTime) throws(APIError) {
    var reader = FaultReader(json)
    guard let target = try reader.choice("target", Target.self) else {
      throw .invalid("\"target\" is missing: expected \"update\" or \"token\".", field: "target")
    }
    self.target = target
    let limit = try reader.whole("times", 1...1_000_000_000)
    let duration = try reader.whole("for_ms", 1...86_400_000)
    end = duration.map { now.steady + $0 }
    times = limit.map(Int.init) ?? (duration == nil ? 1 : nil)
    status = try reader.whole("status", 200...599).map(Int.init)
    body = try reader.choice("body", Body.self)
    delay = try reader.whole("delay_ms", 0...3_600_000) ?? 0
    retryAfter = try reader.text("retry_after")
    retryInfo = try reader.text("retry_info")
    reason = try reader.text("reason")
    message = try reader.text("message")
    flaw = try reader.choice("token", TokenIssuer.Flaw.self)
    applies = try reader.flag("apply")
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

/// Takes the keys of a fault one by one, so that what is left over is unknown.
private struct FaultReader {
  private let json: JSON
  private var known: [String] = []

  init(_ json: JSON) {
    self.json = json
  }

  private mutating func value(_ key: String) -> JSON? {
    known.append(key)
    return json[key]
  }

  mutating func choice<T>(_ key: String, _: T.Type) throws(APIError) -> T?
  where T: RawRepresentable<String> & CaseIterable {
    guard let value = value(key) else { return nil }
    guard let choice = value.string.flatMap(T.init(rawValue:)) else {
      let allowed = T.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
      throw .invalid("\"\(key)\" is one of \(allowed).", field: key)
    }
    return choice
  }

  mutating func whole(_ key: String, _ range: ClosedRange<Int64>) throws(APIError) -> Int64? {
    guard let value = value(key) else { return nil }
    guard let number = value.integer, range.contains(number) else {
      throw .invalid("\"\(key)\" is a whole number from \(range.lowerBound) to \(range.upperBound).", field: key)
    }
    return number
  }

  /// Text that may stand in a header; a number counts as its text.
  mutating func text(_ key: String) throws(APIError) -> String? {
    guard let value = value(key) else { return nil }
    let text = value.string ?? value.integer.map(String.init)
    guard let text, text.utf8.count <= 200, text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
      throw .invalid("\"\(key)\" is at most 200 printable ASCII characters.", field: key)
    }
    return text
  }

  mutating func flag(_ key: String) throws(APIError) -> Bool {
    guard let value = value(key) else { return false }
    guard let flag = value.bool else { throw .invalid("\"\(key)\" is true or false.", field: key) }
    return flag
  }

  func finish() throws(APIError) {
    guard case .object(let members) = json else { throw .invalid("A fault is a JSON object.") }
    if let unknown = members.first(where: { !known.contains($0.name) }) {
      throw .invalid(
        "\"\(unknown.name)\" is no key of a fault; known are \(known.joined(separator: ", ")).", field: unknown.name)
    }
  }
}

/// The faults in the order in which they were asked for; the first that matches is served.
package struct FaultPlan: Sendable {
  private(set) var faults: [Fault] = []

  package init() {}

  package mutating func add(_ fault: Fault) {
    faults.append(fault)
  }

  package mutating func clear() {
    faults.removeAll()
  }

  /// The fault for a request, counted as used.
  package mutating func take(_ target: Fault.Target, at now: ServerTime) -> Fault? {
    faults.removeAll { fault in fault.end.map { $0 <= now.steady } ?? false }
    guard let index = faults.firstIndex(where: { $0.target == target }) else { return nil }
    let fault = faults[index]
    if let times = fault.times {
      faults[index].times = times - 1
      if times <= 1 { faults.remove(at: index) }
    }
    return fault
  }
}
