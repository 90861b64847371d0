// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

extension Timestamp {
  /// Repairs a GPS week rollover: a counter of ten bits restarts every 1024 weeks, and a receiver that ignores it
  /// reports an earlier date. A date before `floor` is moved forward by multiples of 1024 weeks.
  package func afterRollover(notBefore floor: Timestamp) -> Timestamp {
    let step: Int64 = 1024 * 7 * 86_400_000
    guard milliseconds < floor.milliseconds else { return self }
    let (gap, overflow) = floor.milliseconds.subtractingReportingOverflow(milliseconds)
    guard !overflow, gap <= .max - step else { return self }
    let steps = gap / step + (gap % step == 0 ? 0 : 1)
    let (moved, tooFar) = milliseconds.addingReportingOverflow(steps * step)
    return tooFar ? self : Timestamp(milliseconds: moved)
  }

  /// The time with this time of day that is nearest to this one: at most twelve hours away.
  package func nearest(millisecondsOfDay: Int64) -> Timestamp {
    let day: Int64 = 86_400_000
    var offset = (millisecondsOfDay - self.millisecondsOfDay) % day
    if offset > day / 2 { offset -= day }
    if offset < -day / 2 { offset += day }
    return self + .milliseconds(offset)
  }
}
