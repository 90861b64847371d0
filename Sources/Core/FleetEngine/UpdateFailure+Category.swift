// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
package import Timekeeping

extension UpdateFailure {
  /// The kind of failure. A new category needs a case here, a row and advice below, and a status code of the Driver SDK
  /// (`MonitorItem`): no other code distinguishes categories.
  package enum Category: String, Sendable, CaseIterable {
    /// The network: no address, no route, no response.
    case network
    /// The server has a temporary fault: 408, 499, 500 and above.
    case unavailable
    /// The server is not Fleet Engine: an untrusted certificate, a web page, a captive portal.
    case notFleetEngine = "untrusted"
    /// The server asks for fewer requests (429).
    case throttled
    /// The token is not valid (401).
    case unauthenticated
    /// The token does not permit this (403).
    case permissionDenied = "denied"
    /// The vehicle does not exist (404).
    case notFound = "missing"
    /// The request itself is rejected (other 4xx).
    case rejected
    /// A certificate that is not valid yet: this machine's clock is behind. Or a token whose times Google rejects: the
    /// clock of the signing machine is wrong.
    case clockSkew = "clock"
  }
}

extension UpdateFailure.Category {
  /// Everything that depends on the category.
  package struct Row: Equatable, Sendable {
    /// The backoff before the next attempt.
    package var backoff: Backoff.Bounds
    /// Whether the server evaluated the request: retrying it unchanged soon will not help, nor will another network.
    package var isEvaluated = false
    /// Whether the token was rejected, so that another one may be accepted.
    package var rejectsToken = false
    /// Whether the network path failed: there was no response.
    package var isNetworkFailure = false
    /// Whether another server answered instead of Fleet Engine.
    package var isFromOtherServer = false
    /// Whether it usually resolves itself: short outages of this kind do not need a warning each.
    package var isTransient = false
    /// Whether it persists until the settings or the backend change.
    package var needsConfiguration = false
    /// Whether the past positions in the request may be the cause.
    package var pastPositions = PastPositions.notSuspect
  }

  /// Whether the past positions in a failed request may be the cause.
  package enum PastPositions: Sendable {
    case notSuspect
    /// The failure is usually an outage, but a server or gateway that cannot process them may fail in the same way.
    case unexplained
    /// The request may have been too large for the network: the next request has fewer past positions.
    case tooMany
    /// The token may not permit past positions.
    case notPermitted
    /// One of them, or the live position, may be what the server rejects.
    case rejected
  }

  /// The consequences of this category.
  package var row: Row {
    switch self {
    case .network:
      // Retries are cheap.
      Row(backoff: .seconds(1, cap: 10), isNetworkFailure: true, isTransient: true, pastPositions: .tooMany)
    case .unavailable:
      // Even the first wait is long: a fleet that retries within a second or two triples the load of a server that is
      // overloaded.
      Row(backoff: .seconds(15, cap: 30), isTransient: true, pastPositions: .unexplained)
    case .notFleetEngine:
      Row(backoff: .seconds(5, cap: 300), isFromOtherServer: true, pastPositions: .unexplained)
    case .throttled:
      Row(backoff: .seconds(20, cap: 90), isEvaluated: true)
    case .unauthenticated:
      Row(backoff: UpdateFailure.tokenBackoff, isEvaluated: true, rejectsToken: true, needsConfiguration: true)
    case .permissionDenied:
      Row(
        backoff: UpdateFailure.tokenBackoff, isEvaluated: true, rejectsToken: true, needsConfiguration: true,
        pastPositions: .notPermitted)
    case .notFound:
      Row(backoff: .seconds(20, cap: 90), isEvaluated: true, needsConfiguration: true)
    case .rejected:
      Row(backoff: .seconds(20, cap: 300), isEvaluated: true, pastPositions: .rejected)
    case .clockSkew:
      Row(backoff: .seconds(5, cap: 60))
    }
  }

  /// What to do; nil if it usually resolves itself.
  func advice(for service: FleetEngineService, _ vehicle: FleetEngineVehicle?) -> String? {
    switch self {
    case .network, .unavailable, .throttled: nil
    case .notFleetEngine: UpdateFailure.advice(for: .certificateUntrusted)
    case .unauthenticated: "the next update has a fresh token"
    case .permissionDenied: UpdateFailure.roleAdvice(service, vehicle)
    case .notFound:
      "the backend must create the vehicle first (\(service.creationMethod)); if it has, check vehicle.vehicle_id"
        + "\(vehicle.parenthesized(\.vehicleID)) and vehicle.provider_id\(vehicle.parenthesized(\.providerID))"
    case .rejected: "Fleet Engine considers the request invalid; please report this message"
    case .clockSkew: UpdateFailure.advice(for: .certificateNotYetValid)
    }
  }
}
