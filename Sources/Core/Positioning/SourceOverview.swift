// SPDX-License-Identifier: Apache-2.0

/// What is known of each source of fixes, and which of them is used: what a person is told who asks.
package struct SourceOverview: Equatable, Sendable {
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

  package struct Source: Equatable, Sendable {
    /// Tells it from the others as long as the settings stay.
    package var label: String
    /// As it names itself once it is read.
    package var name: String
    package var condition: Condition

    package init(label: String, name: String, condition: Condition) {
      self.label = label
      self.name = name
      self.condition = condition
    }
  }

  package enum Reason: Equatable, Sendable {
    /// None is preferred to it that could be used; at the start, or because those before it failed.
    case best
    /// It was good again for this long, and is preferred to the one that was used.
    case takenBack(after: Duration)
  }

  /// In the order of preference.
  package var sources: [Source]
  /// Index of the one whose fixes count; nil while none gives believable ones.
  package var used: Int?
  /// Why it is used.
  package var reason: Reason

  package init(sources: [Source], used: Int? = nil, reason: Reason = .best) {
    self.sources = sources
    self.used = used
    self.reason = reason
  }

  /// The one whose fixes count.
  package var usedSource: Source? {
    guard let used, sources.indices.contains(used) else { return nil }
    return sources[used]
  }

  /// Whether there is none that is read or may yet be.
  package var isAllLost: Bool {
    sources.allSatisfy { source in
      switch source.condition {
      case .lost, .ended: true
      case .waiting, .searching, .good: false
      }
    }
  }

  /// Why none is used that is preferred to the one of this index, as in `1: the device is gone`; empty for the first.
  package func troubles(before index: Int) -> String {
    sources.prefix(index).enumerated().map { "\($0 + 1): \($1.trouble)" }.joined(separator: "; ")
  }
}

extension SourceOverview.Source {
  /// Its condition in words.
  package var trouble: String {
    switch condition {
    case .waiting: "\(name) is not open yet"
    case .searching(let rejection):
      "\(name) gives no believable position\(rejection.map { " (refused: \($0.explanation))" } ?? "")"
    case .good: "\(name) is good again, and used when it has been for a while"
    case .lost(let why): why
    case .ended: "\(name) has ended"
    }
  }
}
