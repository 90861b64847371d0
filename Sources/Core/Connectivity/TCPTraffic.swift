// SPDX-License-Identifier: Apache-2.0

/// Bytes that TCP has carried, as the kernel counts them (TCP_INFO), with the headers that they travelled in. Name look-ups are
/// not TCP and not in it.
package struct TCPTraffic: Equatable, Sendable {
  /// Payload that was sent, TLS and retransmissions included.
  package var sent: UInt64 = 0
  /// Payload that was received, each byte once.
  package var received: UInt64 = 0
  /// What of `sent` was sent again.
  package var retransmitted: UInt64 = 0
  /// Headers of IP and TCP of all segments that were sent, acknowledgements included: the kernel's number of segments times the
  /// size of a header after the handshake.
  package var sentHeaders: UInt64 = 0
  /// Headers of all segments that were received, likewise.
  package var receivedHeaders: UInt64 = 0

  /// Nothing.
  package init() {}

  /// From the counters of one connection.
  ///
  /// - Parameters:
  ///   - sent: payload, retransmissions included.
  ///   - received: payload.
  ///   - retransmitted: of `sent`.
  ///   - segmentsSent: with and without payload; `segmentsReceived` likewise.
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

  /// Bytes of the headers of a segment after the handshake: IP without options or extensions (RFC 791, RFC 8200), TCP
  /// (RFC 9293) with the timestamps (RFC 7323, 10 bytes and 2 of padding) where the two ends agreed on them.
  package static func headerSize(isIPv6: Bool, hasTimestamps: Bool) -> UInt64 {
    (isIPv6 ? 40 : 20) + 20 + (hasTimestamps ? 12 : 0)
  }

  /// What went out, with headers.
  package var allSent: UInt64 { sent &+ sentHeaders }
  /// What came in, with headers.
  package var allReceived: UInt64 { received &+ receivedHeaders }
  /// Both ways, with headers.
  package var all: UInt64 { allSent &+ allReceived }

  package static func + (left: TCPTraffic, right: TCPTraffic) -> TCPTraffic {
    var sum = left
    for field in fields { sum[keyPath: field] &+= right[keyPath: field] }
    return sum
  }

  /// Adds, as + does.
  package static func += (left: inout TCPTraffic, right: TCPTraffic) { left = left + right }

  /// What was added since an earlier reading of the same counters. Where one of them is smaller now they have begun anew, and
  /// all of this is new.
  package func since(_ earlier: TCPTraffic) -> TCPTraffic {
    guard TCPTraffic.fields.allSatisfy({ self[keyPath: $0] >= earlier[keyPath: $0] }) else { return self }
    var difference = self
    for field in TCPTraffic.fields { difference[keyPath: field] -= earlier[keyPath: field] }
    return difference
  }

  /// In the order in which `TrafficLedger` writes them.
  static var fields: [WritableKeyPath<TCPTraffic, UInt64>] {
    [\.sent, \.received, \.retransmitted, \.sentHeaders, \.receivedHeaders]
  }
}
