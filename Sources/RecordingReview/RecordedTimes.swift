// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// The time of each fix of a recording, and its assumed arrival, derived from the recorded times alone.
///
/// A time of day gets its date from the dated fixes around it, or an assumed day if the recording has no date. Fixes
/// are assumed to have arrived at their own times; a single wrong timestamp does not affect the other fixes, because
/// the following ones reveal it.
struct RecordedTimes {
  /// The assumed day of a recording without a date.
  static let assumedDay = Timestamp(seconds: 946_684_800)
  /// A longer step between two fixes is a pause or a wrong timestamp.
  private static let maximumStep = Duration.seconds(60)
  /// The number of fixes after such a step that decide which of the two it was.
  private static let lookahead = 5

  /// One timestamp for each fix. A fix without a time has that of the previous one.
  private(set) var stamps: [Timestamp]
  /// One arrival for each fix, in order; the first is at boot.
  private(set) var arrivals: [BootInstant]
  /// Whether any fix has a date.
  let isDated: Bool

  init(_ fixes: [Fix]) {
    let firstDated = fixes.firstIndex { $0.timestamp != nil }
    isDated = firstDated != nil
    stamps = RecordedTimes.stamps(of: fixes, firstDated: firstDated)
    arrivals = RecordedTimes.arrivals(of: stamps)
  }

  private static func stamps(of fixes: [Fix], firstDated: Int?) -> [Timestamp] {
    var last = RecordedTimes.assumedDay
    if let firstDated, let date = fixes[firstDated].timestamp {
      // Backward from the first date to the beginning, and forward from there.
      last = date
      for fix in fixes[..<firstDated].reversed() {
        if case .ofDay(let milliseconds) = fix.time { last = last.nearest(millisecondsOfDay: milliseconds) }
      }
    } else if let milliseconds = fixes.lazy.compactMap(\.millisecondsOfDay).first {
      last = last + .milliseconds(milliseconds)
    }
    return fixes.map { fix in
      switch fix.time {
      case .utc(let stamp): last = stamp
      case .ofDay(let milliseconds): last = last.nearest(millisecondsOfDay: milliseconds)
      case nil: break
      }
      return last
    }
  }

  private static func arrivals(of stamps: [Timestamp]) -> [BootInstant] {
    var arrivals: [BootInstant] = []
    arrivals.reserveCapacity(stamps.count)
    // The last fix with a plausible timestamp, and the usual step.
    var anchor = (stamp: stamps.first ?? assumedDay, arrival: BootInstant.boot)
    var usualStep = Duration.seconds(1)
    for (index, stamp) in stamps.enumerated() {
      let step = stamp - anchor.stamp
      let following = stamps[(index + 1)...].prefix(lookahead)
      if step >= .zero, step <= maximumStep {
        if step > .zero { usualStep = step }
        anchor = (stamp, anchor.arrival + step)
      } else if following.contains(where: { $0 >= anchor.stamp && (step < .zero || $0 < stamp) }) {
        // A wrong timestamp: the following ones continue from the previous one.
      } else {
        anchor = (stamp, anchor.arrival + (step < .zero ? usualStep : step))
      }
      arrivals.append(anchor.arrival)
    }
    return arrivals
  }
}

extension Fix {
  /// The time of day of a fix without a date.
  fileprivate var millisecondsOfDay: Int64? {
    if case .ofDay(let milliseconds) = time { return milliseconds }
    return nil
  }
}
