// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The clocks of this machine.
package enum SystemClock {
  /// The current time.
  ///
  /// - Parameter offset: milliseconds to add to the wall clock.
  package static func now(offset: Int64) -> ServerTime {
    ServerTime(wall: read(CLOCK_REALTIME) + offset, steady: read(CLOCK_MONOTONIC))
  }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
