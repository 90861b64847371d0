// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import Timekeeping

/// The network between the daemon and its servers.
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
      guard let obstacle = obstacle(of: fault.kind, request) else { continue }
      coverage.faults.cover(FaultCase(fault.kind))
      return obstacle
    }
    return .nothing
  }

  private func obstacle(of kind: Fault.Kind, _ request: HTTPRequest) -> Obstacle? {
    switch kind {
    case .nameServersDead: .failure(TransportFailure(.unresolved, "name servers dead"), after: .seconds(15))
    case .unresolved: .failure(TransportFailure(.unresolved, "no such host"), after: .milliseconds(40))
    case .unreachable: .failure(TransportFailure(.unreachable, "no route"), after: .milliseconds(1))
    case .dropsPast where request.url.contains("pastLocations"):
      .failure(TransportFailure(.timedOut, "no response"), after: .seconds(15))
    case .silent: .failure(TransportFailure(.timedOut, "no response"), after: .seconds(15))
    case .certificateNotYetValid:
      .failure(TransportFailure(.certificateNotYetValid, "not yet"), after: .milliseconds(90))
    case .captivePortal:
      Bool.random(using: &random)
        ? .webPage : .failure(TransportFailure(.certificateUntrusted, "the hotel's"), after: .milliseconds(90))
    case .loss(let part) where Double.random(in: 0..<1, using: &random) < part / 2:
      .failure(TransportFailure(.timedOut, "no response"), after: .seconds(15))
    default: nil
    }
  }

  func isAnswerLost(at second: Double) -> Bool {
    let cause = scenario.faults.first { fault in
      guard fault.place == .network, fault.isActive(at: second) else { return false }
      switch fault.kind {
      case .loss(let part): return Double.random(in: 0..<1, using: &random) < part / 2
      case .latency, .answersLate, .bandwidth, .dropsPast: return false
      default: return true
      }
    }
    if let cause { coverage.faults.cover(FaultCase(cause.kind)) }
    return cause != nil
  }

  /// Selects the connection of a request: the open one, or a new one.
  ///
  /// - Returns: the connection's fault; nil if it is good.
  func connect(for request: HTTPRequest) -> Fault.BadConnection? {
    let isReplaced = isConnected && request.usesNewConnection
    if request.usesNewConnection { dropConnection() }
    let isOver = line?.isUsable(at: now) == false
    coverage.connections.cover(
      isReplaced
        ? .replaced : !isConnected ? .new : isOver ? .afterGoAway : hasConnectionAnswered ? .answered : .used)
    if !isConnected || isOver {
      connections.append(second)
      hasConnectionAnswered = false
    }
    isConnected = true
    for fault in scenario.faults where fault.isActive(at: second) {
      guard case .badConnections(let every, let kind) = fault.kind else { continue }
      if connections.count(where: { $0 > Double(fault.from) }) % every == 0 {
        coverage.faults.cover(.badConnections)
        coverage.badConnections.cover(kind)
        return kind
      }
    }
    return nil
  }

  func dropConnection() {
    isConnected = false
    line?.drop()
  }

  /// Schedules the outcome of a request on a bad connection.
  func answer(_ id: UInt64, _ flight: Flight, on bad: Fault.BadConnection) {
    guard update?.id == id else { return }
    let outcome: HTTPOutcome =
      switch bad {
      case .refused, .headersTooLarge: .failure(TransportFailure(.unprocessed, "refused", isConnectionOpen: true))
      case .reset: .failure(TransportFailure(.broken, "reset", isConnectionOpen: true))
      case .answeredEarly: .failure(TransportFailure(.answeredEarly, "too early", isConnectionOpen: true))
      case .internalError: .response(HTTPResponse(status: 500, body: [UInt8]("{}".utf8)))
      case .unavailable: .response(HTTPResponse(status: 503, body: [UInt8]("upstream connect error".utf8)))
      }
    queue.schedule(.updateEnds(id: id, outcome), at: min(now + delay(), flight.endsBy))
  }

  /// Closes the connection of a request that has arrived, without sending a byte of a response; the server applies the
  /// request later.
  ///
  /// - Returns: whether the connection was closed.
  func closesUnanswered(_ id: UInt64, _ flight: Flight) -> Bool {
    guard flight.isOnReusedConnection else { return false }
    for fault in scenario.faults where fault.isActive(at: second) {
      guard case .closedUnanswered(let part, let seconds) = fault.kind else { continue }
      // A separate generator leaves the random numbers of other faults unchanged.
      var random = SplitMix64(seed: scenario.seed ^ 0x636C_6F73 &+ id)
      guard Double.random(in: 0..<1, using: &random) < part else { continue }
      coverage.faults.cover(.closedUnanswered)
      let later = now + .milliseconds(Int.random(in: 0...(seconds * 1000), using: &random))
      abandoned[id] = flight
      abandonedIDs.insert(id)
      queue.schedule(.requestArrives(id: id), at: later)
      queue.schedule(
        .updateEnds(id: id, .failure(TransportFailure(.unanswered, "closed"))), at: now + .milliseconds(40))
      return true
    }
    return false
  }

  /// The transmission time of the body.
  func upload(_ request: HTTPRequest) -> Duration {
    for fault in scenario.faults where fault.isActive(at: second) {
      guard case .bandwidth(let bytes) = fault.kind else { continue }
      coverage.faults.cover(.bandwidth)
      return .milliseconds(request.body.count * 1000 / max(bytes, 1))
    }
    return .zero
  }

  func delay() -> Duration {
    var base = 40
    for fault in scenario.faults where fault.place == .network && fault.isActive(at: second) {
      guard case .latency(let milliseconds) = fault.kind else { continue }
      base = milliseconds
      coverage.faults.cover(.latency)
    }
    return .milliseconds(Int.random(in: base...(base * 2), using: &random))
  }
}
