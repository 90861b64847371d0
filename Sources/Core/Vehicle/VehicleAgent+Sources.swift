// SPDX-License-Identifier: Apache-2.0
import SourceSelection
import ClockEstimation
import Positioning
import Timekeeping

extension VehicleAgent {
  /// Passes an input to the selector and performs its effects.
  mutating func feedSelector(_ input: SourceSelector.Input, at now: Moment, _ effects: inout [Effect]) {
    // The final attempt carries the position that was newest when it was made.
    if lifecycle.isFinalAttemptMade { return }
    // The fixes of a receiver without a date are dated by the best known clock.
    let best = Moment(boot: now.boot, wall: clock.updateBestTime(at: now) ?? now.wall)
    for effect in selector.handle(input, at: best) {
      switch effect {
      case .accepted(let accepted, let invalidatesLater):
        noteArrival(accepted.fix, &effects)
        ingest(accepted, invalidatesLater: invalidatesLater, at: now, &effects)
      case .held(let accepted, _):
        noteArrival(accepted.fix, &effects)
        statistics.held += 1
        noteFix(accepted.fix, at: now.boot, &effects)
      case .rejected(let fix, let rejection):
        noteArrival(fix, &effects)
        noteRejection(rejection, at: now.boot, &effects)
      case .changed(let before):
        fixes.setReading(selector.overview.name != nil, at: now.boot)
        effects += changes(since: before, at: now.boot).map { .event($0) }
      case .ended:
        if newestTime == nil {
          let names = selector.overview.sources.map(\.name).joined(separator: ", ")
          effects.append(.event(.sourceLost("\(names) has ended without an accepted position")))
        }
        let limit = configuration.drainLimit
        if lifecycle.drain(until: now.boot + limit, reserving: offlineReserve(of: limit)) {
          effects += [.event(.stopping(.sourcesEnded)), .stopping(within: limit)]
        }
      }
    }
  }

  private mutating func noteArrival(_ fix: Fix, _ effects: inout [Effect]) {
    statistics.fixes += 1
    guard fix.quality == .simulated, let endpoint = configuration.remoteEndpoint else { return }
    report(eventLimiter.simulated(sentTo: endpoint), &effects)
  }

  /// The events for what changed in the sources since `before`. A single source is named; several are numbered.
  private mutating func changes(since before: SourceOverview, at now: BootInstant) -> [Event] {
    let overview = selector.overview
    guard overview.sources.count > 1 else {
      guard let source = overview.sources.first else { return [] }
      var event: Event?
      if source.isAvailable, source.name != before.name {
        event = eventLimiter.sourceOpened(source, nil, isRenamed: before.name != nil, at: now)
      } else if case .lost(let why) = source.condition, why != before.lossReason {
        event = eventLimiter.sourceLost(source, why, nil, at: now)
      }
      return event.map { [$0] } ?? []
    }
    var events: [Event?] = []
    for (index, new) in overview.sources.enumerated() {
      let old = before.sources.first { $0.id == new.id }
      guard old?.condition != new.condition else { continue }
      let number = SourceNumber(index, of: overview.sources.count)
      switch new.condition {
      case .lost, .ended: events.append(eventLimiter.sourceLost(new, new.conditionText, number, at: now))
      case .searching, .good:
        guard old?.isAvailable != true else { continue }
        events.append(eventLimiter.sourceOpened(new, number, isRenamed: false, at: now))
      case .waiting: break
      }
    }
    if overview.usedSource?.id != before.usedSource?.id {
      if let used = overview.used {
        events.append(eventLimiter.sourceChosen(.sourceChosen(used, in: overview), at: now))
      } else if !overview.sources.allSatisfy({ $0.condition == .ended }) {
        events.append(eventLimiter.sourceChosen(.noSourceGood(overview), at: now))
      }
    }
    return events.compactMap(\.self)
  }
}
