// SPDX-License-Identifier: Apache-2.0
import Positioning
import RecordingReview
import Timekeeping

/// The filter's results for a recorded drive on a real road. Without ground truth, neighbouring fixes and reported
/// speeds are the reference.
struct RoadScore: Equatable {
  var fixes = 0
  var rejected = 0
  /// Rejected fixes that were computed from satellites and are within 15 m of the line between the accepted fixes
  /// before and after them, which are at most 10 s before and 15 s after.
  var wrong = 0
  /// The longest time in seconds for which such fixes were rejected while the vehicle moved.
  var longest = 0
  /// Fixes without satellites, and the number of these fixes that were rejected.
  var unmeasured = 0
  var unmeasuredRejected = 0
  /// Fixes that repeat a position for 3 s or more at a reported 3 m/s or more, and the number of these fixes that were
  /// rejected.
  var frozen = 0
  var frozenRejected = 0
  /// Accepted fixes that were computed without satellites, or repeat the previous accepted position for 3 s at 3 m/s.
  var bad = 0
  /// Accepted fixes that are at most 5 s after the previous accepted fix, but more than 50 m further from it than the
  /// reported speeds allow.
  var jumps = 0
  /// The errors of accepted fixes in metres, where the truth is known: the median and the maximum.
  var median = 0.0
  var largest = 0.0

  init() {}

  init(_ review: RecordingReview, truth: [RoadDrive.Truth]) {
    let fixes = review.fixes
    self.fixes = fixes.count
    rejected = review.rejectedCount
    let accepted = fixes.indices.filter { fixes[$0].isAccepted }
    countWrong(fixes, accepted)
    countUnmeasured(fixes)
    countBad(accepted.map { fixes[$0] })
    measure(accepted.map { fixes[$0] }, truth)
  }

  private mutating func countWrong(_ fixes: [RecordingReview.ReviewedFix], _ accepted: [Int]) {
    var next = 0
    var run = 0.0
    var last: Int?
    for index in fixes.indices {
      let fix = fixes[index]
      guard !fix.isAccepted else {
        next += 1
        continue
      }
      guard next > 0, next < accepted.count, !fix.isUnmeasured else { continue }
      let (before, after) = (fixes[accepted[next - 1]], fixes[accepted[next]])
      guard fix.time - before.time <= .seconds(10), after.time - fix.time <= .seconds(15) else { continue }
      let fraction = (fix.time - before.time).inSeconds / (after.time - before.time).inSeconds
      let expected = before.fix.coordinate.interpolated(to: after.fix.coordinate, fraction: fraction)
      guard expected.distance(to: fix.fix.coordinate) <= 15 else { continue }
      wrong += 1
      guard fix.speed >= 1 else { continue }
      if let last, index - last <= 2 { run += (fix.time - fixes[last].time).inSeconds } else { run = 1 }
      last = index
      longest = max(longest, Int(run.rounded(.up)))
    }
  }

  private mutating func countUnmeasured(_ fixes: [RecordingReview.ReviewedFix]) {
    for fix in fixes where fix.isUnmeasured {
      unmeasured += 1
      if !fix.isAccepted { unmeasuredRejected += 1 }
    }
    var start = 0
    for index in fixes.indices {
      let isLast = index + 1 == fixes.count
      if !isLast, fixes[index + 1].repeats(fixes[index]) { continue }
      if fixes[index].time - fixes[start].time >= .seconds(3) {
        frozen += index - start
        frozenRejected += fixes[(start + 1)...index].count { !$0.isAccepted }
      }
      start = index + 1
    }
  }

  private mutating func countBad(_ accepted: [RecordingReview.ReviewedFix]) {
    var standing = Duration.zero
    for (index, fix) in accepted.enumerated() {
      if index > 0 {
        let before = accepted[index - 1]
        let time = fix.time - before.time
        standing = fix.repeats(before) ? standing + time : .zero
        let reach = max(before.speed, fix.speed) * time.inSeconds
        if time > .zero, time <= .seconds(5), fix.fix.speed != nil,
          before.fix.coordinate.distance(to: fix.fix.coordinate) - reach > 50
        {
          jumps += 1
        }
      }
      if fix.isUnmeasured || standing >= .seconds(3) { bad += 1 }
    }
  }

  private mutating func measure(_ accepted: [RecordingReview.ReviewedFix], _ truth: [RoadDrive.Truth]) {
    var errors: [Double] = []
    var next = 0
    for fix in accepted {
      while next < truth.count, truth[next].time <= fix.time { next += 1 }
      guard next > 0, next < truth.count else { continue }
      let (before, after) = (truth[next - 1], truth[next])
      guard after.time - before.time <= .seconds(2) else { continue }
      let fraction = (fix.time - before.time).inSeconds / (after.time - before.time).inSeconds
      let place = before.coordinate.interpolated(to: after.coordinate, fraction: fraction)
      errors.append(place.distance(to: fix.fix.coordinate))
    }
    errors.sort()
    median = errors.isEmpty ? 0 : errors[errors.count / 2]
    largest = errors.last ?? 0
  }

  static func + (left: RoadScore, right: RoadScore) -> RoadScore {
    var sum = left
    sum.fixes += right.fixes
    sum.rejected += right.rejected
    sum.wrong += right.wrong
    sum.longest = max(left.longest, right.longest)
    sum.unmeasured += right.unmeasured
    sum.unmeasuredRejected += right.unmeasuredRejected
    sum.frozen += right.frozen
    sum.frozenRejected += right.frozenRejected
    sum.bad += right.bad
    sum.jumps += right.jumps
    sum.median = max(left.median, right.median)
    sum.largest = max(left.largest, right.largest)
    return sum
  }
}

extension RecordingReview.ReviewedFix {
  /// The reported speed in metres per second; 0 if the receiver reports none.
  fileprivate var speed: Double { fix.speed ?? 0 }
  /// Whether the fix was computed without satellites.
  fileprivate var isUnmeasured: Bool { fix.satellites == 0 || fix.quality == .estimated }

  /// Whether the fix repeats the position of the previous fix while the vehicle moves.
  fileprivate func repeats(_ before: RecordingReview.ReviewedFix) -> Bool {
    fix.coordinate == before.fix.coordinate && min(speed, before.speed) >= 3
  }
}
