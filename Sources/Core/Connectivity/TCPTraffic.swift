// SPDX-License-Identifier: Apache-2.0

/// TCP traffic in bytes from the kernel's counters (TCP_INFO), with headers. Name lookups are not included.
package struct TCPTraffic: Equatable, Sendable {
  /// Sent payload, including TLS and retransmissions.
  package var sent: UInt64 = 0
  /// Received payload, without duplicates.
  package var received: UInt64 = 0
  /// The part of `sent` that was retransmitted.
  package var retransmitted: UInt64 = 0
  /// IP and TCP headers of all sent segments, including acknowledgements: the kernel's number of segments times the
  /// size of a header after the handshake.
  package var sentHeaders: UInt64 = 0
  /// Headers of all received segments, likewise.
  package var receivedHeaders: UInt64 = 0

  /// All zero.
  package init() {}

  /// From the counters of one connection.
  ///
  /// - Parameters:
  ///   - sent: payload, retransmissions included.
  ///   - received: payload.
  ///   - retransmitted: the part of `sent` that was retransmitted.
  ///   - segmentsSent: with and without payload; likewise `segmentsReceived`.
  ///   - headerSize: bytes of a segment's headers (`headerSize(isIPv6:hasTimestamps:)`).
  package init(
    sent: UInt64, received: UInt64, retransmitted: UInt64, segmentsSent: UInt64, segmentsReceived: UInt64,
    headerSize: UInt64
  ) {
    self.sent = sent
    self.received = received
    self.retransmitted = retransmitted
    sentHeaders = segmentsSent &* headerSize
    receivedHeaders = segmentsReceived &* headerSize
  }

  /// Size of a segment's headers after the handshake: IP without options or extensions (RFC 791, RFC 8200), TCP (RFC
  /// 9293) with timestamps (RFC 7323, 10 bytes and 2 of padding) if negotiated.
  package static func headerSize(isIPv6: Bool, hasTimestamps: Bool) -> UInt64 {
    (isIPv6 ? 40 : 20) + 20 + (hasTimestamps ? 12 : 0)
  }

  /// Sent bytes with headers.
  package var totalSent: UInt64 { sent &+ sentHeaders }
  /// Received bytes with headers.
  package var totalReceived: UInt64 { received &+ receivedHeaders }
  /// Both directions, with headers.
  package var total: UInt64 { totalSent &+ totalReceived }

  package static func + (left: TCPTraffic, right: TCPTraffic) -> TCPTraffic {
    var sum = left
    for field in fields { sum[keyPath: field] &+= right[keyPath: field] }
    return sum
  }

  /// Adds, as + does.
  package static func += (left: inout TCPTraffic, right: TCPTraffic) { left = left + right }

  /// The difference from an earlier reading of the same counters. If a counter is smaller now, the counters were reset,
  /// and the whole reading is new.
  package func since(_ earlier: TCPTraffic) -> TCPTraffic {
    guard TCPTraffic.fields.allSatisfy({ self[keyPath: $0] >= earlier[keyPath: $0] }) else { return self }
    var difference = self
    for field in TCPTraffic.fields { difference[keyPath: field] -= earlier[keyPath: field] }
    return difference
  }

  /// In the order of `TrafficLedger`'s file format.
  static var fields: [WritableKeyPath<TCPTraffic, UInt64>] {
    [\.sent, \.received, \.retransmitted, \.sentHeaders, \.receivedHeaders]
  }
}
