// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Random numbers with random access: each is determined by a seed, a stream and a second.
struct ReceiverNoise: Sendable {
  /// The purpose of each stream.
  enum Stream: UInt64 {
    case east = 1
    case north, up, multipathEast, multipathNorth, multipathUp, jitterEast, jitterNorth, jitterUp, speed, heading,
      reacquisition
  }

  private let seed: UInt64

  init(seed: UInt64) {
    self.seed = seed
  }

  /// Independent of every other second; normally distributed with a standard deviation of 1.
  func white(_ stream: Stream, _ second: Int64) -> Double {
    var random = generator(stream, second)
    return random.normal()
  }

  /// Correlated over `period` seconds; normally distributed with a standard deviation of 1.
  func drifting(_ stream: Stream, _ second: Int64, period: Int64) -> Double {
    let (index, rest) = second.quotientAndRemainder(dividingBy: period)
    // Weights by sine and cosine: their squares add up to 1, so the standard deviation is the same between the knots.
    let turn = Trigonometry.rotation(degrees: 90 * Double(rest) / Double(period))
    return white(stream, index) * turn.cosine + white(stream, index &+ 1) * turn.sine
  }

  /// From 0 up to but not including 1.
  func uniform(_ stream: Stream, _ index: Int64) -> Double {
    var random = generator(stream, index)
    return random.uniform()
  }

  private func generator(_ stream: Stream, _ index: Int64) -> SplitMix64 {
    var mixer = SplitMix64(seed: UInt64(bitPattern: index) ^ (stream.rawValue << 56))
    return SplitMix64(seed: seed ^ mixer.next())
  }
}
