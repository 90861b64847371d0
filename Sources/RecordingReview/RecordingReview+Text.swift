// SPDX-License-Identifier: Apache-2.0
import Positioning
import ExternalInput
import Timekeeping

extension RecordingReview {
  /// The number of episodes in the summary.
  package static let maximumListedEpisodes = 10

  /// The summary as text: counts, the longest rejected stretch, implied speeds and the episodes. It contains times and
  /// distances, but no positions.
  package func summary(of name: String) -> String {
    guard let first = fixes.first, let last = fixes.last else { return "\(name): no fix\n" }
    let number = fixes.count.counted("fix", "fixes")
    var lines = ["\(name): \(number), \(first.time.toTheSecond) to \(last.time.toTheSecond)"]
    if !isDated {
      lines.append("The recording has no date: all times are on an assumed day, \(RecordedTimes.assumedDay.date.text).")
    }
    lines.append(RecordingReview.row("accepted", fixes.count - rejectedCount, of: fixes.count))
    lines.append(RecordingReview.row("rejected", rejectedCount, of: fixes.count))
    for count in reasons {
      lines.append(
        RecordingReview.row("  " + count.reason.rawValue, count.number, of: fixes.count)
          + "  \(count.reason.sentence.text)")
    }
    if let longestStretch {
      lines.append("Longest rejected stretch: \(longestStretch.duration.text) from \(longestStretch.start.toTheSecond)")
    }
    lines.append(
      "Implied speed: \(RecordingReview.text(fastestAccepted)) between accepted fixes, "
        + "\(RecordingReview.text(fastestRejected)) from an accepted to a rejected one")
    lines += list(episodes)
    return lines.map { $0 + "\n" }.joined()
  }

  private func list(_ episodes: [Episode]) -> [String] {
    guard !episodes.isEmpty else { return [] }
    let listed = episodes.prefix(RecordingReview.maximumListedEpisodes)
    let others = episodes.count - listed.count
    let title =
      others > 0 ? "Where fixes were rejected, the longest of \(episodes.count):" : "Where fixes were rejected:"
    return [title]
      + listed.enumerated().map { index, episode in
        let start = fixes[episode.range.lowerBound].time.toTheSecond
        let reasons = episode.reasons.map { "\($0.number) \($0.reason.rawValue)" }.joined(separator: ", ")
        let deviation =
          episode.deviation.map { "; up to \(Decimals.text($0, 0)) m off the line between accepted fixes" } ?? ""
        return "  \(index + 1)  \(start)  \(episode.duration.text): \(reasons)\(deviation)"
      }
  }

  /// A row with a name, a number and its share of the total.
  private static func row(_ word: String, _ number: Int, of whole: Int) -> String {
    let digits = String(number)
    return word + String(repeating: " ", count: max(18 - word.count, 1))
      + String(repeating: " ", count: max(8 - digits.count, 1)) + digits
      + "  \(Decimals.text(100 * Double(number) / Double(max(whole, 1)), 2)) %"
  }

  private static func text(_ implied: ImpliedSpeed?) -> String {
    guard let implied else { return "none" }
    return "at most \(Decimals.text(implied.speed * 3.6, 0)) km/h (\(implied.time.toTheSecond))"
  }
}

extension Timestamp {
  /// Such as `2026-11-21T08:30:00Z`.
  var toTheSecond: String { "\(rfc3339.prefix(19))Z" }
}

extension CivilDate {
  /// Such as `2026-11-21`.
  fileprivate var text: String { String(Timestamp(self, millisecondsOfDay: 0).rfc3339.prefix(10)) }
}

extension Duration {
  /// Such as `0.2 s`, `13 s`, `4 min 10 s` or `2 h 5 min`.
  var text: String {
    if self < .seconds(10), nanoseconds % 1_000_000_000 != 0 { return "\(Decimals.text(inSeconds, 1)) s" }
    let seconds = wholeSeconds
    if seconds < 60 { return "\(seconds) s" }
    if seconds < 3600 { return "\(seconds / 60) min \(seconds % 60) s" }
    return "\(seconds / 3600) h \(seconds / 60 % 60) min"
  }
}
