// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// A scenario for a whole fleet. Times are whole seconds since the start of the run.
package struct FleetScenario: Sendable {
  /// The fault of a server or a network.
  package enum Fault: Equatable, Sendable {
    /// Fleet Engine answers every update with this status.
    case engineAnswers(Int, RetryAfter?)
    /// The token provider's machine refuses connections.
    case providerRefuses
    /// The cell with this number transmits nothing. The modem of every second vehicle reports that.
    case cellLost(Int)
  }

  /// The header by which a server requests a wait.
  package enum RetryAfter: Equatable, Sendable {
    /// This number of seconds.
    case seconds(Int)
    /// Until this second of the run, the same for every vehicle.
    case until(Int)
  }

  /// The cached tokens of previous runs.
  package enum StoredTokens: Equatable, Sendable {
    case none
    /// Tokens of every age.
    case ofAnyAge
    /// All tokens expire in this second, as with a provider that rounds the expiry to the hour.
    case endingAt(Int)
  }

  /// One word, which is the argument of the benchmark's program.
  package let name: String
  /// Its description, for a heading.
  package let title: String
  /// Its duration.
  package private(set) var duration: Int
  /// The vehicles start evenly spread over the first seconds; 0: all in the same instant.
  package var startSpread = 60
  package var storedTokens = StoredTokens.ofAnyAge
  package var fault: Fault?
  /// The period of the fault, or of the restarts.
  package private(set) var period = 0..<0
  /// Every vehicle's daemon is stopped and restarted within `period`.
  package var restarts = false
  /// The clocks of all machines start in 1970 and are never set.
  package var clocksAtZero = false

  /// The second at which the fault or the restarts, and any wait that a server has requested, have ended; without
  /// these, the second at which all vehicles have started.
  package var causeEnd: Int {
    guard !period.isEmpty else { return startSpread }
    switch fault {
    case .engineAnswers(_, .seconds(let seconds)): return period.upperBound + seconds
    case .engineAnswers(_, .until(let second)): return max(second, period.upperBound)
    default: return period.upperBound
    }
  }

  /// The number of seconds at the start in which the limits do not apply: the first update of a run is sent at once,
  /// and so is its token request.
  package var exempt: Int { startSpread == 0 ? 10 : 0 }

  func isActive(at second: Int) -> Bool { period.contains(second) }

  /// The scenario of this name.
  package static func named(_ name: String) -> FleetScenario? { all.first { $0.name == name } }

  /// The same scenario in less time, with a different period of the fault if one is given.
  package func shortened(to duration: Int, fault period: Range<Int>? = nil) -> FleetScenario {
    var copy = self
    copy.duration = duration
    copy.period = period ?? copy.period
    return copy
  }

  init(_ name: String, _ title: String, duration: Int, _ fault: Fault? = nil, period: Range<Int> = 0..<0) {
    self.name = name
    self.title = title
    self.duration = duration
    self.fault = fault
    self.period = period
  }
}

extension FleetScenario {
  /// A normal hour: the reference for the others.
  package static let normal = FleetScenario("normal", "A normal hour", duration: 3600)

  /// All scenarios, the normal hour first.
  package static let all: [FleetScenario] = {
    var start = FleetScenario("start", "All start in the same second", duration: 900)
    start.startSpread = 0
    start.storedTokens = .none
    var expiry = FleetScenario("expiry", "Every token expires in the same second", duration: 2100, period: 1500..<1501)
    expiry.storedTokens = .endingAt(1500)
    var upgrade = FleetScenario("upgrade", "All are restarted within a minute", duration: 900, period: 300..<360)
    upgrade.restarts = true
    var clocks = FleetScenario("clocks", "All clocks at 1970", duration: 900)
    clocks.clocksAtZero = true
    clocks.storedTokens = .none
    var created = FleetScenario(
      "created", "404 after seven idle days", duration: 1800,
      .engineAnswers(404, nil), period: 0..<1200)
    created.storedTokens = .none
    return [
      normal, start,
      FleetScenario(
        "unavailable", "Fleet Engine answers 503", duration: 1500, .engineAnswers(503, nil),
        period: 300..<900),
      FleetScenario(
        "throttled", "429 without Retry-After", duration: 1500, .engineAnswers(429, nil),
        period: 300..<900),
      FleetScenario(
        "wait", "429 with Retry-After: 120", duration: 1500,
        .engineAnswers(429, .seconds(120)), period: 300..<900),
      FleetScenario(
        "date", "429 with Retry-After, one date for all", duration: 1500,
        .engineAnswers(429, .until(930)), period: 300..<900),
      FleetScenario(
        "provider", "Token provider down for two hours", duration: 9000, .providerRefuses,
        period: 600..<7800),
      expiry,
      FleetScenario(
        "cell", "A fifth of the fleet without network", duration: 2100, .cellLost(1),
        period: 300..<1500),
      upgrade, clocks, created,
    ]
  }()
}
