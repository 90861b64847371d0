// SPDX-License-Identifier: Apache-2.0

/// Counters of a client since it was created. The bytes are those of HTTP, without TLS and TCP: HTTP/2 frames, or, with
/// libcurl's HTTP, the equivalent in HTTP/1.1.
package nonisolated struct TrafficCounters: Equatable, Sendable {
  /// Requests that ended, except cancelled ones.
  package var requests: UInt64 = 0
  /// Connections that were opened.
  package var connections: UInt64 = 0
  /// Request lines, headers and bodies.
  package var bytesSent: UInt64 = 0
  /// Status lines, headers and bodies.
  package var bytesReceived: UInt64 = 0

  package init() {}

  package static func + (left: TrafficCounters, right: TrafficCounters) -> TrafficCounters {
    var sum = left
    sum.requests &+= right.requests
    sum.connections &+= right.connections
    sum.bytesSent &+= right.bytesSent
    sum.bytesReceived &+= right.bytesReceived
    return sum
  }
}
