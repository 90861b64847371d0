// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

extension Timestamp {
  /// Repairs a GPS week rollover: a counter of ten bits restarts every 1024 weeks, and a receiver that ignores it
  /// reports an earlier date. A date before `floor` is moved forward by multiples of 1024 weeks.
  package func afterRollover(notBefore floor: Timestamp) -> Timestamp {
    let rolloverPeriod: Int64 = 1024 * 7 * 86_400_000
    guard milliseconds < floor.milliseconds else { return self }
    let (gap, overflow) = floor.milliseconds.subtractingReportingOverflow(milliseconds)
    guard !overflow, gap <= .max - rolloverPeriod else { return self }
    let rollovers = gap / rolloverPeriod + (gap % rolloverPeriod == 0 ? 0 : 1)
    let (moved, tooFar) = milliseconds.addingReportingOverflow(rollovers * rolloverPeriod)
    return tooFar ? self : Timestamp(milliseconds: moved)
  }

  /// The time with this time of day that is nearest to this one: at most twelve hours away.
  package func nearest(millisecondsOfDay: Int64) -> Timestamp {
    let millisecondsPerDay: Int64 = 86_400_000
    var offset = (millisecondsOfDay - self.millisecondsOfDay) % millisecondsPerDay
    if offset > millisecondsPerDay / 2 { offset -= millisecondsPerDay }
    if offset < -millisecondsPerDay / 2 { offset += millisecondsPerDay }
    return self + .milliseconds(offset)
  }
}
