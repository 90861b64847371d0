// SPDX-License-Identifier: Apache-2.0
import PositionBacklog
import Delivery
import FleetEngine
import HTTPMessages
import Positioning
import Daemon
import Observability
import Vehicle
import Timekeeping

/// Invariants of every run, checked against the server's and the receiver's data.
extension World {
  func checkAfterwards() {
    checkStamps()
    checkTimes()
    checkGaps()
    checkPositionGaps()
    checkDelivered()
    checkThinning()
    checkBacklog()
    checkRejected()
    checkMisdated()
    checkExpired()
    checkRepeats()
    checkDrain()
    checkReturn()
    checkPauses()
    checkLock()
    if finishedAt == nil { checkOffline() }
    checkStateOrder()
    checkSettings()
    if mostFormRefusals > 3 {
      violate(
        "\(mostFormRefusals) compact updates in a row were refused, and plain ones would have been accepted")
    }
    // The file is read after the first request, which may take its whole deadline.
    if !isOff, finishedAt == nil, isRunning, openFile.troubledSince == nil, unrestored[vehicle] != nil,
      now - max(startedAt, installation.ranAt) > .seconds(30)
    {
      violate("the stored positions of \(vehicle) were never restored")
    }
  }

  /// No position from a pause is ever sent, not even after the pause.
  private func checkPauses() {
    let times = (inactiveSpans + openPauses).map {
      Scenario.boot + .nanoseconds($0.lowerBound.nanoseconds)...Scenario.boot + .nanoseconds($0.upperBound.nanoseconds)
    }
    // A modem is polled: its response may contain a position that is as old as the previous poll.
    let age = Duration.milliseconds(scenario.hasModem ? 2000 : 0)
    for applied in server.applied {
      for position in applied.past + [applied.live] {
        // A receiver reports a position about 100 ms after its time.
        let reported = reported(at: position.time, late: slowestResponse)
        guard !reported.isEmpty, !reported.contains(where: \.isFaulty) else { continue }
        let isOfPause = reported.allSatisfy { reported in
          // Data that was held back arrived later.
          guard !scenario.isActive(at: Double(reported.second), { if case .heldBack = $0 { true } else { false } })
          else {
            return false
          }
          let arrived = Scenario.boot + .milliseconds(reported.second * 1000 + 100)
          // Of two datagrams that were swapped, one arrived with the other, a second later.
          let isSwapped = scenario.isActive(at: Double(reported.second)) {
            if case .swapped = $0 { true } else { false }
          }
          let delay = Duration.seconds(isSwapped ? 1 : 0)
          // In a pipe, an epoch whose last sentence is unknown ends only with the next epoch that can be read.
          let decoded = ports.compactMap { $0.decodedAt[reported.second] }.max()
          let ended = (decoded.map { Scenario.boot + .nanoseconds($0.nanoseconds) } ?? arrived + age) + delay
          // It was measured before the pause, and stayed in the port's buffer during a suspend.
          let second = Double(reported.second)
          let isBuffered = isOffOrSuspended(second..<second + 1)
          return times.contains {
            $0.lowerBound < arrived && ended < $0.upperBound
              && !(isBuffered && Scenario.boot + .seconds(reported.second) < $0.lowerBound)
          }
        }
        if isOfPause {
          violate("the position of \(position.time.rfc3339) is from a pause, and was sent")
        }
      }
    }
  }

  /// Every position at the server is one that a receiver reported, and the live position never goes back in time,
  /// unless a wrong timestamp has been overruled.
  private func checkStamps() {
    var newest: [String: Timestamp] = [:]
    for applied in server.applied {
      for position in applied.past + [applied.live] {
        // The position of a parked vehicle is held constant, up to 30 m from what the receiver reports. When the
        // position of a receiver jumps, the last position is held for some seconds.
        let isReported = reported(at: position.time, late: slowestResponse).contains { reported in
          let places =
            [reported.coordinate]
            + receivers.flatMap { receiver in
              (0...20).compactMap { receiver.place(in: reported.second - $0) }
            }
          return places.contains {
            abs($0.latitude - position.latitude) < 4e-4 && abs($0.longitude - position.longitude) < 6e-4
          }
        }
        if !isReported { violate("the server has a position of \(position.time.rfc3339), which no receiver reported") }
      }
      // A request that was cancelled in flight may arrive after its successor.
      guard !abandonedIDs.contains(applied.request) else { continue }
      if let before = newest[applied.vehicle], applied.live.time < before, !isFaulty(before),
        !isFaulty(applied.live.time), !isStored(applied), !isBeforeRejected(applied)
      {
        violate("lastLocation went back in time, from \(before.rfc3339) to \(applied.live.time.rfc3339)")
      }
      newest[applied.vehicle] = applied.live.time
    }
  }

  /// No live position is from the future, and Fleet Engine ignores none because an earlier one was.
  private func checkTimes() {
    // Fixes of a receiver whose clock lags are held until it has caught up, but not if it lags by more than this.
    guard !scenario.isDateless, scenario.secondReceiver?.lag ?? 0 <= 10_000 else { return }
    // The newest live position from the future that is allowed, because two time sources with the same error can
    // outvote the others, and an `iat` is less precise than a `Date`. Fleet Engine ignores positions before it.
    var excused = Scenario.boot
    for applied in server.applied where applied.at < scenario.secondClockErrorAt {
      let ahead = (applied.live.time - (Scenario.boot + .milliseconds(Int64(applied.at * 1000)))).inSeconds
      if ahead > 5,
        isWithoutServer(applied) || asksForTime(applied) || isByIssueTime(applied, by: ahead)
          || isMisdatedRecording(applied) || isByProviderAhead(applied, by: ahead)
      {
        excused = max(excused, applied.live.time)
        continue
      }
      // The server's newest position may be sent again, to carry queued positions.
      if ahead > 5, applied.live.time == excused { continue }
      if isQueuedBeforeTime(applied) { excused = max(excused, applied.live.time) }
      if ahead > 5 { violate("an update at \(applied.at) s is \(ahead) s ahead of the time") }
      if applied.isIgnored, applied.live.time > excused, !abandonedIDs.contains(applied.request), !isStored(applied),
        !isBeforeRejected(applied)
      {
        violate("an update at \(applied.at) s is older than the one before")
      }
    }
  }

  /// Whether the time was known only from a token's `iat`, which may be off by some seconds, and by the time that the
  /// token's request took.
  private func isByIssueTime(_ applied: FleetEngineServer.Applied, by seconds: Double) -> Bool {
    let isUndated = scenario.faults.contains { if case .providerUndated = $0.kind { true } else { false } }
    guard isUndated, let attempt = attempts.first(where: { $0.id == applied.request }), isBeforeFirstResponse(attempt)
    else { return false }
    let last = received.filter { $0.value < attempt.at }.max { $0.value < $1.value }
    return seconds <= 7 + (last.flatMap { requestTimes[$0.key] } ?? .zero).inSeconds
  }

  /// Whether the time is that of a provider whose clock is far ahead in two responses, because Fleet Engine has not
  /// responded yet, and the machine's clock is wrong, too.
  private func isByProviderAhead(_ applied: FleetEngineServer.Applied, by seconds: Double) -> Bool {
    guard !scenario.hasRightClock, let attempt = attempts.first(where: { $0.id == applied.request }),
      isBeforeFirstResponse(attempt)
    else { return false }
    let start = starts[attempt.runNumber] ?? .boot
    guard received.values.count(where: { start <= $0 && $0 < attempt.at }) >= 2 else { return false }
    return scenario.faults.contains { fault in
      if case .providerClock(let error) = fault.kind {
        error >= 600 && Double(fault.from) <= applied.at && abs(seconds - Double(error)) <= 5
      } else {
        false
      }
    }
  }

  /// Whether the live position is from a recording and has a wrong date. Recorded times are always used as they are,
  /// and an epoch that lost its date when no earlier date was known gets the date of the machine's clock.
  private func isMisdatedRecording(_ applied: FleetEngineServer.Applied) -> Bool {
    scenario.recording != nil && isFaulty(applied.live.time)
  }

  /// Whether no server's time was known when the update was sent, only the receiver's and that of the machine's clock.
  /// A server's time that was received only once is not stored for the next run, and expires after a minute unless the
  /// machine's clock confirms it.
  private func isWithoutServer(_ applied: FleetEngineServer.Applied) -> Bool {
    guard let attempt = attempts.first(where: { $0.id == applied.request }) else { return false }
    let times = serverTimes(before: attempt)
    guard let first = times.first else { return true }
    if times.count == 1, !scenario.hasRightClock, attempt.at - first >= .seconds(60) { return true }
    // For each time, the start of the run in which it was received.
    let runs = times.map { time in starts.values.filter { $0 <= time }.max() ?? .boot }
    return Set(runs).count == runs.count && !runs.contains(starts[attempt.runNumber] ?? .boot)
  }

  /// Whether the live position has a wrong timestamp, and at most one time of a server was known: a single one is not
  /// enough to remove a queued position, which is sent when its timestamp is almost reached.
  private func isQueuedBeforeTime(_ applied: FleetEngineServer.Applied) -> Bool {
    guard isFaulty(applied.live.time), let attempt = attempts.first(where: { $0.id == applied.request }) else {
      return false
    }
    return serverTimes(before: attempt).count <= 1
  }

  /// When servers gave a time before the attempt: the provider in the same run, or Fleet Engine in the same boot.
  private func serverTimes(before attempt: Attempt) -> [BootInstant] {
    let start = starts[attempt.runNumber] ?? .boot
    // A response of the provider without a `Date` gives no time, unless the machine's clock agrees with the `iat`.
    let provided = received.compactMap { token, arrival in
      provider.issued[token].flatMap { issued in
        let isDated =
          scenario.hasAgreeingIssueTimes
          || !scenario.isActive(at: issued.issuedAt) { if case .providerUndated = $0 { true } else { false } }
        return isDated && issued.vehicle == attempt.vehicle && issued.lifetime > 0 && start <= arrival ? arrival : nil
      }
    }
    // A daemon that is killed when the response arrives does not store its time.
    return (provided + responses(before: attempt)).filter { $0 < attempt.at && !cutAt.contains($0) }
  }

  /// Whether the live position is from a previous run's backlog, or is queued and older than such a position, and was
  /// sent before Fleet Engine's first response in this boot: if all queued positions seem to be in the future, the
  /// daemon sends the oldest, because the response contains the time.
  private func asksForTime(_ applied: FleetEngineServer.Applied) -> Bool {
    guard let attempt = attempts.first(where: { $0.id == applied.request }), let start = starts[attempt.runNumber],
      recorded[Disk.Key(vehicle: applied.vehicle, id: applied.live.time)] != nil
    else { return false }
    let isStored = recorded.contains { position, entry in
      guard position.vehicle == applied.vehicle, entry.at < start else { return false }
      let removal = removals.last { $0.vehicle == position.vehicle && $0.record.id == position.id }
      return position.id == applied.live.time
        || position.id > applied.live.time && removal.map { attempt.at <= $0.at } ?? true
    }
    return isStored && isBeforeFirstResponse(attempt)
  }

  private func isBeforeFirstResponse(_ attempt: Attempt) -> Bool { responses(before: attempt).isEmpty }

  /// When Fleet Engine accepted updates in the same boot, before the attempt.
  private func responses(before attempt: Attempt) -> [BootInstant] {
    attempts.filter { $0.boots == attempt.boots && $0.isAccepted }.compactMap(\.endedAt).filter { $0 <= attempt.at }
  }

  /// Whether the live position is from before the daemon's start, before the last pause, or before the settings named
  /// this vehicle again: without a fix, the daemon knows no newer one.
  private func isStored(_ applied: FleetEngineServer.Applied) -> Bool {
    guard let attempt = attempts.first(where: { $0.id == applied.request }) else { return false }
    if isFirstStored(attempt, applied) { return true }
    let start = attempt.runNumber > 0 ? starts[attempt.runNumber] ?? .boot : .boot
    let pause = inactiveSpans.last { World.seconds($0.upperBound) <= applied.at }?.lowerBound ?? .boot
    return applied.live.time < Scenario.boot + .nanoseconds(max(start, pause).nanoseconds)
  }

  /// Whether the live position was queued before the settings named its vehicle again, and was sent before Fleet Engine
  /// accepted any update with another one since: the daemon no longer knows what it has delivered for this vehicle.
  private func isFirstStored(_ attempt: Attempt, _ applied: FleetEngineServer.Applied) -> Bool {
    guard let (at, _, _) = recorded[Disk.Key(vehicle: applied.vehicle, id: applied.live.time)] else { return false }
    return at < attempt.vehicleSince
      && !server.applied.contains { other in
        other.live.time != applied.live.time
          && attempts.contains {
            $0.id == other.request && attempt.vehicleSince <= $0.at && $0.id < attempt.id && $0.isAccepted
          }
      }
  }

  /// Whether Fleet Engine got each newer live position only by a request whose response was lost, and has rejected a
  /// later request: the daemon does not know that these positions have arrived, and sends the position before the
  /// rejected one.
  private func isBeforeRejected(_ applied: FleetEngineServer.Applied) -> Bool {
    let earlier = server.applied.prefix { $0.request != applied.request }
    return earlier.allSatisfy { newer in
      guard newer.vehicle == applied.vehicle, newer.live.time > applied.live.time else { return true }
      guard let lost = attempts.first(where: { $0.id == newer.request }), !lost.isAccepted else { return false }
      return attempts.contains { attempt in
        lost.id < attempt.id && attempt.id < applied.request && [400, 413, 501].contains(attempt.status)
      }
    }
  }

  private func isFaulty(_ stamp: Timestamp) -> Bool {
    reported(at: stamp).contains { $0.isFaulty }
  }

  /// Accepted updates are at least 5 s apart, and at most 60 s apart while the vehicle is online with a token and a
  /// fix.
  private func checkGaps() {
    let arrivals = Dictionary(server.applied.map { ($0.request, $0.at) }) { first, _ in first }
    let overruled = Set(
      server.applied.filter { isOverruled($0) || isFromBeforeMisdated($0) || isQueuedBeforeTime($0) }.map(\.request))
    /// The time from which on a position can be repeated after this update.
    func repeatable(after attempt: Attempt, at arrival: Double) -> Double {
      overruled.contains(attempt.id) ? fifthSoundFix(after: arrival) ?? .infinity : arrival
    }
    // Stored positions are not repeated: without a fix there is nothing to send after them.
    let stored = Set(server.applied.filter(isStored).map(\.request))
    var (lastAccepted, last): (Attempt?, Attempt?)
    for attempt in attempts {
      // An abandoned request, or one without a response, may arrive seconds later.
      guard let arrival = arrivals[attempt.id], !abandonedIDs.contains(attempt.id) else {
        (lastAccepted, last) = (nil, nil)
        continue
      }
      if let accepted = lastAccepted, accepted.vehicle == attempt.vehicle, accepted.boots == attempt.boots,
        let before = arrivals[accepted.id], arrival - before < 5, !isForgotten(accepted, before: attempt)
      {
        violate("two accepted updates within \(arrival - before) s")
      }
      if let last, last.vehicle == attempt.vehicle, last.boots == attempt.boots, let before = arrivals[last.id] {
        if last.runNumber == attempt.runNumber, arrival - repeatable(after: last, at: before) > 60 + transit,
          !hasPaused(from: before, to: arrival), !isOffOrSuspended(before..<arrival),
          !lacksToken(from: before, to: arrival)
        {
          violate("\(arrival - before) s without an update while online")
        }
      }
      lastAccepted = attempt.isAccepted ? attempt : nil
      last = stored.contains(attempt.id) ? nil : lastAccepted
    }
    if let last, last.runNumber == runNumber, !isOff, let before = arrivals[last.id], finishedAt == nil,
      second - repeatable(after: last, at: before) > 60 + transit,
      !lacksToken(from: before, to: second), !hasPaused(from: before, to: second),
      !isOffOrSuspended(before..<second)
    {
      violate("\(second - before) s without an update at the end, while online")
    }
  }

  /// Whether the settings named another vehicle, and a new run began, between two updates of this vehicle: a run knows
  /// the last update of the previous one only if it was one of the same vehicle.
  private func isForgotten(_ last: Attempt, before attempt: Attempt) -> Bool {
    last.runNumber != attempt.runNumber && starts[attempt.runNumber].map { $0 <= attempt.vehicleSince } ?? false
  }

  /// Whether a token request failed in this period, or the last token expired in it after the request for its successor
  /// had failed: the wait until the next attempt may be longer than the rest of the token's lifetime.
  func lacksToken(from start: Double, to end: Double) -> Bool {
    let failures = (tokenFailures + events.filter { $0.event.kind == .tokenRefused }.map(\.at)).map(World.seconds)
    if failures.contains(where: { start < $0 && $0 <= end }) { return true }
    // Tokens that were invalid on arrival are ignored.
    let obtained = events.filter { $0.event.kind == .tokenObtained }.map(\.at)
    let tokens = received.filter { World.seconds($0.value) <= start && obtained.contains($0.value) }
    guard let (token, arrival) = tokens.max(by: { $0.value < $1.value }), let issued = provider.issued[token] else {
      return false
    }
    let arrived = World.seconds(arrival)
    return arrived + Double(issued.lifetime) < end && failures.contains { arrived < $0 && $0 <= start }
  }

  /// Whether the daemon dropped a misdated position that was queued after the live one, before it sent the live one or
  /// with the response. Then the live one came from the queue, without a new fix, and is not repeated.
  private func isFromBeforeMisdated(_ applied: FleetEngineServer.Applied) -> Bool {
    func queuedAt(_ id: Backlog.ID) -> BootInstant? { recorded[Disk.Key(vehicle: applied.vehicle, id: id)]?.at }
    guard let attempt = attempts.first(where: { $0.id == applied.request }), let at = queuedAt(applied.live.time) else {
      return false
    }
    return removals.contains { removal in
      removal.reason == .misdated && removal.vehicle == applied.vehicle
        && removal.at <= attempt.endedAt ?? attempt.at
        && queuedAt(removal.record.id).map { at < $0 } ?? false
    }
  }

  /// Whether the live position's timestamp was in the future or long past when it arrived, by the true time, or by a
  /// server's wrong clock that may have outvoted the others by then. The daemon drops such a position, and does not
  /// repeat it.
  private func isOverruled(_ applied: FleetEngineServer.Applied) -> Bool {
    let errors = applied.at < scenario.secondClockErrorAt ? [] : clockErrors(until: applied.at)
    return ([0] + errors).contains { error in
      let ahead = applied.live.time - (Scenario.boot + .milliseconds(Int64(applied.at * 1000)) + .seconds(error))
      return ahead > .seconds(3) || ahead < .seconds(-60)
    }
  }

  /// The time, in seconds since boot, of the fifth good fix after this second: after a fix with a wrong time, the
  /// filter accepts right ones only from the fifth on.
  private func fifthSoundFix(after second: Double) -> Double? {
    let sound = track.indices.dropFirst(Int(second)).lazy.filter { [track] in track[$0].hasFix }
    return sound.dropFirst(4).first.map { Double($0 + 1) }
  }

  /// Whether, at any time in this period, the machine was suspended or knew that it had no network, or the vehicle was
  /// paused or used by another daemon.
  private func hasPaused(from start: Double, to end: Double) -> Bool {
    let open = absentSince.map { [$0...max(now, $0)] } ?? []
    return isAny(of: disconnectedSpans + suspendedSpans + inactiveSpans + open + openPauses, from: start, to: end)
  }

  private func isInactive(from start: Double, to end: Double) -> Bool {
    isAny(of: inactiveSpans + openPauses, from: start, to: end)
  }

  private func isAny(of spans: [ClosedRange<BootInstant>], from start: Double, to end: Double) -> Bool {
    spans.contains { start < World.seconds($0.upperBound) && World.seconds($0.lowerBound) < end }
  }

  /// The gap between two queued or delivered positions never exceeds what the reporting policy allows.
  private func checkPositionGaps() {
    // A reload may change the vehicle, and the previous vehicle's pending positions are not counted here.
    guard !scenario.acts.contains(where: { if case .reload = $0.act { true } else { false } }) else { return }
    // A file has no positions from the time of the run.
    if case .file = scenario.recording { return }
    var stamps = Set<Int>()
    func add(_ time: Timestamp) {
      for reported in reported(at: time) { stamps.insert(reported.second) }
    }
    for applied in server.applied {
      add(applied.live.time)
      for position in applied.past { add(position.time) }
    }
    for record in (pending[vehicle] ?? [:]).values { add(record.location.time) }
    for removal in removals where removal.reason != .delivered { add(removal.record.location.time) }
    for key in lostInCuts { add(key.id) }
    guard var before = stamps.min() else { return }
    let delays = comparisonDelays
    let replayDelay = ports.indices.map { self.replayDelay(of: $0, at: Int(second)) }.max() ?? 0
    let end = Int(second) - 1
    let heartbeat = 52
    for stamp in stamps.sorted() + [end] {
      defer { before = stamp }
      guard stamp - before > 13, before < end else { continue }
      guard !isInactive(from: Double(before), to: Double(stamp)) else { continue }
      let seconds = track.enumerated().dropFirst(before - 1).prefix(stamp - before + 1)
      let isSlow = track.dropFirst(max(before - 15, 0)).prefix(stamp - before + 17).contains { $0.speed < 2 }
      let secondsWithoutFix = seconds.count { !$0.element.hasFix }
      // What has been read and not replayed yet is lost with the process, and missing at the end.
      let isReplayCut =
        stamp == end || cutAt.contains { (before...stamp).contains(Int(World.seconds($0))) }
        // A replay that lags is interrupted when it has reached an earlier second.
        || replayDelay > 0
          && isAny(
            of: inactiveSpans + openPauses + suspendedSpans, from: Double(before), to: Double(stamp + replayDelay))
      // An update that was just accepted delays the next by the minimum interval of 5 s, and the rate limit by 9 s.
      let allowed =
        (isSlow ? heartbeat : 13) + 11 + (secondsWithoutFix > 0 ? secondsWithoutFix + 10 : 0) + (delays[before] ?? 0)
        + (isReplayCut ? replayDelay : 0)
      if stamp - before > allowed {
        violate("positions from second \(before) to \(stamp) are lost: \(stamp - before) s, allowed \(allowed)")
      }
    }
  }

  /// For positions whose compact update was rejected, perhaps for its form, and was followed by a plain one: the number
  /// of seconds between these two updates, by the second of the position. The next heartbeat is due an interval after
  /// the plain update.
  private var comparisonDelays: [Int: Int] {
    let sent = Dictionary(attempts.map { ($0.id, $0) }) { first, _ in first }
    var delays: [Int: Int] = [:]
    for applied in server.applied where !applied.isCompact {
      guard let refused = sent[applied.request - 1], let again = sent[applied.request] else { continue }
      // Whatever may be about the form is followed by the plain update at once.
      let isAboutForm = server.refusedForms.contains(refused.id) || again.at == refused.endedAt
      guard isAboutForm else { continue }
      for reported in reported(at: applied.live.time) {
        delays[reported.second] = Int((again.at - refused.at).wholeSeconds) + 1
      }
    }
    return delays
  }

  /// Positions that the backlog counts as delivered are at the server.
  private func checkDelivered() {
    var arrived = Set<Timestamp>()
    for applied in server.applied {
      arrived.insert(applied.live.time)
      for position in applied.past { arrived.insert(position.time) }
    }
    for removal in removals where removal.reason == .delivered {
      let time = removal.record.location.time
      guard !arrived.contains(time) else { continue }
      violate("the position of \(time.rfc3339) counts as delivered, and the server never saw it")
    }
    if let undelivered, undelivered < copy.count { violate("\(undelivered) undelivered, \(copy.count) in the backlog") }
  }

  /// Each thinned position differs from the interpolation between the remaining positions by at most the reported
  /// error.
  private func checkThinning() {
    // Thinned positions with wrong timestamps are not checked.
    let thinned = removals.filter {
      let place = $0.record.location.coordinate
      return $0.reason == .thinned && $0.vehicle == vehicle && !isAheadOfQueueing($0.record.id)
        && !isMisdated($0.record.id, (place.latitude, place.longitude))
    }.map { ($0.record.location, at: $0.at) }
    guard !thinned.isEmpty else { return }
    var known: [Timestamp: (latitude: Double, longitude: Double)] = [:]
    for applied in server.applied where applied.vehicle == vehicle {
      for position in applied.past + [applied.live] { known[position.time] = (position.latitude, position.longitude) }
    }
    // A position that was lost in a power cut, or dropped for its wrong timestamp, is a neighbour only of positions
    // that were thinned before that.
    var lost: [Timestamp: BootInstant] = [:]
    for removal in removals where removal.reason == .misdated && removal.vehicle == vehicle {
      let (stamp, place) = (removal.record.id, removal.record.location.coordinate)
      guard known[stamp] == nil || lost[stamp] != nil else { continue }
      (known[stamp], lost[stamp]) = ((place.latitude, place.longitude), removal.at)
    }
    for removal in removals
    where ![.thinned, .misdated].contains(removal.reason) && removal.vehicle == vehicle {
      let (stamp, place) = (removal.record.id, removal.record.location.coordinate)
      (known[stamp], lost[stamp]) = ((place.latitude, place.longitude), nil)
    }
    // `pending` includes the positions on disk if the run ends before they are restored. One with the timestamp of an
    // earlier one, of a clock that was ahead, is the one that is queued now.
    for location in (pending[vehicle] ?? [:]).values.map(\.location) {
      let place = (location.coordinate.latitude, location.coordinate.longitude)
      (known[location.time], lost[location.time]) = (place, nil)
    }
    // Each run restores the interpolation errors of previous runs for the positions still pending.
    let reported = max(thinnedWithin, daemon.run?.vehicle.delivery.backlog.thinnedWithin ?? 0)
    // The server may have another position with this timestamp, from when the receiver's clock was ahead.
    for (key, at) in lostAt where key.vehicle == vehicle && known[key.id].map({ isMisdated(key.id, $0) }) ?? true {
      known[key.id] = recorded[key].map { ($0.place.latitude, $0.place.longitude) }
      lost[key.id] = at
    }
    // A live position that was never queued is a neighbour only of positions that were thinned after it was accepted.
    let accepted = Dictionary(
      attempts.compactMap { attempt in attempt.isAccepted ? attempt.endedAt.map { (attempt.id, $0) } : nil }
    ) { $1 }
    var unqueued: [Timestamp: BootInstant] = [:]
    for applied in server.applied
    where applied.vehicle == vehicle && recorded[Disk.Key(vehicle: vehicle, id: applied.live.time)] == nil {
      let at = accepted[applied.request] ?? .distantFuture
      unqueued[applied.live.time] = min(unqueued[applied.live.time] ?? at, at)
    }
    // The positions that were removed as misdated before their timestamps were reached. The timestamp may recur as that
    // of a right position; then it is not known when the first one was queued.
    typealias Removed = (queued: BootInstant, removed: BootInstant, place: (latitude: Double, longitude: Double))
    var removedAhead: [Timestamp: Removed] = [:]
    for removal in removals where removal.reason == .misdated && removal.vehicle == vehicle {
      let (stamp, place) = (removal.record.id, removal.record.location.coordinate)
      guard stamp > trueTime(at: removal.at) else { continue }
      let queued = recorded[Disk.Key(vehicle: vehicle, id: stamp)]?.at ?? .boot
      removedAhead[stamp] = (queued > removal.at ? .boot : queued, removal.at, (place.latitude, place.longitude))
    }
    let all = known.sorted { $0.key < $1.key }
    let track = all.filter { !isMisdated($0.key, $0.value) }
    // The track as the daemon may see it: without positions that were queued before their timestamps, and without
    // thinned positions that the server has because only the response was lost.
    let times = Set(thinned.map(\.0.time))
    let trackOfDaemon = track.filter { !isAheadOfQueueing($0.key) && !times.contains($0.key) }
    for (location, removedAt) in thinned {
      func isNeighbour(_ stamp: Timestamp) -> Bool {
        lost[stamp].map { $0 >= removedAt } ?? true && unqueued[stamp].map { $0 <= removedAt } ?? true
      }
      typealias Track = [(key: Timestamp, value: (latitude: Double, longitude: Double))]
      func next(in track: Track) -> Track.Element? { track.first { $0.key >= location.time && isNeighbour($0.key) } }
      func previous(in track: Track) -> Track.Element? { track.last { $0.key < location.time && isNeighbour($0.key) } }
      /// The interpolation error in metres; nil if the position is outside of the track.
      func error(in track: Track) -> Double? {
        // A wrong clock misdates neighbouring positions alike, but `isMisdated` may recognize only some of them,
        // depending on when the clock was corrected, and on the end of the run. So misdated neighbours are used if
        // there are no others.
        guard let end = next(in: track) ?? next(in: all), let start = previous(in: track) ?? previous(in: all) else {
          return nil
        }
        let fraction = (location.time - start.key).inSeconds / (end.key - start.key).inSeconds
        let place = Coordinate(
          latitude: start.value.latitude + (end.value.latitude - start.value.latitude) * fraction,
          longitude: start.value.longitude + (end.value.longitude - start.value.longitude) * fraction)
        return place?.distance(to: location.coordinate) ?? .infinity
      }
      // A position that was queued with a timestamp in the future is the next neighbour of all positions queued since,
      // until it proves to be misdated.
      let future = removedAhead.filter { $0.value.queued <= removedAt && removedAt <= $0.value.removed }
      let queuedThen =
        (all.filter { entry in
          future[entry.key] == nil
            && recorded[Disk.Key(vehicle: vehicle, id: entry.key)].map { $0.at <= removedAt } ?? true
        } + future.map { ($0.key, $0.value.place) }).sorted { $0.key < $1.key }
      let isBeforeFuture = next(in: queuedThen).map { future[$0.key] != nil || isAheadOfQueueing($0.key) } ?? false
      let errors = [error(in: track), error(in: trackOfDaemon), isBeforeFuture ? error(in: queuedThen) : nil]
      guard let error = errors.compactMap(\.self).min() else {
        violate("the thinned position of \(location.time.rfc3339) is outside of the remaining track")
        continue
      }
      // Coordinates are sent with six decimals: latitude and longitude have an error of up to half of the last one.
      if error > reported + 0.08 {
        violate("a position was thinned that is \(error) m off, reported is \(reported) m")
      }
    }
  }

  /// Whether a position was reported more than ten seconds before or after its timestamp; a smaller difference is a
  /// receiver's lag. A wrong clock's timestamp may recur when the clock is right, so the nearest of the positions with
  /// this timestamp decides. While the vehicle is stationary, several of them are equally near, except for noise.
  private func isMisdated(_ stamp: Timestamp, _ place: (latitude: Double, longitude: Double)) -> Bool {
    func distance(_ reported: Receiver.ReportedFix) -> Double {
      abs(reported.coordinate.latitude - place.latitude) + abs(reported.coordinate.longitude - place.longitude)
    }
    let second = Int((stamp - Scenario.boot).wholeSeconds)
    let candidates = reported(at: stamp, late: slowestResponse)
    guard let nearest = candidates.map(distance).min() else { return false }
    return !candidates.contains { distance($0) < nearest + 1e-4 && abs($0.second - second) <= 10 }
  }

  /// Whether a position was queued more than ten seconds before its timestamp: then it is misdated, wherever the
  /// vehicle was.
  private func isAheadOfQueueing(_ stamp: Timestamp) -> Bool {
    guard let (at, _, _) = recorded[Disk.Key(vehicle: vehicle, id: stamp)] else { return false }
    return stamp - (Scenario.boot + .nanoseconds(at.nanoseconds)) > .seconds(10)
  }

  /// After an outage of the network in which an attempt failed, an update arrives within an interval.
  private func checkReturn() {
    for fault in scenario.faults where fault.isSilence && fault.from > 30 {
      let from = Double(fault.until)
      let tried = attempts.last { World.seconds($0.at) < from }
      guard let tried, World.seconds(tried.at) >= Double(fault.from), !tried.isAccepted else { continue }
      // The server refuses one request in 40 unread, and never the one after it.
      let refused = attempts.first {
        from <= World.seconds($0.at) && World.seconds($0.at) <= from + 11 && $0.isUnprocessed
      }
      // Requests that hang end at their own deadline, and a token may be needed first.
      let ends = [
        tried.endedAt.map(World.seconds) ?? World.seconds(tried.at) + 15,
        fault.isQuick ? from : (lastFetch(before: from) ?? from) + 15,
        refused?.endedAt.map(World.seconds) ?? from,
      ]
      // Without a default route, attempts are three minutes apart.
      let isSuppressed = scenario.acts.contains { if case .network(false) = $0.act { true } else { false } }
      let limit = (ends + [from]).reduce(from, max) + (isSuppressed ? 195 : 11)
      let others = scenario.faults.filter { $0.from != fault.from || $0.until != fault.until }
      let isCalm = !others.contains { Double($0.until) > Double(fault.from) - 320 && Double($0.from) < limit }
      let hasActed = scenario.acts.contains {
        Double($0.second + $0.act.lasts) > from - 60 && Double($0.second) < limit
      }
      // The power is cut some effects after the act.
      let wasCut = cutAt.contains { from - 60 < World.seconds($0) && World.seconds($0) < limit }
      let lacksProvider = wrongFetches.contains { from <= World.seconds($0) && World.seconds($0) <= limit }
      guard isCalm, !hasActed, !wasCut, limit + 2 < second, !isInactive(from: from - 60, to: limit), !lacksProvider
      else { continue }
      if !server.applied.contains(where: { $0.at >= from && $0.at <= limit }) {
        violate("nothing arrived within \(limit - from) s of the network's return at \(from) s")
      }
    }
  }

  private func lastFetch(before second: Double) -> Double? {
    fetches.last { World.seconds($0) < second }.map(World.seconds)
  }

  /// The number of seconds that a slow network may add between two arrivals: the round trip of a token request, and the
  /// update's transit.
  private var transit: Double {
    scenario.faults.reduce(0) { most, fault in
      if case .latency(let milliseconds) = fault.kind { max(most, Double(milliseconds) * 6 / 1000) } else { most }
    }
  }
}

extension Fault {
  /// Whether the network transmits nothing, so that only an attempt can detect its return.
  var isSilence: Bool {
    switch kind {
    case .nameServersDead, .unresolved, .unreachable, .silent: true
    default: false
    }
  }

  /// Whether requests fail at once.
  var isQuick: Bool {
    switch kind {
    case .unresolved, .unreachable: true
    default: false
    }
  }
}
