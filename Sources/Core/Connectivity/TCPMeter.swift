// SPDX-License-Identifier: Apache-2.0

/// Sums the traffic of connections from their TCP_INFO counters: each byte once, however often a connection is read.
package struct TCPMeter: Equatable, Sendable {
  /// The last reading of each open connection, by its descriptor.
  private var connections: [Int32: TCPTraffic] = [:]
  /// Of all connections so far, up to their last readings.
  package private(set) var total = TCPTraffic()

  package init() {}

  /// The open connections to read.
  package var openDescriptors: [Int32] { connections.keys.sorted() }

  /// A connection begins. If the descriptor is known, its previous connection was closed without a last reading.
  package mutating func opened(_ descriptor: Int32) {
    connections[descriptor] = TCPTraffic()
  }

  /// A reading of a connection's counters. Ignored if the connection is unknown.
  package mutating func record(_ descriptor: Int32, _ counted: TCPTraffic) {
    guard let last = connections[descriptor] else { return }
    total += counted.since(last)
    connections[descriptor] = counted
  }

  /// A connection is about to be closed.
  ///
  /// - Parameter counted: its last reading; nil if it failed.
  package mutating func willClose(_ descriptor: Int32, _ counted: TCPTraffic?) {
    if let counted { record(descriptor, counted) }
    connections[descriptor] = nil
  }
}
