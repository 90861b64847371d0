// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

extension UpdateFailure {
  /// What kind of failure it is. Adding a category is a case here and its row below: nothing else compares categories.
  package enum Category: String, Sendable, CaseIterable {
    /// The network: no name, no route, no answer.
    case network
    /// The server has a temporary fault: 503, 504, 500, 408.
    case unavailable
    /// What answered is not Fleet Engine: a certificate that is not trusted, a web page, a captive portal.
    case untrusted
    /// The server asks for fewer requests (429).
    case throttled
    /// The token is not valid (401).
    case unauthenticated
    /// The token does not permit this (403).
    case denied
    /// The vehicle does not exist (404).
    case missing
    /// The request itself is rejected (other 4xx).
    case rejected
    /// A certificate that is not valid yet: this machine's clock is behind. Or a token whose times Google does not accept: the
    /// clock of the machine that signed it is wrong.
    case clock
  }
}

extension UpdateFailure.Category {
  /// Everything that the program decides by a category.
  package struct Row: Equatable, Sendable {
    /// The wait before the next attempt.
    package var backoff: Backoff.Bounds
    /// Whether the server that was asked has judged the request, so that sending the same again soon is of no use, and
    /// neither is another network.
    package var isJudged = false
    /// Whether it is the token that is not accepted, so that another may be.
    package var refusesToken = false
    /// Whether the network path failed: nothing answered.
    package var isOfPath = false
    /// Whether something else answered in Fleet Engine's place.
    package var isImpostor = false
    /// Whether it passes without anybody doing anything: a short outage of this kind is not worth a warning each time.
    package var isTransient = false
    /// Whether nothing changes until the settings or the backend do.
    package var needsConfiguration = false
    /// What it says of the past positions in the request.
    package var pastPositions = PastPositions.notSuspect
    /// What to do, as the end of a sentence; nil where nothing is to be done.
    package var advice: String?
  }

  /// Whether the past positions that a failed request carried may be the reason.
  package enum PastPositions: Sendable {
    case notSuspect
    /// The request may have been too long for the network: the next one carries fewer.
    case tooMany
    /// The token may not permit to send any.
    case notPermitted
    /// One of them, or the live position, may be what the server rejects.
    case rejected
  }

  /// What follows from this category.
  package var row: Row {
    switch self {
    case .network:
      // Cheap to probe.
      Row(
        backoff: .seconds(1, cap: 10), isOfPath: true, isTransient: true, pastPositions: .tooMany)
    case .unavailable:
      // From the first: a fleet that retries within a second or two triples the load of a server that is in trouble.
      Row(backoff: .seconds(15, cap: 30), isTransient: true)
    case .untrusted:
      Row(
        backoff: .seconds(5, cap: 300), isImpostor: true,
        advice: "a captive portal, a proxy, or fleet_engine.endpoint or ca_file is wrong")
    case .throttled:
      Row(backoff: .seconds(20, cap: 90), isJudged: true)
    case .unauthenticated:
      Row(
        backoff: UpdateFailure.tokenBackoff, isJudged: true, refusesToken: true, needsConfiguration: true,
        advice: "a fresh token is fetched")
    case .denied:
      Row(
        backoff: UpdateFailure.tokenBackoff, isJudged: true, refusesToken: true, needsConfiguration: true,
        pastPositions: .notPermitted,
        advice: "check vehicle.provider_id, vehicle.vehicle_id and the role of the token's service account")
    case .missing:
      Row(
        backoff: .seconds(20, cap: 90), isJudged: true, needsConfiguration: true,
        advice: "create the vehicle in the backend, or check vehicle.provider_id and vehicle_id")
    case .rejected:
      Row(
        backoff: .seconds(20, cap: 300), isJudged: true, pastPositions: .rejected,
        advice: "Fleet Engine considers the request invalid; please report this message")
    case .clock:
      Row(backoff: .seconds(5, cap: 60), advice: "the clock of this machine is behind")
    }
  }
}
