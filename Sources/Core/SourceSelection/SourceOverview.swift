// SPDX-License-Identifier: Apache-2.0
import ExternalInput
package import Positioning

/// The state of each source of fixes, and which one is used.
package struct SourceOverview: Equatable, Sendable {
  /// The condition of a source.
  package enum Condition: Equatable, Sendable {
    /// It has not reported anything yet.
    case waiting
    /// It is read, but has no accepted fix; with the last rejection, if any.
    case searching(FixRejection?)
    /// Its fixes are accepted.
    case good
    /// Not available; the text has the cause and the remedy.
    case lost(String)
    /// It has ended for good, as a recording does.
    case ended
  }

  /// One source, as status and metrics report it.
  package struct Source: Equatable, Sendable {
    /// Its ID, stable as long as its settings are the same.
    package var id: Int
    /// The name that it reports once it is read; before that, its label.
    package var name: String
    /// Its current condition.
    package var condition: Condition
    /// Satellites in view, as last reported without a fix; nil if not reported.
    package var satellitesInView: Int?
    /// The data that it sends and that cannot be read yet; nil if there is none.
    package var unreadableData: String?
    /// Whether it is not read, because no fix is needed.
    package var isUnread = false

    package init(id: Int, name: String, condition: Condition) {
      self.id = id
      self.name = name
      self.condition = condition
    }
  }

  /// Why the used source was selected.
  package enum Reason: Equatable, Sendable {
    /// It has the highest priority of those available: at the start, or because others failed.
    case best
    /// Failback: it was good again for this long, and has a higher priority than the previous one.
    case failback(after: Duration)
  }

  /// Why accepted fixes of the used source are held.
  package enum Hold: Equatable, Sendable {
    /// Their timestamps are this much before the last reported position, which was of another source.
    case behind(by: Duration)
    /// Its clock differs from that of the previous source by more than `filter.max_age`; positive: it is ahead.
    case contradicted(offset: Duration)
  }

  /// In order of priority.
  package var sources: [Source]
  /// Index of the used source; nil if none has accepted fixes.
  package var used: Int?
  /// Why it was selected.
  package var reason: Reason
  /// Why the last fix of the used source is held; nil if it is not, or there was none.
  package var hold: Hold?

  package init(sources: [Source], used: Int? = nil, reason: Reason = .best, hold: Hold? = nil) {
    self.sources = sources
    self.used = used
    self.reason = reason
    self.hold = hold
  }

  /// The used source.
  package var usedSource: Source? {
    guard let used, sources.indices.contains(used) else { return nil }
    return sources[used]
  }

  /// The name of the used source, or else of the first that is read; nil if there is none. If there is
  /// only one source, it keeps its name after it has ended.
  package var name: String? {
    if let source = usedSource ?? sources.first(where: \.isAvailable) { return source.name }
    return sources.count == 1 && sources[0].condition == .ended ? sources[0].name : nil
  }

  /// Satellites in view of the receiver that ``name`` names; nil if not reported.
  package var satellitesInView: Int? { (usedSource ?? sources.first(where: \.isAvailable))?.satellitesInView }

  /// Why there is no source; nil if there is one.
  package var lossReason: String? {
    guard name == nil else { return nil }
    if sources.count > 1 { return problems(before: sources.count) }
    if case .lost(let why) = sources.first?.condition { return why }
    return sources.first?.conditionText ?? "no source is set"
  }

  /// Whether a source has been opened and has not reported anything yet, as while its baud rate is being detected. Each
  /// soon sends data, or is lost.
  package var isStarting: Bool { sources.contains { $0.condition == .waiting } }

  /// The names of the sources that are available, but left unread for now.
  package var unreadNames: [String] { sources.filter { $0.isUnread && $0.isAvailable }.map(\.name) }

  /// Why no source before this index is used, such as `1: the device is gone`; empty for the first.
  package func problems(before index: Int) -> String {
    sources.prefix(index).enumerated().map { "\($0 + 1): \($1.conditionText)" }.joined(separator: "; ")
  }
}

extension SourceOverview.Source {
  /// Whether it is open and has reported something.
  package var isAvailable: Bool {
    switch condition {
    case .searching, .good: true
    case .waiting, .lost, .ended: false
    }
  }

  /// Its condition as text.
  package var conditionText: String {
    switch condition {
    case .waiting: unreadableData ?? "no data from \(name) yet"
    case .searching(let rejection):
      "\(name) has no acceptable position\(rejection.map { " (rejected: \($0.sentence.text))" } ?? "")"
    case .good: "\(name) has good positions again, and is used once this has lasted for a while"
    case .lost(let why): why
    case .ended: "\(name) has ended"
    }
  }
}
