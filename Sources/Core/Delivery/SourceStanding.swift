// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// One source, as far as `SourceSelector` needs to know it.
struct SourceStanding: Sendable {
  var candidate: SourceSelector.Candidate
  var name: String
  var condition = SourceOverview.Condition.waiting
  /// As it reported last without a fix.
  var satellitesInView: Int?
  var filter: FixFilter
  /// Start-up deadline: sources of lower priority are not selected before it has passed without an accepted fix.
  let startsUntil: BootInstant
  var isStartOver = false
  /// When its last accepted fix came, and since when the accepted ones follow each other without a gap.
  private var lastGood = BootInstant.boot
  private var goodSince = BootInstant.boot
  var usedSince = BootInstant.boot
  /// How long it must be good to regain control.
  private(set) var holdDown = SourceSelector.firstHoldDown
  /// Time of its newest accepted fix.
  private(set) var newest: Timestamp?
  /// What elapsed time must be added to, to give the time of its newest accepted fix.
  private(set) var clock = Duration.zero
  /// Whether its newest accepted fix is not after the one before: the filter has overruled the stamps until then.
  private(set) var isOverruling = false

  init(_ candidate: SourceSelector.Candidate, filter: FixFilter.Configuration, at now: BootInstant) {
    self.candidate = candidate
    name = candidate.label
    self.filter = FixFilter(filter)
    startsUntil = now + candidate.silenceTimeout
  }

  var overview: SourceOverview.Source {
    var source = SourceOverview.Source(id: candidate.id, name: name, condition: condition)
    source.satellitesInView = satellitesInView
    return source
  }

  /// When it counts as failed, if no accepted fix comes before.
  var silentAt: BootInstant { lastGood + candidate.silenceTimeout }

  /// From the first to the last of the accepted fixes that follow each other; silence after them counts for nothing.
  var goodFor: Duration { lastGood - goodSince }

  /// What its clock shows; nil before its first accepted fix.
  func time(at now: BootInstant) -> Timestamp? {
    newest == nil ? nil : Timestamp(milliseconds: 0) + clock + (now - .boot)
  }

  /// Judges a fix, which arrived at `now`.
  mutating func judge(_ fix: Fix, at now: Moment) -> Result<FixFilter.Accepted, FixRejection> {
    let verdict = filter.judge(fix, at: now)
    switch verdict {
    case .success(let accepted):
      if condition != .good || now.boot >= silentAt { goodSince = now.boot }
      condition = .good
      lastGood = now.boot
      isOverruling = newest.map { accepted.time <= $0 } ?? false
      newest = accepted.time
      clock = accepted.time - Timestamp(milliseconds: 0) - (now.boot - .boot)
    case .failure(let rejection):
      if condition != .good, rejection != .duplicate { condition = .searching(rejection) }
    }
    return verdict
  }

  mutating func read(as name: String) {
    self.name = name
    if condition != .good { condition = .searching(nil) }
  }

  mutating func expire(at now: BootInstant) {
    if condition == .good, now >= silentAt { condition = .searching(nil) }
    if now >= startsUntil { isStartOver = true }
  }

  /// It was used and has failed.
  mutating func fail(at now: BootInstant) {
    let hasFailedSoon = now - usedSince < max(SourceSelector.probation, holdDown)
    holdDown = hasFailedSoon ? min(holdDown * 2, SourceSelector.longestHoldDown) : SourceSelector.firstHoldDown
  }
}
