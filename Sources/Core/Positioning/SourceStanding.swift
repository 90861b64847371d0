// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// One source, as far as the choice depends on it.
struct SourceStanding: Sendable {
  let label: String
  let silenceTimeout: Duration
  var name: String
  var condition = SourceOverview.Condition.waiting
  var filter: FixFilter
  /// Until when those that are preferred less wait for its first good fix.
  let chanceUntil: BootInstant
  var isChanceOver = false
  /// When it gave its last good fix, and since when the good ones follow each other.
  var lastGood = BootInstant.boot
  var goodSince = BootInstant.boot
  var usedSince = BootInstant.boot
  /// How long it must be good to take back.
  var trial = SourceSelector.firstTrial

  init(_ candidate: SourceSelector.Candidate, filter: FixFilter.Configuration, at now: BootInstant) {
    label = candidate.label
    name = candidate.label
    silenceTimeout = candidate.silenceTimeout
    self.filter = FixFilter(filter)
    chanceUntil = now + candidate.silenceTimeout
  }

  var overview: SourceOverview.Source { SourceOverview.Source(label: label, name: name, condition: condition) }

  var silentAt: BootInstant { lastGood + silenceTimeout }

  /// From the first to the last of the good fixes that follow each other; silence after them counts for nothing.
  var goodFor: Duration { lastGood - goodSince }

  /// Whether the fix is a good one.
  mutating func judge(_ fix: Fix, at now: Moment) -> Bool {
    switch filter.judge(fix, at: now) {
    case .success:
      if condition != .good || now.boot >= silentAt { goodSince = now.boot }
      condition = .good
      lastGood = now.boot
      return true
    case .failure(let rejection):
      if condition != .good, rejection != .duplicate { condition = .searching(rejection) }
      return false
    }
  }

  mutating func read(as name: String) {
    self.name = name
    if condition != .good { condition = .searching(nil) }
  }

  mutating func lose(_ condition: SourceOverview.Condition) {
    self.condition = condition
  }

  mutating func expire(at now: BootInstant) {
    if condition == .good, now >= silentAt { condition = .searching(nil) }
    if now >= chanceUntil { isChanceOver = true }
  }

  /// It was used and is not good any more.
  mutating func fail(at now: BootInstant) {
    let hasFailedSoon = now - usedSince < max(SourceSelector.probation, trial)
    trial = hasFailedSoon ? min(trial * 2, SourceSelector.longestTrial) : SourceSelector.firstTrial
  }
}
