// SPDX-License-Identifier: Apache-2.0

/// Learns which sentences a receiver sends in each epoch, so that the last of them ends the epoch at once and no fix
/// waits for the next.
///
/// An epoch's sequence of sentences is trusted after it came three times in a row and for two seconds, for many receivers
/// send more once a second than with every position. When a sentence comes that should have been in an epoch already
/// ended, the sequence has to show itself twice as long before it is trusted again.
struct NMEACadence {
  private var current: UInt64 = 0
  private var last: UInt64 = 0
  private var repetitions = 0
  private var requiredRepetitions = 3
  /// When the row of equal epochs began, by the receiver's time of day.
  private var start: Int64 = 0
  private var requiredTime: Int64 = 2000
  private var isTrusted = false

  /// A sentence of the open epoch came. `address` is its talker and type.
  mutating func note(_ address: UInt64) {
    current = (current &+ address) &* 0x9E37_79B9_7F4A_7C15
  }

  /// Whether the open epoch has all the sentences of those before it.
  var isComplete: Bool { isTrusted && current == last }

  /// The open epoch ended. Its time is in milliseconds of the day; one without time teaches nothing, and at midnight the
  /// row begins anew.
  mutating func close(at time: Int64?) {
    defer { current = 0 }
    guard let time, current == last, time >= start else {
      last = current
      start = time ?? 0
      repetitions = 1
      isTrusted = false
      return
    }
    repetitions = min(repetitions + 1, requiredRepetitions)
    isTrusted = isTrusted || (repetitions >= requiredRepetitions && time - start >= requiredTime)
  }

  /// A sentence came too late for its epoch.
  mutating func contradict() {
    repetitions = 0
    isTrusted = false
    requiredRepetitions = min(requiredRepetitions * 2, 1 << 20)
    requiredTime = min(requiredTime * 2, 1 << 30)
    last = 0
  }
}
