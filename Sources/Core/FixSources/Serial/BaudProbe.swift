// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Detects the baud rate of a serial receiver: the one at which sentences have valid checksums.
///
/// When the port is reopened, it starts with the rate that was detected last, and stays there until bytes arrive: a
/// receiver without power sends nothing at any rate.
package struct BaudProbe: Equatable, Sendable {
  /// Bits per second, most common first: the default of most modules, that of old modules and of the NMEA 0183
  /// standard, that of NMEA 0183-HS, and the rates of modules that report many satellites.
  package static let rates = [9600, 4800, 38_400, 115_200, 57_600, 19_200, 230_400, 460_800, 921_600]
  /// The number of valid sentences that confirm a rate. One may be valid by chance: the checksum has eight bits.
  package static let requiredSentences = 2
  /// How long each rate is tried: two bursts of a receiver at 1 Hz.
  package static let dwell = Duration.milliseconds(2500)
  /// Once a rate has been confirmed, all are tried in the last two of this many rounds without sentences: an adapter
  /// may discard what arrives at a wrong rate. Of the two one is complete, even if the port is reopened in between.
  /// With an odd number of rates and of rounds, a receiver that sends in every second dwell is found, too.
  private static let silentRounds = 31
  private var order = BaudProbe.rates
  private var index = 0
  private var sentences = 0
  private var triedSince: BootInstant?
  /// Whether the time for this rate was extended.
  private var isExtended = false
  /// Whether the first rate of `order` was confirmed before the port was reopened.
  private var hasConfirmedRate = false
  /// The number of dwells that have ended since bytes were last received; after opening at least one.
  private var silentDwells = 0
  /// The number of dwells that have ended since a valid sentence was last received.
  private var fruitlessDwells = 0
  /// Whether the rate has been confirmed since the port was opened.
  package private(set) var isFound = false

  private let dwell: Duration

  /// - Parameter dwell: how long each rate is tried.
  package init(dwell: Duration = BaudProbe.dwell) {
    self.dwell = dwell
  }

  /// The duration of trying all rates.
  package var roundDuration: Duration { dwell * BaudProbe.rates.count }

  /// The current rate.
  package var baud: Int { order.indices.contains(index) ? order[index] : BaudProbe.rates[0] }

  /// When to try the next rate; nil if the rate is confirmed, or the port is closed.
  package var nextDeadline: BootInstant? { isFound ? nil : triedSince.map { $0 + dwell } }

  /// The port was opened at `baud`.
  package mutating func opened(at now: BootInstant) {
    triedSince = now
    sentences = 0
    silentDwells = max(silentDwells, 1)
    isExtended = false
    isFound = false
  }

  /// The port was closed; the next attempt starts with the confirmed rate, if any.
  package mutating func closed() {
    triedSince = nil
    // Another device of this name may do the rates that this one refused.
    let first = isFound ? baud : order.first ?? BaudProbe.rates[0]
    order = [first] + BaudProbe.rates.filter { $0 != first }
    index = 0
    hasConfirmedRate = hasConfirmedRate || isFound
    isFound = false
  }

  /// Bytes were received, with this number of valid sentences.
  ///
  /// - Returns: 0 until the rate is confirmed; in the call that confirms it, all sentences that count towards this;
  ///   then `count`.
  package mutating func received(sentences count: Int) -> Int {
    silentDwells = 0
    if isFound { return count }
    sentences += max(count, 0)
    if count > 0 { fruitlessDwells = 0 }
    guard sentences >= BaudProbe.requiredSentences else { return 0 }
    isFound = true
    return sentences
  }

  /// Whether the confirmed rate is preferred to the others.
  private var isPreferred: Bool {
    let rates = BaudProbe.rates.count
    return hasConfirmedRate
      && fruitlessDwells % (BaudProbe.silentRounds * rates) < (BaudProbe.silentRounds - 2) * rates
  }

  /// Whether the receiver is awaited at the confirmed rate. One that reports every three seconds is silent for a dwell
  /// now and then, so the search for its rate ends only after two.
  private var isAwaited: Bool { isPreferred && silentDwells > (index == 0 ? 0 : 1) }

  /// Advances to the next rate if it is due, or returns to the confirmed one.
  ///
  /// - Returns: the rate to set, if it changes.
  package mutating func advance(at now: BootInstant) -> Int? {
    guard let nextDeadline, now >= nextDeadline else { return nil }
    triedSince = now
    let previous = index
    let next = isAwaited ? 0 : (index + 1) % order.count
    // After a first sentence, the rate is tried for one more period; the confirmed rate after any bytes, as the first
    // ones may be noise from the receiver's power-on.
    let isPromising = sentences > 0 || isPreferred && index == 0 && silentDwells == 0
    silentDwells += 1
    fruitlessDwells += 1
    isExtended = isPromising && !isExtended
    if isExtended { return nil }
    sentences = 0
    index = next
    return index == previous ? nil : baud
  }

  /// The device does not support the rate; it is not tried again.
  ///
  /// - Returns: the rate to set instead; nil if there is none.
  package mutating func refused() -> Int? {
    guard order.count > 1, order.indices.contains(index) else { return nil }
    if index == 0 { hasConfirmedRate = false }
    order.remove(at: index)
    index %= order.count
    return baud
  }
}
