// SPDX-License-Identifier: Apache-2.0

/// The two clocks of the emulator, read together.
package struct ServerTime: Equatable, Sendable {
  /// Milliseconds since 1970, UTC, including the clock offset.
  package var wall: Int64
  /// Milliseconds of a monotonic clock, from an arbitrary start.
  package var steady: Int64

  package init(wall: Int64, steady: Int64) {
    self.wall = wall
    self.steady = steady
  }

  /// `wall` in whole seconds, for the claims of tokens.
  package var wallSeconds: Int64 { wall / 1000 }
}
