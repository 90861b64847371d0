// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

extension Timestamp {
  /// A GPS week counter of ten bits starts anew every 1024 weeks; a receiver that has not noticed tells a date so much
  /// too early. A date before `floor` cannot be, and moves forward by whole steps until it can.
  package func afterRollover(notBefore floor: Timestamp) -> Timestamp {
    let step: Int64 = 1024 * 7 * 86_400_000
    guard milliseconds < floor.milliseconds else { return self }
    let (gap, overflow) = floor.milliseconds.subtractingReportingOverflow(milliseconds)
    guard !overflow, gap <= .max - step else { return self }
    let steps = gap / step + (gap % step == 0 ? 0 : 1)
    let (moved, tooFar) = milliseconds.addingReportingOverflow(steps * step)
    return tooFar ? self : Timestamp(milliseconds: moved)
  }

  /// The moment with this time of day that is nearest to this one: at most twelve hours away.
  package func nearest(millisecondsOfDay: Int64) -> Timestamp {
    let day: Int64 = 86_400_000
    var offset = (millisecondsOfDay - self.millisecondsOfDay) % day
    if offset > day / 2 { offset -= day }
    if offset < -day / 2 { offset += day }
    return self + .milliseconds(offset)
  }
}
