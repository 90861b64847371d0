// SPDX-License-Identifier: Apache-2.0

/// Learns which sentences a receiver sends in each epoch, so that the last of them ends the epoch at once and no fix
/// waits for the next.
///
/// An epoch's sequence of sentences is trusted after it came three times in a row. When a sentence comes that should have
/// been in an epoch already ended, the sequence has to show itself twice as often before it is trusted again.
struct NMEACadence {
  private var current: UInt64 = 0
  private var last: UInt64 = 0
  private var repetitions = 0
  private var required = 3

  /// A sentence of the open epoch came. `address` is its talker and type.
  mutating func note(_ address: UInt64) {
    current = (current &+ address) &* 0x9E37_79B9_7F4A_7C15
  }

  /// Whether the open epoch has all the sentences of those before it.
  var isComplete: Bool { repetitions >= required && current == last }

  /// The open epoch ended.
  mutating func close() {
    if current == last {
      repetitions = min(repetitions + 1, required)
    } else {
      last = current
      repetitions = 1
    }
    current = 0
  }

  /// A sentence came too late for its epoch.
  mutating func contradict() {
    repetitions = 0
    required = min(required * 2, 1 << 20)
  }
}
