// SPDX-License-Identifier: Apache-2.0
import Delivery
import Vehicle
import ExternalInput
import Observability
import Timekeeping

/// Requests on the control socket. A response is sent once what it depends on is done: the values are measured, the new
/// settings are in force, the pause is on disk.
extension Run {
  static let stoppingResponse = Daemon.Response.refused(.stopping, "the daemon is stopping")

  mutating func handle(
    _ request: Daemon.Request, _ id: UInt64, at now: Moment, _ observer: Observer?, _ effects: inout [Effect]
  ) {
    switch request {
    case .status, .metrics: publication.requests.append((id, request))
    case .reload: reload(for: id, &effects)
    case .confirmedReload(let limit): reload(for: id, confirmingWithin: limit, &effects)
    case .driverCommand(let command):
      guard vehicle.lifecycle.isRunning else {
        return effects.append(.respond(id: id, Run.stoppingResponse))
      }
      if command.isDuty, let refusal = vehicle.dutyRefusal {
        return effects.append(.respond(id: id, .refused(.duty(refusal), refusal.withAdvice.text)))
      }
      choices.driverRequest = (id, command.isDuty)
      pass(command.input, at: now, observer, &effects)
      choices.driverRequest = nil
    case .monitor:
      let state = MonitorItem.State(vehicle.snapshot(at: now))
      // Existing monitors must still be sent what has changed for them.
      if monitor == nil { monitor = MonitorWatch(vehicle, state: state) }
      effects.append(.respond(id: id, .monitoring(state)))
    case .monitorPositions:
      guard vehicle.lifecycle.isRunning else { return effects.append(.respond(id: id, Run.stoppingResponse)) }
      pass(.positionsMonitored(true), at: now, observer, &effects)
      effects.append(.respond(id: id, .monitoringPositions))
    case .sendNow:
      guard vehicle.lifecycle.isRunning else { return effects.append(.respond(id: id, Run.stoppingResponse)) }
      if let refusal = vehicle.sendRefusal {
        return effects.append(.respond(id: id, .refused(.send(refusal), refusal.withAdvice.text)))
      }
      pass(.sendNow, at: now, observer, &effects)
      let isSent = vehicle.delivery.sentAt == now.boot
      let remark = isSent ? nil : Explanation(vehicle.snapshot(at: now)).sentence
      effects.append(.respond(id: id, .done(remark: remark)))
    }
  }

  // MARK: - The driver's choices on disk

  /// The driver's choices that are not stored on disk yet.
  struct Choices: Sendable {
    /// The request that is being handled.
    var driverRequest: (id: UInt64, isDuty: Bool)?
    /// For each change of the pause that is not on disk yet, the request for it; nil: no client is waiting.
    fileprivate var pauseRequests: [UInt64?] = []
    /// Like `pauseRequests`, for the duty.
    fileprivate var dutyRequests: [UInt64?] = []
    /// Why the stored pause could not be read, or a change to it could not be stored; nil if neither happened.
    fileprivate(set) var pauseTrouble: String?
    /// Like `pauseTrouble`, for the stored duty.
    fileprivate(set) var dutyTrouble: String?
    /// The pause, or its end (nil), that the driver chose before there were settings, and why it could not be stored.
    var unstoredPause: (record: PauseRecord?, trouble: String?)?

    /// The driver's request that a change of this kind answers, returned only once; nil if no client is waiting.
    private mutating func takeRequest(isDuty: Bool) -> UInt64? {
      guard let driverRequest, driverRequest.isDuty == isDuty else { return nil }
      self.driverRequest = nil
      return driverRequest.id
    }

    mutating func beginStoringPause() { pauseRequests.append(takeRequest(isDuty: false)) }
    mutating func beginStoringDuty() { dutyRequests.append(takeRequest(isDuty: true)) }
  }

  mutating func pauseStored(_ trouble: String?, _ effects: inout [Effect]) {
    choices.pauseTrouble = trouble
    if let trouble { effects.append(.event(.pauseNotKept(trouble))) }
    guard !choices.pauseRequests.isEmpty, let request = choices.pauseRequests.removeFirst() else { return }
    effects.append(.respond(id: request, .done(remark: trouble)))
  }

  mutating func dutyStored(_ trouble: String?, _ effects: inout [Effect]) {
    choices.dutyTrouble = trouble
    if let trouble { effects.append(.event(.dutyNotKept(trouble))) }
    guard !choices.dutyRequests.isEmpty, let request = choices.dutyRequests.removeFirst() else { return }
    effects.append(.respond(id: request, .done(remark: trouble)))
  }

  /// Restores what the driver chose before a restart, or before there were settings.
  mutating func restore(
    _ found: DriverRecords, at now: Moment, _ observer: Observer?, _ effects: inout [Effect]
  ) {
    let pause: PauseRecord?
    (pause, choices.pauseTrouble) = choices.unstoredPause ?? (found.pause, found.pauseTrouble)
    // The event of `unstoredPause` was emitted when it could not be stored.
    if choices.unstoredPause == nil, let trouble = found.pauseTrouble { effects.append(.event(.pauseNotKept(trouble))) }
    if let record = pause { pass(.pause(record), at: now, observer, &effects) }
    choices.dutyTrouble = vehicle.dutyRefusal == nil ? found.dutyTrouble : nil
    if let trouble = choices.dutyTrouble { effects.append(.event(.dutyNotKept(trouble))) }
    if let record = found.duty { pass(.goOffline(record), at: now, observer, &effects) }
  }
}
