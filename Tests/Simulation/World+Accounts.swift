// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Positioning
import Delivery
import Timekeeping

/// Where everything has gone that was worth reporting.
extension World {
  /// What was put on the backlog has arrived, waits, or is gone for a reason that has a name.
  func checkAccounts() {
    var accounted = lostInCuts.union(forgotten)
    for applied in server.applied {
      for position in applied.past + [applied.live] {
        accounted.insert(Disk.Key(vehicle: applied.vehicle, id: position.time))
      }
    }
    for (name, records) in pending {
      for id in records.keys { accounted.insert(Disk.Key(vehicle: name, id: id)) }
    }
    for removal in removals where removal.reason != .delivered {
      accounted.insert(Disk.Key(vehicle: removal.vehicle, id: removal.record.id))
    }
    for key in recorded.keys where !accounted.contains(key) {
      violate("the position of \(key.id.rfc3339) of \(key.vehicle) is lost without a reason")
    }
  }

  /// A position is given up as refused only where the server refuses it, whenever it comes.
  func checkRefused() {
    let poisons = scenario.faults.reduce(into: Set<Int>()) { poisons, fault in
      switch fault.kind {
      case .poison(let seconds), .poisonLive(let seconds): poisons.formUnion(seconds)
      default: break
      }
    }
    for removal in removals where removal.reason == .refused {
      if !poisons.contains(Int((removal.record.id - Scenario.boot).wholeSeconds)) {
        violate("the good position of \(removal.record.id.rfc3339) was given up as refused")
      }
    }
  }

  /// A past position is sent again only for an answer that was lost, or a removal that was not on disk.
  func checkRepeats() {
    let acknowledged = Set(attempts.filter(\.isAccepted).map(\.id))
    var (sent, excused) = ([Disk.Key: Int](), [Disk.Key: Int]())
    for applied in server.applied {
      for position in applied.past + [applied.live] {
        let key = Disk.Key(vehicle: applied.vehicle, id: position.time)
        // The last position is repeated at heartbeats.
        if position != applied.live { sent[key, default: 0] += 1 }
        if !acknowledged.contains(applied.request) { excused[key, default: 0] += 1 }
      }
    }
    // A position that the server has is sent once more as a past one, to see whether it takes any.
    for (key, count) in sent where count > 1 + excused[key, default: 0] + revived[key, default: 0] {
      violate("the past position of \(key.id.rfc3339) arrived \(count) times")
    }
  }

  /// With the network back, and some updates accepted since, nothing waits any more.
  func checkDrain() {
    let hard = scenario.faults.contains { fault in
      switch fault.kind {
      // A token that has been refused past positions, or stamps from another time (as a wrong clock gives them too).
      case .deniesPast, .rejectsPast, .answers, .answersSometimes, .poison, .poisonLive, .ahead: true
      default: false
      }
    }
    guard !hard, !scenario.isDateless, finishedAt == nil, !isOff else { return }
    let troubled = (scenario.faults.map(\.until) + scenario.acts.map { $0.second + $0.act.lasts }).max() ?? 0
    let since = attempts.filter { $0.isAccepted && World.seconds($0.at) > Double(troubled) && $0.life == life }.count
    let waiting = agent.delivery.pendingCount
    if since > 8 + copy.count / 8, waiting > 1 { violate("\(waiting) positions wait after \(since) accepted updates") }
  }

  /// Whether the machine was off or asleep at some time of these seconds.
  func isAway(_ seconds: Range<Double>) -> Bool {
    scenario.acts.contains {
      $0.act.lasts > 0 && Double($0.second) < seconds.upperBound
        && Double($0.second + $0.act.lasts + 60) > seconds.lowerBound
    }
  }

  func coordinate(of stamp: Timestamp) -> (latitude: Double, longitude: Double)? {
    reported(at: stamp).first.map { ($0.coordinate.latitude, $0.coordinate.longitude) }
  }
}
