// SPDX-License-Identifier: Apache-2.0
import Daemon
import Observability
import Vehicle
import HTTPMessages
import Timekeeping

/// The driver pauses, goes off duty, and returns.
extension World {
  /// Stores the pause, which is on disk when the agent's effect has been performed: unlike in the backlog's store,
  /// there is no delay.
  func storePause(_ note: PauseRecord?) {
    // The record is stored as text.
    noteDutyCommand { pauseNote = note.map { PauseRecord(text: $0.text) } }
    if pauseNote != nil {
      pausedAt = pausedAt ?? now
    } else if let began = pausedAt {
      inactiveSpans.append(began...now)
      pausedAt = nil
    }
  }

  /// Stores the duty in the same way.
  func storeDuty(_ note: DutyRecord?) {
    noteDutyCommand { dutyNote = note.map { DutyRecord(text: $0.text) } }
  }

  private func noteDutyCommand(_ change: () -> Void) {
    // A duty record of another vehicle ends with new settings.
    let isOfOther = dutyNote?.vehicle.map { $0 != stateName } ?? false
    if pauseNote != nil || dutyNote != nil, !isOfOther { checkOffline() }
    change()
    coverDuty()
    if pauseNote == nil, dutyNote == nil {
      (offlineSince, offlineSettledAt) = (nil, nil)
    } else {
      offlineSince = offlineSince ?? now
      if isOfflineSettled, offlineSettledAt == nil { offlineSettledAt = now }
    }
  }

  private var setsState: Bool { scenario.trips?.reportsState == true }

  private var isOfflineSettled: Bool {
    if let pauseNote { return pauseNote.offlineVehicle == stateName }
    return dutyNote.map { $0.isOfflineAccepted && $0.vehicle == stateName } ?? false
  }

  /// The vehicle's name in the files of the pause and the duty.
  private var stateName: String { "trips/provider/\(vehicle)" }

  /// Whether OFFLINE is pending, according to the stored state.
  var isOfflinePending: Bool { setsState && offlineSince != nil && !isOfflineSettled }

  /// During a pause only OFFLINE is sent. In a pause and off duty, OFFLINE is sent without a position only until it is
  /// accepted; on duty it is sent only at a stop with `offline_on_stop`. Each position is sent with the state of the
  /// duty.
  func checkDuty(of request: HTTPRequest) {
    let isAlone = request.url.hasSuffix("?updateMask=vehicleState")
    if pausedAt != nil, !isAlone { violate("an update during a pause") }
    if offlineSince != nil {
      if isAlone, !isOfflinePending { violate("OFFLINE once more than it takes") }
    } else if isAlone, daemon.run?.vehicle.lifecycle.isRunning == true || scenario.trips?.offlineOnStop != true {
      violate("OFFLINE on duty")
    }
    guard setsState, !isAlone else { return }
    let state = StrictJSON(request.body)?.object?["vehicleState"]
    if state != .string(offlineSince == nil ? "ONLINE" : "OFFLINE") { violate("a position with the other state") }
  }

  /// Fleet Engine gets no ONLINE once the daemon considers OFFLINE final. This is checked after each request that the
  /// server has applied. A request from before a reboot, of which the daemon knows nothing, is exempt if the driver
  /// went off duty after the reboot.
  func checkSettled() {
    guard let offlineSettledAt, let change = server.states.last(where: { $0.vehicle == vehicle }) else { return }
    let sent = attempts.last { $0.id == change.request }
    let isFromBeforeReboot = sent.map { sent in
      sent.boots < boots && cutAt.contains { sent.at <= $0 && $0 < offlineSince ?? .boot }
    }
    if change.isOnline, change.at > World.seconds(offlineSettledAt), isFromBeforeReboot != true {
      violate("ONLINE after OFFLINE was accepted for good")
    }
  }

  /// An OFFLINE that arrives after the ONLINE of a later request does not remain the final state: ONLINE is sent again
  /// when OFFLINE can no longer arrive, even if the vehicle is parked. Requests from before a reboot, of which the
  /// daemon knows nothing, are not checked, and neither are times with another fault or without a token.
  func checkStateOrder() {
    for (index, change) in server.states.enumerated() where !change.isOnline {
      guard server.states[..<index].contains(where: { isLater($0, than: change) }),
        let sent = attempts.last(where: { $0.id == change.request })
      else { continue }
      let (from, until) = (World.seconds(sent.at), World.seconds(sent.at) + 15 + 12)
      let isDisturbed =
        scenario.faults.contains { Double($0.from) < until && Double($0.until) > change.at }
        || scenario.acts.contains { Double($0.second) > from && Double($0.second) < until }
        || cutAt.contains { from < World.seconds($0) && World.seconds($0) < until }
        || lacksToken(from: change.at, to: until) || until > World.seconds(finishedAt ?? now)
        || server.states[(index + 1)...].contains { $0.vehicle == change.vehicle && $0.at < until }
      if !isDisturbed {
        violate("OFFLINE of request \(change.request) arrived at \(change.at) s, after a later ONLINE, and stayed")
      }
    }
  }

  private func isLater(_ other: FleetEngineServer.Change, than change: FleetEngineServer.Change) -> Bool {
    other.vehicle == change.vehicle && other.isOnline && other.request > change.request
      && boots(of: other.request) == boots(of: change.request)
  }

  private func boots(of request: UInt64) -> Int? { attempts.last { $0.id == request }?.boots }

  /// After some time without faults, the vehicle of a driver who is off duty, or paused, is OFFLINE at Fleet Engine.
  func checkOffline() {
    guard setsState, let offlineSince, !isOff, absentSince == nil, inUseSince == nil, isRunning,
      !installation.inForce.isTokenWrong
    else { return }
    // The effect of a wrong clock on certificates is not a temporary fault.
    guard !scenario.hasCertificates else { return }
    // The longest backoff after a failure plus the duration of a request, in seconds.
    let longest = 330
    // Without settings the daemon has no vehicle, and `checkWaiting` checks for how long.
    var calmSince = World.seconds(
      scenario.hasInstallationFaults
        ? max(offlineSince, installation.ranAt, installation.forceSince) : offlineSince)
    for fault in scenario.faults where [.network, .server, .provider, .machine].contains(fault.place) {
      guard Double(fault.from) < second, Double(fault.until + longest) > calmSince else { continue }
      calmSince = max(calmSince, Double(fault.until + longest))
    }
    for (at, act) in scenario.acts {
      // The check runs before the driver's command of this second takes effect, but a reload in the same second may
      // already have changed the vehicle.
      let isReload = if case .reload = act { true } else { false }
      if Double(at) < second || isReload && Double(at) == second { calmSince = max(calmSince, Double(at + act.lasts)) }
    }
    // After a token was rejected by a fault, the daemon waits for up to 15 minutes.
    for (at, event) in events {
      guard case .tokenRefused(_, let delay) = event else { continue }
      let isByFault = scenario.faults.contains {
        [.server, .provider].contains($0.place)
          && (Double($0.from)...Double($0.until + 20)).contains(World.seconds(at))
      }
      guard isByFault else { continue }
      calmSince = max(calmSince, World.seconds(at + delay) + 20)
    }
    guard second - calmSince > 40, server.states.last(where: { $0.vehicle == vehicle })?.isOnline != false else {
      return
    }
    violate(
      "the driver has been off duty for \(second - World.seconds(offlineSince)) s, and the vehicle is not OFFLINE")
  }

  /// A run with `offline_on_stop`, or one that ends off duty, reports at its end if the vehicle is not OFFLINE at Fleet
  /// Engine.
  func checkOfflineOnStop() {
    guard scenario.trips?.offlineOnStop == true || setsState && dutyNote != nil, pausedAt == nil, inUseSince == nil,
      !events.contains(where: { $0.event.kind == .stateOfflineMissing && $0.at == now }),
      // An abandoned request may have arrived after OFFLINE.
      !attempts.contains(where: { abandonedIDs.contains($0.id) && now - $0.at < .seconds(20) })
    else { return }
    if server.states.last(where: { $0.vehicle == vehicle })?.isOnline != false {
      violate("the run has ended, and the vehicle is not OFFLINE")
    }
  }
}
