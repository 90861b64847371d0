// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// What the filter makes of a whole recording, judged as if each fix had arrived live when it was true.
package struct RecordingReview: Sendable {
  /// A fix and what became of it.
  package struct Judged: Sendable {
    /// As the recording has it.
    package var fix: Fix
    /// When it was true: on an assumed day where the recording has no date.
    package var time: Timestamp
    /// Nil when it was accepted.
    package var rejection: FixRejection?
    /// Metres, one sigma: what the filter takes for its accuracy, whether the receiver stated one or not.
    package var assumedAccuracy: Double

    /// Whether the filter accepts it.
    package var isAccepted: Bool { rejection == nil }
    /// `accepted`, or the rejection's name.
    package var verdict: String { rejection?.rawValue ?? "accepted" }
  }

  /// In the order of the recording.
  package let fixes: [Judged]
  /// Whether any fix states a date; without one, all times are on 2000-01-01 and the days after it.
  package let isDated: Bool

  /// - Parameters:
  ///   - recorded: in the order of the recording.
  ///   - limits: the filter's. Times are judged with the rules for a live receiver, whatever `keepsTimes` says; and as the
  ///     recording may be older than this program, `buildDate` holds back none of them.
  package init(_ recorded: [Fix], limits: FixFilter.Configuration) {
    let times = RecordedTimes(recorded)
    var limits = limits
    limits.keepsTimes = false
    limits.buildDate = min(limits.buildDate, times.stamps.min() ?? limits.buildDate)
    var filter = FixFilter(limits)
    fixes = recorded.indices.map { index in
      let (fix, stamp, arrival) = (recorded[index], times.stamps[index], times.arrivals[index])
      var judged = Judged(
        fix: fix, time: stamp, assumedAccuracy: FixReference(fix, time: stamp, at: arrival).accuracy)
      switch filter.judge(fix, at: Moment(boot: arrival, wall: stamp)) {
      case .success(let accepted):
        judged.assumedAccuracy = FixReference(accepted.fix, time: stamp, at: arrival).accuracy
      case .failure(let rejection): judged.rejection = rejection
      }
      return judged
    }
    isDated = times.isDated
  }
}
