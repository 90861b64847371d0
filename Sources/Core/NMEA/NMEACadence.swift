// SPDX-License-Identifier: Apache-2.0

/// Learns which sentences a receiver sends in each epoch, so that the last of them ends the epoch at once, without
/// waiting for silence.
///
/// A sequence of sentences is used after three epochs in a row, over at least two seconds, have had it, because many
/// receivers send additional sentences once a second. If a sentence arrives for an epoch that has ended, twice as many
/// epochs and twice the time are required. On a noisy line, the last sentences of every epoch may be missing: an epoch
/// with a damaged line is not evidence of any sequence.
struct NMEACadence {
  private var currentHash: UInt64 = 0
  private var lastHash: UInt64 = 0
  private var repetitions = 0
  private var requiredRepetitions = 3
  /// The start of the series of equal epochs, by the receiver's time of day.
  private var seriesStart: Int64 = 0
  private var requiredSpan: Int64 = 2000
  /// Whether a line was damaged in the open epoch, or before its first sentence.
  private var isDamaged = false
  /// Whether the last sentence of an epoch is known.
  private(set) var isTrusted = false

  /// A sentence of the open epoch was received. `address` is its talker and type.
  mutating func note(_ address: UInt64) {
    currentHash = (currentHash &+ address) &* 0x9E37_79B9_7F4A_7C15
  }

  /// A line was damaged, which may have been a sentence of the open epoch.
  mutating func noteDamage() { isDamaged = true }

  /// Whether the open epoch has all the sentences of the previous ones.
  var isComplete: Bool { isTrusted && currentHash == lastHash }

  /// The open epoch ended. Its time is in milliseconds of the day; the series restarts at an epoch without a time, and
  /// at midnight.
  mutating func close(at time: Int64?) {
    defer { (currentHash, isDamaged) = (0, false) }
    guard !isDamaged else { return }
    guard let time, currentHash == lastHash, time >= seriesStart else {
      lastHash = currentHash
      seriesStart = time ?? 0
      repetitions = 1
      isTrusted = false
      return
    }
    repetitions = min(repetitions + 1, requiredRepetitions)
    isTrusted = isTrusted || (repetitions >= requiredRepetitions && time - seriesStart >= requiredSpan)
  }

  /// A sentence was received after the end of its epoch.
  mutating func contradict() {
    repetitions = 0
    isTrusted = false
    requiredRepetitions = min(requiredRepetitions * 2, 4096)
    requiredSpan = min(requiredSpan * 2, 3_600_000)
    lastHash = 0
  }
}
