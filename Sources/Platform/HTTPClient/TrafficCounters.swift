// SPDX-License-Identifier: Apache-2.0

/// What a client has done since it was made. Bytes are those of HTTP, before TLS and TCP wrap them: frames of HTTP/2, and what
/// libcurl carries as HTTP/1.1 would write it.
package nonisolated struct TrafficCounters: Equatable, Sendable {
  /// Requests that ended, in whatever way, cancelled ones not counted.
  package var requests: UInt64 = 0
  /// Connections opened.
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
