// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// The state of one source in `SourceSelector`.
struct SourceState: Sendable {
  var source: SourceSelector.ConfiguredSource
  var name: String
  var condition = SourceOverview.Condition.waiting
  /// The data that it sends and that cannot be read yet; nil if there is none.
  var unreadableData: String?
  /// Satellites in view, as last reported without a fix.
  var satellitesInView: Int?
  var filter: FixFilter
  private var startedAt: BootInstant
  var isStartPhaseOver = false
  /// The arrival of its last accepted fix, and of the first of the current series without a gap.
  private var lastGoodAt = BootInstant.boot
  private var goodSince = BootInstant.boot
  var usedSince = BootInstant.boot
  /// How long it must be good before failback.
  private(set) var holdDown = SourceSelector.initialHoldDown
  /// Timestamp of its newest accepted fix.
  private(set) var newestTime: Timestamp?
  /// Its clock: the timestamp of its newest accepted fix minus elapsed time.
  private(set) var clockOffset = Duration.zero
  /// Whether its newest accepted fix is not after the previous one: the filter has corrected earlier timestamps.
  private(set) var isOverruling = false

  init(_ source: SourceSelector.ConfiguredSource, filter: FixFilter.Configuration, at now: BootInstant) {
    self.source = source
    name = source.label
    self.filter = FixFilter(SourceState.configuration(filter, of: source))
    startedAt = now
  }

  /// Replaces the limits of its filter.
  mutating func configure(_ filter: FixFilter.Configuration) {
    self.filter.configure(SourceState.configuration(filter, of: source))
  }

  private static func configuration(
    _ filter: FixFilter.Configuration, of source: SourceSelector.ConfiguredSource
  ) -> FixFilter.Configuration {
    var filter = filter
    filter.pace = source.pace
    return filter
  }

  var overview: SourceOverview.Source {
    var overview = SourceOverview.Source(id: source.id, name: name, condition: condition)
    overview.satellitesInView = satellitesInView
    overview.unreadableData = unreadableData
    return overview
  }

  /// Start-up deadline: sources of lower priority are not selected before it.
  var startDeadline: BootInstant { startedAt + source.silenceTimeout }

  /// When it counts as failed, if there is no accepted fix before then.
  var silenceDeadline: BootInstant { lastGoodAt + source.silenceTimeout }

  /// From the first to the last of the consecutive accepted fixes, without the silence after them.
  var goodDuration: Duration { lastGoodAt - goodSince }

  /// The current time by its clock; nil before its first accepted fix.
  func time(at now: BootInstant) -> Timestamp? {
    newestTime == nil ? nil : SourceState.time(at: now, offset: clockOffset)
  }

  /// The current time by a clock with this offset from elapsed time, as in `clockOffset`.
  static func time(at now: BootInstant, offset: Duration) -> Timestamp {
    Timestamp(milliseconds: 0) + offset + (now - .boot)
  }

  /// Filters a fix that arrived at `now`; see `FixFilter.evaluate`.
  mutating func evaluate(
    _ fix: Fix, at now: Moment, otherTime: Timestamp?
  ) -> Result<FixFilter.Accepted, FixRejection> {
    let result = filter.evaluate(fix, at: now, otherTime: otherTime)
    switch result {
    case .success(let accepted):
      if condition != .good || now.boot >= silenceDeadline { goodSince = now.boot }
      condition = .good
      lastGoodAt = now.boot
      isOverruling = newestTime.map { accepted.time <= $0 } ?? false
      newestTime = accepted.time
      clockOffset = accepted.time - Timestamp(milliseconds: 0) - (now.boot - .boot)
    case .failure(let rejection):
      if condition != .good, rejection != .duplicate { condition = .searching(rejection) }
    }
    return result
  }

  mutating func startReading(as name: String) {
    self.name = name
    unreadableData = nil
    if condition != .good { condition = .searching(nil) }
  }

  /// No fix was needed from `start` until now, so it was left unread at some time after `start`.
  mutating func noteUnread(since start: BootInstant, at now: BootInstant) {
    skipSilence(since: start, at: now)
    filter.noteUnread(until: now)
  }

  /// The time from `start` until now does not count as silence; a fix in that time counts as a fix now.
  mutating func skipSilence(since start: BootInstant, at now: BootInstant) {
    func shifted(_ time: BootInstant) -> BootInstant { time + (now - max(start, time)) }
    (lastGoodAt, goodSince, startedAt) = (shifted(lastGoodAt), shifted(goodSince), shifted(startedAt))
  }

  mutating func expire(at now: BootInstant) {
    if condition == .good, now >= silenceDeadline { condition = .searching(nil) }
    if now >= startDeadline { isStartPhaseOver = true }
  }

  /// It was used and has failed.
  mutating func fail(at now: BootInstant) {
    let hasFailedEarly = now - usedSince < max(SourceSelector.probation, holdDown)
    holdDown = hasFailedEarly ? min(holdDown * 2, SourceSelector.maximumHoldDown) : SourceSelector.initialHoldDown
  }
}
