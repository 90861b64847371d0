// SPDX-License-Identifier: Apache-2.0
import Positioning

extension VehicleAgent {
  /// Tells what is new about the sources. One alone is told of as the source, several by their numbers.
  mutating func take(_ overview: SourceOverview, _ effects: inout [Effect]) {
    let before = sources
    sources = overview
    guard overview.sources.count > 1 else {
      if let only = overview.sources.first, let state = only.state { take(state, &effects) }
      return
    }
    source = SourceState(overview) ?? source
    for (index, new) in overview.sources.enumerated() {
      let old = before?.sources.first { $0.label == new.label }
      guard old?.condition != new.condition else { continue }
      switch new.condition {
      case .lost, .ended: effects.append(.event(.sourceLost(at: index, in: overview)))
      case .searching, .good:
        if old?.isRead != true { effects.append(.event(.sourceOpened(at: index, in: overview))) }
      case .waiting: break
      }
    }
    guard overview.usedSource?.label != before?.usedSource?.label else { return }
    if let used = overview.used {
      effects.append(.event(.sourceChosen(used, in: overview)))
    } else if !overview.sources.allSatisfy({ $0.condition == .ended }) {
      effects.append(.event(.noSourceGood(overview)))
    }
  }

  /// What a person is told of each; nil when there is only one.
  var sourceReports: [StatusReport.Source]? {
    guard let sources, sources.sources.count > 1 else { return nil }
    return sources.sources.enumerated().map { index, source in
      let isUsed = index == sources.used
      let explanation: String
      if isUsed {
        // Of each that is preferred to it the reason stands beside itself.
        explanation = sources.whyUsed(index, troubles: index == 0 ? "" : "none before it is good")
      } else if case .good = source.condition, index > sources.used ?? index {
        explanation = "good, in reserve"
      } else {
        explanation = source.trouble
      }
      return StatusReport.Source(
        name: source.name, condition: source.condition.name, isUsed: isUsed, explanation: explanation)
    }
  }
}

extension VehicleAgent.SourceState {
  /// What several sources come to; nil while none has said anything.
  fileprivate init?(_ overview: SourceOverview) {
    if let used = overview.usedSource ?? overview.sources.first(where: \.isRead) {
      self = .reading(used.name)
    } else if overview.isAllLost {
      self = .lost(overview.troubles(before: overview.sources.count))
    } else {
      return nil
    }
  }
}

extension SourceOverview {
  /// Why this one is used.
  ///
  /// - Parameter troubles: why none is that is preferred to it.
  func whyUsed(_ index: Int, troubles: String) -> String {
    switch reason {
    case .takenBack(let time): "it has been good for \(time.spoken)\(troubles.isEmpty ? "" : "; \(troubles)")"
    case .best: troubles.isEmpty ? "the first in the list" : troubles
    }
  }
}

extension SourceOverview.Source {
  /// Whether it is open and says something.
  fileprivate var isRead: Bool {
    switch condition {
    case .searching, .good: true
    case .waiting, .lost, .ended: false
    }
  }

  fileprivate var state: VehicleAgent.SourceState? {
    switch condition {
    case .searching, .good: .reading(name)
    case .lost(let why): .lost(why)
    case .waiting, .ended: nil
    }
  }
}

extension SourceOverview.Condition {
  fileprivate var name: String {
    switch self {
    case .waiting: "waiting"
    case .searching: "searching"
    case .good: "good"
    case .lost: "lost"
    case .ended: "ended"
    }
  }
}

extension Event {
  fileprivate static func sourceOpened(at index: Int, in overview: SourceOverview) -> Event {
    Event(
      .sourceOpened, "Reading source \(place(index, overview)), \(overview.sources[index].name)", [field(index)])
  }

  fileprivate static func sourceLost(at index: Int, in overview: SourceOverview) -> Event {
    Event(
      .sourceLost, "No source \(place(index, overview)): \(overview.sources[index].trouble)", [field(index)])
  }

  fileprivate static func sourceChosen(_ index: Int, in overview: SourceOverview) -> Event {
    let why = overview.whyUsed(index, troubles: overview.troubles(before: index))
    return Event(
      .sourceChosen, "Using source \(place(index, overview)), \(overview.sources[index].name) (\(why))",
      [field(index)])
  }

  fileprivate static func noSourceGood(_ overview: SourceOverview) -> Event {
    let count = overview.sources.count
    return Event(
      .noSourceGood, "None of \(count) sources gives a believable position: \(overview.troubles(before: count))")
  }

  private static func place(_ index: Int, _ overview: SourceOverview) -> String {
    "\(index + 1) of \(overview.sources.count)"
  }

  private static func field(_ index: Int) -> (name: String, value: String) { ("FLEET_SOURCE", "\(index + 1)") }
}
