// SPDX-License-Identifier: Apache-2.0

/// Adds up the traffic of connections that come and go, from readings of their counters: each byte once, however often a
/// connection is read.
package struct TCPMeter: Equatable, Sendable {
  /// The last reading of each open connection, by its descriptor.
  private var connections: [Int32: TCPTraffic] = [:]
  /// Of all connections so far, as of their last readings.
  package private(set) var total = TCPTraffic()

  package init() {}

  /// Connections to be read.
  package var open: [Int32] { connections.keys.sorted() }

  /// A connection begins. A descriptor that is known has been closed without a last reading, and is another's now.
  package mutating func opened(_ descriptor: Int32) {
    connections[descriptor] = TCPTraffic()
  }

  /// The counters of a connection stand at this. One that was not opened here is left out.
  package mutating func read(_ descriptor: Int32, _ counted: TCPTraffic) {
    guard let last = connections[descriptor] else { return }
    total += counted.since(last)
    connections[descriptor] = counted
  }

  /// A connection is about to be closed.
  ///
  /// - Parameter counted: its last reading; nil when it could not be read.
  package mutating func closed(_ descriptor: Int32, _ counted: TCPTraffic?) {
    if let counted { read(descriptor, counted) }
    connections[descriptor] = nil
  }
}
