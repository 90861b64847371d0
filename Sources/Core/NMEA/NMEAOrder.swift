// SPDX-License-Identifier: Apache-2.0

/// Learns which sentences without a time a receiver sends before those with a time, so that such sentences begin the
/// next epoch even without a silence: SiRF receivers send GSA before RMC, and a recording has no silence.
///
/// A sentence between two sentences with the same time belongs to their epoch: `GGA GSA RMC` with one time shows that
/// GSA comes before RMC, so in `RMC GSA RMC` with two times, GSA belongs to the second. A kind that comes both before
/// and after another is ambiguous.
struct NMEAOrder {
  /// The kinds without a time.
  enum Untimed: Int, CaseIterable {
    /// VTG.
    case motion
    /// GSA.
    case satellites
  }

  /// The observed order of a kind without a time. The sets contain kinds with a time, one bit each.
  private struct KindOrder {
    var successors: UInt8 = 0
    var predecessors: UInt8 = 0
    /// How often it was between two sentences with the same time, and how often this is required.
    var sightings = 0
    var requiredSightings = 2
    /// Kinds with a time before it in the open epoch; 0 if it was first, or not received yet.
    var preceding: UInt8 = 0
  }

  private var orders = Untimed.allCases.map { _ in KindOrder() }
  /// Kinds with a time in the open epoch, or, if none is open, in the last one.
  private var kinds: UInt8 = 0
  private var isClosed = true

  /// A sentence of the open epoch was received: the kinds of the last epoch no longer count.
  mutating func begin() {
    guard isClosed else { return }
    kinds = 0
    isClosed = false
  }

  /// A sentence with the time of the open epoch was received. `kind` is its bit.
  mutating func note(timed kind: UInt8) {
    begin()
    for index in orders.indices where orders[index].preceding != 0 {
      orders[index].successors |= kind
      orders[index].predecessors |= orders[index].preceding
      orders[index].preceding = 0
      orders[index].sightings = min(orders[index].sightings + 1, orders[index].requiredSightings)
    }
    kinds |= kind
  }

  /// A sentence without a time was received in the open epoch.
  mutating func note(_ untimed: Untimed) {
    begin()
    orders[untimed.rawValue].preceding = kinds
  }

  /// Whether a sentence of this kind begins the next epoch, after the kinds received in the open epoch or, if none is
  /// open, in the last one.
  func begins(_ untimed: Untimed) -> Bool {
    let order = orders[untimed.rawValue]
    return order.sightings >= order.requiredSightings && kinds & order.successors & ~order.predecessors != 0
  }

  /// The open epoch ended.
  mutating func close() {
    isClosed = true
    for index in orders.indices { orders[index].preceding = 0 }
  }

  /// A sentence did not begin an epoch although its kind was expected to: the order must be observed twice as often.
  mutating func contradict(_ untimed: Untimed) {
    let required = orders[untimed.rawValue].requiredSightings
    orders[untimed.rawValue] = KindOrder(requiredSightings: min(required * 2, 1 << 20))
  }
}
