// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

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
      let number = SourceNumber(index, of: overview.sources.count)
      switch new.condition {
      case .lost, .ended: effects.append(.event(.sourceLost(new.trouble, number)))
      case .searching, .good:
        if old?.isRead != true { effects.append(.event(.sourceOpened(new.name, number))) }
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
