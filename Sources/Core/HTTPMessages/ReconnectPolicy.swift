// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Decides which requests to a server are sent on a new connection, so that one bad connection does not keep a vehicle
/// offline: behind a load balancer, one backend can fail while all others work.
///
/// A connection is bad after a request that failed on it while it remained open (a stream that the server reset,
/// headers that it does not accept), or after two 5xx in a row. If every connection to a server is bad, two new
/// connections are made, and then one every five minutes, until the server accepts a request.
package struct ReconnectPolicy: Equatable, Sendable {
  /// The number of 5xx in a row after which a connection is bad: a single one is often over at the next request.
  private static let serverErrorThreshold = 2
  /// The number of new connections without a minimum time between them.
  private static let burst = 2
  /// The minimum time between later new connections.
  package static let spacing = Duration.seconds(300)

  /// 5xx in a row on the current connection.
  private var consecutiveErrors = 0
  /// Whether the current connection is bad.
  private var isConnectionBad = false
  /// New connections since the server accepted a request, and the time of the last.
  private var newConnections = 0
  private var lastNewConnectionAt = BootInstant.boot

  package init() {}

  /// A request has ended.
  package mutating func ended(_ outcome: HTTPOutcome) {
    switch outcome {
    case .response(let response) where (500..<600).contains(response.status):
      consecutiveErrors += 1
      isConnectionBad = isConnectionBad || consecutiveErrors >= ReconnectPolicy.serverErrorThreshold
    case .failure(let failure) where failure.isConnectionOpen && failure.kind != .throttled:
      isConnectionBad = true
    case .response, .failure:
      // The server works, asks for fewer requests, or the connection is closed.
      consecutiveErrors = 0
      isConnectionBad = false
    }
  }

  /// The server has accepted a request: the limit is reset.
  package mutating func accepted() {
    self = ReconnectPolicy()
  }

  /// Whether a request that is sent now uses a new connection; call it once for each request.
  package mutating func claimNewConnection(at now: BootInstant) -> Bool {
    guard isConnectionBad,
      newConnections < ReconnectPolicy.burst || now - lastNewConnectionAt >= ReconnectPolicy.spacing
    else { return false }
    newConnections += 1
    lastNewConnectionAt = now
    consecutiveErrors = 0
    isConnectionBad = false
    return true
  }
}
