// SPDX-License-Identifier: Apache-2.0
package import Positioning
import Timekeeping

/// What is known of each source of fixes, and which of them is used.
package struct SourceOverview: Equatable, Sendable {
  /// How a source stands.
  package enum Condition: Equatable, Sendable {
    /// It has not said anything of itself yet.
    case waiting
    /// It is read, and gives no believable fix; with the reason of the last refusal, if it gave any.
    case searching(FixRejection?)
    /// It gives believable fixes.
    case good
    /// Not to be had; the text says why and what to do.
    case lost(String)
    /// It has no more to give, ever.
    case ended
  }

  /// One source, as status and metrics report it.
  package struct Source: Equatable, Sendable {
    /// Distinguishes it from the others, for as long as its settings stay the same.
    package var id: Int
    /// As it names itself once it is read.
    package var name: String
    /// How it stands now.
    package var condition: Condition
    /// Satellites in view, as it reported last without a fix; nil when it has not.
    package var satellitesInView: Int?

    package init(id: Int, name: String, condition: Condition) {
      self.id = id
      self.name = name
      self.condition = condition
    }
  }

  /// Why the used source is used.
  package enum Reason: Equatable, Sendable {
    /// None is preferred to it that could be used; at the start, or because those before it failed.
    case best
    /// It was good again for this long, and is preferred to the one that was used.
    case takenBack(after: Duration)
  }

  /// Why accepted fixes of the used source are not handed on yet.
  package enum Hold: Equatable, Sendable {
    /// Their time is this much before that of the last reported position, which was of another source.
    case behind(by: Duration)
    /// Its clock differs from that of the source before by more than `filter.max_age`; more than zero when it is ahead.
    case disputed(offset: Duration)
  }

  /// In the order of priority.
  package var sources: [Source]
  /// Index of the one whose fixes count; nil while none gives believable ones.
  package var used: Int?
  /// Why it is used.
  package var reason: Reason
  /// Of the last fix of the used source; nil when it was handed on, or none has come.
  package var hold: Hold?

  package init(sources: [Source], used: Int? = nil, reason: Reason = .best, hold: Hold? = nil) {
    self.sources = sources
    self.used = used
    self.reason = reason
    self.hold = hold
  }

  /// The one whose fixes count.
  package var usedSource: Source? {
    guard let used, sources.indices.contains(used) else { return nil }
    return sources[used]
  }

  /// The name of the source that is used, or else of the first that is read; nil when there is none. One that is alone
  /// keeps its name to the end.
  package var name: String? {
    if let source = usedSource ?? sources.first(where: \.isRead) { return source.name }
    return sources.count == 1 && sources[0].condition == .ended ? sources[0].name : nil
  }

  /// Satellites in view of the receiver that ``name`` names; nil when it does not say.
  package var satellitesInView: Int? { (usedSource ?? sources.first(where: \.isRead))?.satellitesInView }

  /// Why there is no source; nil when there is one.
  package var lossReason: String? {
    guard name == nil else { return nil }
    if sources.count > 1 { return troubles(before: sources.count) }
    if case .lost(let why) = sources.first?.condition { return why }
    return sources.first.map { "no data from \($0.name) yet" } ?? "none is set"
  }

  /// Why none is used that is preferred to the one of this index, as in `1: the device is gone`; empty for the first.
  package func troubles(before index: Int) -> String {
    sources.prefix(index).enumerated().map { "\($0 + 1): \($1.trouble)" }.joined(separator: "; ")
  }
}

extension SourceOverview.Source {
  /// Whether it is open and says something.
  package var isRead: Bool {
    switch condition {
    case .searching, .good: true
    case .waiting, .lost, .ended: false
    }
  }

  /// Its condition in words.
  package var trouble: String {
    switch condition {
    case .waiting: "no data from \(name) yet"
    case .searching(let rejection):
      "\(name) has no acceptable position\(rejection.map { " (rejected: \($0.explanation))" } ?? "")"
    case .good: "\(name) is good again, and is used once it has stayed good for a while"
    case .lost(let why): why
    case .ended: "\(name) has ended"
    }
  }
}
