// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// When the fixes of a recording were true, and when they must have arrived, by nothing but the times that they state.
///
/// A time of day gets the date that follows from the dated fixes around it, or an assumed day when the recording has no
/// date at all. Fixes are taken to have arrived when they were true; a single wrong stamp does not move the others: it is
/// told by the stamps after it, which come back.
struct RecordedTimes {
  /// The day of a recording without any date.
  static let assumedDay = Timestamp(seconds: 946_684_800)
  /// A longer step between two fixes is a pause or a wrong stamp.
  private static let longestStep = Duration.seconds(60)
  /// Fixes after a long or backward step that decide which of the two it was.
  private static let lookahead = 5

  /// One for each fix. A fix without any time has that of the one before it.
  private(set) var stamps: [Timestamp]
  /// One for each fix, in order, the first at boot.
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
      // Back from the first date to the beginning, and on from there.
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
    // The last fix whose stamp is taken for right, and the usual time between two.
    var anchor = (stamp: stamps.first ?? assumedDay, arrival: BootInstant.boot)
    var usualStep = Duration.seconds(1)
    for (index, stamp) in stamps.enumerated() {
      let step = stamp - anchor.stamp
      let following = stamps[(index + 1)...].prefix(lookahead)
      if step >= .zero, step <= longestStep {
        if step > .zero { usualStep = step }
        anchor = (stamp, anchor.arrival + step)
      } else if following.contains(where: { $0 >= anchor.stamp && (step < .zero || $0 < stamp) }) {
        // A wrong stamp: those after it go on from the one before it.
      } else {
        anchor = (stamp, anchor.arrival + (step < .zero ? usualStep : step))
      }
      arrivals.append(anchor.arrival)
    }
    return arrivals
  }
}

extension Fix {
  /// The time of day that a fix without a date states.
  fileprivate var millisecondsOfDay: Int64? {
    if case .ofDay(let milliseconds) = time { return milliseconds }
    return nil
  }
}
