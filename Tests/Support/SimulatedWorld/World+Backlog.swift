// SPDX-License-Identifier: Apache-2.0
import PositionBacklog
import Delivery
import FleetEngine
import Positioning
import Daemon
import Vehicle
import Timekeeping

/// Checks of queued positions.
extension World {
  /// Each queued position has arrived, is pending, was removed for a named reason, or was lost with the store's file or
  /// in a power cut.
  func checkBacklog() {
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

  /// A position is dropped as rejected only if the server rejects it whenever it is sent, or already has it and rejects
  /// repeats.
  func checkRejected() {
    let mayHave = scenario.faults.contains { if case .refusesRepeats = $0.kind { true } else { false } }
    let arrived = mayHave ? Set(server.applied.flatMap { $0.past + [$0.live] }.map(\.time)) : []
    let rejected = scenario.faults.reduce(into: Set<Int>()) { rejected, fault in
      switch fault.kind {
      case .rejectsPositions(let seconds), .rejectsLivePositions(let seconds): rejected.formUnion(seconds)
      default: break
      }
    }
    for removal in removals where removal.reason == .rejected {
      if !rejected.contains(Int((removal.record.id - Scenario.boot).wholeSeconds)), !arrived.contains(removal.record.id)
      {
        violate("the good position of \(removal.record.id.rfc3339) was removed as rejected")
      }
    }
  }

  /// A position is dropped as misdated only if its time was wrong when it was queued: by more than 3 s, or it was ahead
  /// and the newest position is not later. Two agreeing responses of a server whose own clock is behind are an
  /// exception.
  func checkMisdated() {
    let isServerBehind = scenario.faults.contains {
      switch $0.kind {
      case .serverClock(let error), .providerClock(let error): error < 0
      default: false
      }
    }
    guard !isServerBehind else { return }
    for removal in removals where removal.reason == .misdated {
      let key = Disk.Key(vehicle: removal.vehicle, id: removal.record.id)
      // The time may recur after the removal.
      guard let (at, _, _) = recorded[key], at <= removal.at else { continue }
      let error = removal.record.id - trueTime(at: at)
      // Up to the correction of a receiver's clock by a few seconds, its positions are ahead, even of the time when
      // they were queued, and another position may have the timestamp of the last one.
      let isTimeTaken = error > .zero && removal.record.id >= trueTime(at: removal.at) - .seconds(1)
      if max(error, .zero - error) <= .seconds(3), !isTimeTaken {
        violate("the position of \(removal.record.id.rfc3339) was removed as misdated, and has a right time")
      }
    }
  }

  /// A position expires only if it is older than `max_age`, or its time was wrong when it was queued.
  func checkExpired() {
    for removal in removals where removal.reason == .expired {
      let key = Disk.Key(vehicle: removal.vehicle, id: removal.record.id)
      guard let (at, _, _) = recorded[key], at <= removal.at else { continue }
      let error = removal.record.id - trueTime(at: at)
      if max(error, .zero - error) <= .seconds(3), removal.at - at < configuration.delivery.maxAge {
        let age = (removal.at - at).wholeSeconds
        violate("the position of \(removal.record.id.rfc3339) expired \(age) s after it was queued")
      }
    }
  }

  /// A past position is sent again only after a lost response, or if its removal was not on disk.
  func checkRepeats() {
    // A wrong clock's timestamp may recur when the clock is right: that is another position.
    struct Arrival: Hashable {
      var vehicle: String
      var position: FleetEngineServer.Position
    }
    let acknowledged = Set(attempts.filter(\.isAccepted).map(\.id))
    var (sent, excused) = ([Arrival: Int](), [Arrival: Int]())
    for applied in server.applied {
      for position in applied.past + [applied.live] {
        let key = Arrival(vehicle: applied.vehicle, position: position)
        // Heartbeats repeat the last position.
        if position != applied.live { sent[key, default: 0] += 1 }
        if !acknowledged.contains(applied.request) { excused[key, default: 0] += 1 }
      }
    }
    // A position that the server already has is sent again as a past one, to probe whether the server accepts any past
    // position.
    for (key, count) in sent {
      let revivals = revived[Disk.Key(vehicle: key.vehicle, id: key.position.time), default: 0]
      if count > 1 + excused[key, default: 0] + revivals {
        violate("the past position of \(key.position.time.rfc3339) arrived \(count) times")
      }
    }
  }

  /// After the network's return and some accepted updates, at most one position is pending.
  func checkDrain() {
    let mayStayPending = scenario.faults.contains { fault in
      switch fault.kind {
      // After rejections, and with timestamps from the future, positions may stay pending.
      case .deniesPast, .rejectsPast, .failsPast, .failsPositions, .dropsPast, .answers, .answersSometimes,
        .rejectsPositions, .rejectsLivePositions, .ahead:
        true
      default: false
      }
    }
    guard !mayStayPending, !scenario.isDateless, finishedAt == nil, !isOff, isRunning else { return }
    let troubled = (scenario.faults.map(\.until) + scenario.acts.map { $0.second + $0.act.lasts }).max() ?? 0
    let since = attempts.filter {
      $0.isAccepted && World.seconds($0.at) > Double(troubled) && $0.runNumber == runNumber
    }.count
    let count = agent.delivery.pendingCount
    // A request carries at most a batch of past positions. If the server seemed to accept only a smaller number, that
    // is used for 128 updates; requests without a response may make that number smaller than it is.
    let batch = scenario.faults.reduce(configuration.delivery.batch) { batch, fault in
      switch fault.kind {
      case .mostPast(let count):
        attempts.contains {
          $0.endedAt != nil && $0.status == nil && !$0.isUnsent && World.seconds($0.at) >= Double(fault.from)
        } ? 1 : min(batch, count)
      case .mostBytes: 1
      default: batch
      }
    }
    let most = waiting.max() ?? 0
    if since > 8 + most / batch, count > 1 {
      violate("\(count) positions are pending after \(since) accepted updates")
    }
  }

  /// Whether the machine was off or suspended at any time in these seconds, or in the minute before.
  func isOffOrSuspended(_ seconds: Range<Double>) -> Bool {
    scenario.acts.contains {
      $0.act.lasts > 0 && Double($0.second) < seconds.upperBound
        && Double($0.second + $0.act.lasts + 60) > seconds.lowerBound
    }
  }
}
