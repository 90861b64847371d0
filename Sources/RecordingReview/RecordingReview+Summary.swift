// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

extension RecordingReview {
  /// A series of rejected fixes with gaps shorter than `episodeGap`.
  package struct Episode: Equatable, Sendable {
    /// Indices of `fixes`, from the first rejected one to the last.
    package var range: ClosedRange<Int>
    /// From the first rejected fix to the next accepted one, or to the end of the recording.
    package var duration: Duration
    /// Counts by reason, most frequent first.
    package var reasons: [ReasonCount]
    /// The maximum distance in metres of a rejected fix from the line between the accepted ones around it; nil if there
    /// is none before or after.
    package var deviation: Double?
  }

  /// The number of fixes rejected for a reason.
  package struct ReasonCount: Equatable, Sendable {
    /// Why they were rejected.
    package var reason: FixRejection
    /// One or more.
    package var number: Int
  }

  /// The speed between an accepted fix and another one.
  package struct ImpliedSpeed: Equatable, Sendable {
    /// Metres per second.
    package var speed: Double
    /// The time of the later fix.
    package var time: Timestamp
  }

  /// Rejected fixes with smaller gaps belong to one episode.
  package static let episodeGap = Duration.seconds(10)

  /// The number of rejected fixes in the recording.
  package var rejectedCount: Int { fixes.count { !$0.isAccepted } }

  /// The reasons that occurred, most frequent first.
  package var reasons: [ReasonCount] { RecordingReview.reasons(in: fixes[...]) }

  /// The longest time between a rejected fix and the next accepted one, with the time of the first; nil if none was
  /// rejected.
  package var longestStretch: (start: Timestamp, duration: Duration)? {
    var longest: (start: Timestamp, duration: Duration)?
    for stretch in stretches(joining: .zero) {
      let duration = duration(of: stretch)
      if duration > longest?.duration ?? .seconds(-1) { longest = (fixes[stretch.lowerBound].time, duration) }
    }
    return longest
  }

  /// The highest implied speed between two accepted fixes; nil if there are none.
  package var fastestAccepted: ImpliedSpeed? { fastest { $0.isAccepted } }

  /// The highest implied speed from an accepted fix to a rejected one; nil if there is none.
  package var fastestRejected: ImpliedSpeed? { fastest { !$0.isAccepted } }

  /// The episodes, longest first.
  package var episodes: [Episode] {
    stretches(joining: RecordingReview.episodeGap).map { range in
      Episode(
        range: range, duration: duration(of: range), reasons: RecordingReview.reasons(in: fixes[range]),
        deviation: deviation(of: range))
    }.sorted { ($1.duration, $0.range.lowerBound) < ($0.duration, $1.range.lowerBound) }
  }

  private static func reasons(in fixes: ArraySlice<ReviewedFix>) -> [ReasonCount] {
    var numbers: [FixRejection: Int] = [:]
    for fix in fixes { if let rejection = fix.rejection { numbers[rejection, default: 0] += 1 } }
    return FixRejection.allCases.compactMap { reason in
      numbers[reason].map { ReasonCount(reason: reason, number: $0) }
    }.sorted { $0.number > $1.number }
  }

  /// Consecutive rejected fixes, unless there is a gap of `episodeGap` between them; series with smaller gaps than
  /// `pause` are joined.
  private func stretches(joining pause: Duration) -> [ClosedRange<Int>] {
    var stretches: [ClosedRange<Int>] = []
    for index in fixes.indices where !fixes[index].isAccepted {
      if let last = stretches.last, case let gap = fixes[index].arrival - fixes[last.upperBound].arrival,
        gap < (last.upperBound == index - 1 ? max(pause, RecordingReview.episodeGap) : pause)
      {
        stretches[stretches.count - 1] = last.lowerBound...index
      } else {
        stretches.append(index...index)
      }
    }
    return stretches
  }

  private func duration(of stretch: ClosedRange<Int>) -> Duration {
    let end = min(stretch.upperBound + 1, fixes.count - 1)
    return fixes[end].arrival - fixes[stretch.lowerBound].arrival
  }

  private func fastest(_ isIncluded: (ReviewedFix) -> Bool) -> ImpliedSpeed? {
    var fastest: ImpliedSpeed?
    var previous: ReviewedFix?
    for fix in fixes {
      if let previous, isIncluded(fix), fix.time > previous.time {
        let speed =
          previous.fix.coordinate.distance(to: fix.fix.coordinate) / (fix.time - previous.time).inSeconds
        if speed > fastest?.speed ?? -1 { fastest = ImpliedSpeed(speed: speed, time: fix.time) }
      }
      if fix.isAccepted { previous = fix }
    }
    return fastest
  }

  private func deviation(of range: ClosedRange<Int>) -> Double? {
    guard var previous = fixes[..<range.lowerBound].last(where: \.isAccepted) else { return nil }
    var deviation: Double?
    var pending: [ReviewedFix] = []
    for index in range.lowerBound..<fixes.count {
      let fix = fixes[index]
      guard fix.isAccepted else {
        pending.append(fix)
        continue
      }
      let interval = (fix.time - previous.time).inSeconds
      for rejected in pending {
        let fraction = interval > 0 ? (rejected.time - previous.time).inSeconds / interval : 0
        let expected = previous.fix.coordinate.interpolated(to: fix.fix.coordinate, fraction: fraction)
        deviation = max(deviation ?? 0, expected.distance(to: rejected.fix.coordinate))
      }
      guard index < range.upperBound else { break }
      pending = []
      previous = fix
    }
    return deviation
  }
}
