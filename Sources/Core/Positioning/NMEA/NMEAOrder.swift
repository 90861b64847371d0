// SPDX-License-Identifier: Apache-2.0

/// Learns which sentences without a time a receiver sends before which with one, so that they begin the next epoch where no
/// silence separates the two: SiRF sends GSA before RMC, and a recording has no silence.
///
/// What is known for certain is what comes between two sentences of the same time. `GGA GSA RMC`, all of one epoch, shows
/// that GSA comes before RMC; in `RMC GSA RMC`, with two times, GSA then belongs to the second. A kind that comes before
/// and after another alike says nothing.
struct NMEAOrder {
  /// The kinds without a time.
  enum Untimed: Int {
    /// VTG.
    case motion
    /// GSA.
    case satellites
  }

  /// What is known of a kind without a time. The sets hold kinds with a time, a bit each.
  private struct Place {
    var successors: UInt8 = 0
    var predecessors: UInt8 = 0
    /// How often it came between two sentences of the same time, and how often it has to.
    var sightings = 0
    var requiredSightings = 2
    /// Kinds with a time that came before it in the open epoch; 0 when it has not come, or came first.
    var preceding: UInt8 = 0
  }

  private var places = [Place(), Place()]
  /// Kinds with a time in the open epoch; when none is open, in the last one.
  private var kinds: UInt8 = 0
  private var isClosed = true

  /// A sentence with the time of the open epoch came. `kind` is its bit.
  mutating func note(timed kind: UInt8) {
    resume()
    for index in places.indices where places[index].preceding != 0 {
      places[index].successors |= kind
      places[index].predecessors |= places[index].preceding
      places[index].preceding = 0
      places[index].sightings = min(places[index].sightings + 1, places[index].requiredSightings)
    }
    kinds |= kind
  }

  /// A sentence without a time came into the open epoch.
  mutating func note(_ untimed: Untimed) {
    resume()
    places[untimed.rawValue].preceding = kinds
  }

  /// Whether such a sentence would begin the next epoch, after what has come in this one or, when none is open, in the last.
  func begins(_ untimed: Untimed) -> Bool {
    let place = places[untimed.rawValue]
    return place.sightings >= place.requiredSightings && kinds & place.successors & ~place.predecessors != 0
  }

  /// The open epoch ended.
  mutating func close() {
    isClosed = true
    for index in places.indices { places[index].preceding = 0 }
  }

  /// An epoch that such a sentence was taken to begin had not begun: what is known of it must show itself twice as often.
  mutating func contradict(_ untimed: Untimed) {
    let required = places[untimed.rawValue].requiredSightings
    places[untimed.rawValue] = Place(requiredSightings: min(required * 2, 1 << 20))
  }

  private mutating func resume() {
    guard isClosed else { return }
    kinds = 0
    isClosed = false
  }
}
