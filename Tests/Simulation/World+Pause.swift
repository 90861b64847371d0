// SPDX-License-Identifier: Apache-2.0
import Delivery
import HTTPMessages
import Timekeeping

/// The driver goes off duty and comes back.
extension World {
  /// The shell has it on disk when the agent's effect is done: it does not wait as the backlog's store does.
  func storePause(_ note: PauseRecord?) {
    if note == nil { checkOffline() }
    // It is text on disk.
    pauseNote = note.map { PauseRecord(text: $0.text) }
    if pauseNote != nil {
      pausedAt = pausedAt ?? now
      if isOfflineSettled, offlineSettledAt == nil { offlineSettledAt = now }
    } else if let began = pausedAt {
      offDuty.append(began...now)
      pausedAt = nil
      offlineSettledAt = nil
    }
  }

  private var setsState: Bool { scenario.trips?.reportsState == true }

  private var isOfflineSettled: Bool {
    pauseNote?.offline == "trips/provider/\(vehicle)"
  }

  /// Whether OFFLINE is pending, according to the stored pause.
  var isOfflinePending: Bool { setsState && pausedAt != nil && !isOfflineSettled }

  /// During a pause nothing is sent but OFFLINE, as long as it has not been accepted; on duty everything but OFFLINE.
  func checkDuty(of request: HTTPRequest) {
    let isOffline = request.url.hasSuffix("?updateMask=vehicleState")
    if pausedAt != nil {
      if !isOffline { violate("an update during a pause") }
      if !isOfflinePending { violate("OFFLINE once more than it takes") }
    } else if isOffline, agent.lifecycle.isRunning || scenario.trips?.offlineOnStop != true {
      violate("OFFLINE on duty")
    }
  }

  /// No position is accepted, and no state is ONLINE, once the daemon counts OFFLINE as accepted. Checked after each
  /// request that the server has applied.
  func checkSettled() {
    guard let offlineSettledAt, let change = server.states.last(where: { $0.vehicle == vehicle }) else { return }
    if change.isOnline, change.at > World.seconds(offlineSettledAt) {
      violate("ONLINE after OFFLINE was accepted for good")
    }
  }

  /// The state that was requested last is the last to arrive: no OFFLINE arrives after the ONLINE of a later request,
  /// except after a reboot, which the daemon does not detect.
  func checkStateOrder() {
    var online: [String: UInt64] = [:]
    for change in server.states {
      guard !change.isOnline else {
        online[change.vehicle] = max(online[change.vehicle] ?? 0, change.request)
        continue
      }
      guard let later = online[change.vehicle], later > change.request, boots(of: later) == boots(of: change.request)
      else { continue }
      violate("OFFLINE of request \(change.request) arrived at \(change.at) s, after ONLINE of request \(later)")
    }
  }

  private func boots(of request: UInt64) -> Int? { attempts.last { $0.id == request }?.boots }

  /// While nothing is wrong for long enough, a driver who is off duty is OFFLINE at Fleet Engine.
  func checkOffline() {
    guard setsState, let pausedAt, !isOff, absentSince == nil, inUseSince == nil else { return }
    // What a wrong clock makes of certificates is no fault that ends.
    guard !scenario.hasCertificates else { return }
    // The longest wait after a failure, and a request.
    let longest = 330
    var calmSince = World.seconds(pausedAt)
    for fault in scenario.faults where [.network, .server, .provider, .machine].contains(fault.place) {
      guard Double(fault.from) < second, Double(fault.until + longest) > calmSince else { continue }
      calmSince = max(calmSince, Double(fault.until + longest))
    }
    for (at, act) in scenario.acts where Double(at) < second {
      calmSince = max(calmSince, Double(at + act.lasts))
    }
    guard second - calmSince > 40, server.states.last(where: { $0.vehicle == vehicle })?.isOnline != false else {
      return
    }
    violate("the driver has been off duty for \(second - World.seconds(pausedAt)) s, and the vehicle is not OFFLINE")
  }

  /// A run that ends as the end of a duty says so when Fleet Engine does not have it.
  func checkOfflineOnStop() {
    guard scenario.trips?.offlineOnStop == true, pausedAt == nil, inUseSince == nil,
      !events.contains(where: { $0.event.kind == .stateOfflineMissing && $0.at == now }),
      // What was given up may have come after OFFLINE.
      !attempts.contains(where: { abandonedIDs.contains($0.id) && now - $0.at < .seconds(20) })
    else { return }
    if server.states.last(where: { $0.vehicle == vehicle })?.isOnline != false {
      violate("the run has ended, and the vehicle is not OFFLINE")
    }
  }
}
