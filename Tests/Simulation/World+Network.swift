// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import Timekeeping

/// The network between the program and its servers.
extension World {
  enum Obstacle {
    case nothing
    case failure(TransportFailure, after: Duration)
    case webPage
  }

  func obstacle(at second: Double, _ request: HTTPRequest) -> Obstacle {
    if scenario.hasCertificates {
      let time = request.certificateTime ?? moment.wall
      let (start, end) = (Scenario.boot - .seconds(30 * 86_400), Scenario.boot + .seconds(60 * 86_400))
      if time < start {
        return .failure(TransportFailure(.certificateNotYetValid, "not yet valid"), after: .milliseconds(90))
      }
      if time > end { return .failure(TransportFailure(.certificateExpired, "expired"), after: .milliseconds(90)) }
    }
    for fault in scenario.faults where fault.place == .network && fault.isActive(at: second) {
      switch fault.kind {
      case .nameServersDead: return .failure(TransportFailure(.unresolved, "name servers dead"), after: .seconds(15))
      case .unresolved: return .failure(TransportFailure(.unresolved, "no such host"), after: .milliseconds(40))
      case .unreachable: return .failure(TransportFailure(.unreachable, "no route"), after: .milliseconds(1))
      case .silent: return .failure(TransportFailure(.timedOut, "no response"), after: .seconds(15))
      case .certificateNotYetValid:
        return .failure(TransportFailure(.certificateNotYetValid, "not yet"), after: .milliseconds(90))
      case .captivePortal:
        return Bool.random(using: &random)
          ? .webPage : .failure(TransportFailure(.certificateUntrusted, "the hotel's"), after: .milliseconds(90))
      case .loss(let part) where Double.random(in: 0..<1, using: &random) < part / 2:
        return .failure(TransportFailure(.timedOut, "no response"), after: .seconds(15))
      default: break
      }
    }
    return .nothing
  }

  func isAnswerLost(at second: Double) -> Bool {
    scenario.faults.contains { fault in
      guard fault.place == .network, fault.isActive(at: second) else { return false }
      switch fault.kind {
      case .loss(let part): return Double.random(in: 0..<1, using: &random) < part / 2
      case .latency, .answersLate, .bandwidth: return false
      default: return true
      }
    }
  }

  /// How long the body takes.
  func upload(_ request: HTTPRequest) -> Duration {
    for fault in scenario.faults where fault.isActive(at: second) {
      if case .bandwidth(let bytes) = fault.kind { return .milliseconds(request.body.count * 1000 / max(bytes, 1)) }
    }
    return .zero
  }

  func delay() -> Duration {
    var base = 40
    for fault in scenario.faults where fault.place == .network && fault.isActive(at: second) {
      if case .latency(let milliseconds) = fault.kind { base = milliseconds }
    }
    return .milliseconds(Int.random(in: base...(base * 2), using: &random))
  }
}
