// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// The filter's results for a recording, as if each fix had arrived live at its own time.
package struct RecordingReview: Sendable {
  /// A fix and the filter's result.
  package struct ReviewedFix: Sendable {
    /// The recorded fix.
    package var fix: Fix
    /// Its time; on an assumed day if the recording has no date.
    package var time: Timestamp
    /// Its assumed arrival. Unlike the times, arrivals are in order.
    var arrival: BootInstant
    /// Nil if accepted.
    package var rejection: FixRejection?
    /// The accuracy that the filter assumes in metres, one sigma, reported or not.
    package var assumedAccuracy: Double

    /// Whether it is accepted.
    package var isAccepted: Bool { rejection == nil }
    /// `accepted`, or the rejection's name.
    package var verdict: String { rejection?.rawValue ?? "accepted" }
  }

  /// In the order of the recording.
  package let fixes: [ReviewedFix]
  /// Whether any fix has a date; otherwise all times are on 2000-01-01 and the following days.
  package let isDated: Bool

  /// Half of the period after which a GPS week counter of ten bits restarts.
  private static let halfRollover = Duration.seconds(512 * 7 * 86_400)

  /// - Parameters:
  ///   - recorded: the recorded fixes in order.
  ///   - limits: the filter's limits. Live rules apply to times, whatever `usesRecordedTimes` is; and as the recording
  ///     may be older than this program, `buildDate` rejects none of them. A few much earlier dates are repaired or
  ///     rejected, as they are live.
  package init(_ recorded: [Fix], limits: FixFilter.Configuration) {
    let times = RecordedTimes(recorded)
    var limits = limits
    limits.usesRecordedTimes = false
    let sorted = times.stamps.sorted()
    if let first = sorted.first {
      limits.buildDate = min(limits.buildDate, max(first, sorted[sorted.count / 2] - RecordingReview.halfRollover))
    }
    var filter = FixFilter(limits)
    fixes = recorded.indices.map { index in
      let (fix, stamp, arrival) = (recorded[index], times.stamps[index], times.arrivals[index])
      var reviewed = ReviewedFix(
        fix: fix, time: stamp, arrival: arrival, assumedAccuracy: fix.assumedAccuracy)
      var dated = fix
      if case .ofDay = fix.time { dated.time = .utc(stamp) }
      switch filter.evaluate(dated, at: Moment(boot: arrival, wall: stamp)) {
      case .success(let accepted):
        reviewed.assumedAccuracy = accepted.fix.assumedAccuracy
      case .failure(let rejection): reviewed.rejection = rejection
      }
      return reviewed
    }
    isDated = times.isDated
  }
}
