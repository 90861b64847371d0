// SPDX-License-Identifier: Apache-2.0
import Authorization
import Connectivity
import Daemon
import Delivery
import HTTPMessages
import Observability
import Vehicle
import Timekeeping

/// The cases that the run covers, as seen from outside the daemon.
extension World {
  /// After each call of the vehicle.
  func meet(_ plan: Plan) {
    if let cause = plan.cause {
      coverage.causes.meet(CauseCase(cause))
      if case .noToken(let failure?, _) = cause { coverage.tokens.meet(TokenCase(failure.reason)) }
    }
    coverage.next.meet(NextCase(plan.next))
  }

  func meet(_ input: Daemon.Input) {
    switch input {
    case .settingsRead(let outcome): coverage.settings.meet(SettingsCase(outcome))
    case .keptSettingsRead(let outcome): coverage.settings.meet(SettingsCase(outcome))
    case .storeEnded(let outcome): coverage.files.meet(FileCase(outcome))
    case .vehicle(.updateEnded(_, .failure(let failure))): coverage.transports.meet(failure.kind)
    case .vehicle(.network(let state)):
      coverage.networks.meet(state.isIsolated ? .isolated : state.isUsable ? .usable : .absent)
    case .vehicle(.resumed): coverage.networks.meet(.suspended)
    default: break
    }
  }

  func meet(_ message: Daemon.Message) {
    switch message {
    case .toVehicle(.source(let id, let report)): meetSession(id, SessionCase.State(report))
    case .toVehicle(.store(let state)): coverage.stores.meet(StoreCase(state))
    default: break
    }
  }

  func meet(_ effect: Daemon.Effect) {
    switch effect {
    case .event(let event): coverage.events.meet(event.kind)
    case .store(let operation): coverage.files.meet(FileCase(operation))
    case .storeSettings: coverage.settings.meet(.proven)
    case .respond(_, let response): coverage.responses.meet(ResponseCase(response))
    case .finished(let ending): coverage.endings.meet(EndingCase(ending))
    case .exit(let exit): coverage.endings.meet(EndingCase(exit))
    default: break
    }
  }

  /// After an update has ended.
  func meetForm() {
    guard let form = daemon.run?.vehicle.delivery.updateForm else { return }
    coverage.forms.meet(FormCase(form))
  }

  /// After a duty command of the driver, and once a second.
  func meetDuty() {
    let isPending = isOfflinePending
    let duty: DutyCase =
      switch (pauseNote, dutyNote) {
      case (nil, nil): .working
      case (nil, .some): isPending ? .offDutyPending : .offDutyOffline
      case (.some, nil) where scenario.trips?.reportsState != true: .paused
      case (.some, nil): isPending ? .pausedPending : .pausedOffline
      case (.some, .some): isPending ? .pausedOffDutyPending : .pausedOffDutyOffline
      }
    coverage.duties.meet(duty)
  }

  /// At the end of the process.
  func meetStatistics() {
    guard let statistics = daemon.run?.vehicle.statistics else { return }
    for rejection in statistics.rejected.keys { coverage.rejections.meet(rejection) }
    for category in statistics.failed.keys { coverage.categories.meet(category) }
    for removal in statistics.removed.keys { coverage.removals.meet(removal) }
  }

  func meetSession(_ id: Int, _ state: SessionCase.State) {
    guard let index = portsBySource[id] else { return }
    coverage.sessions.meet(SessionCase(kind: sessionKind(index), state: state))
  }

  private func sessionKind(_ index: Int) -> SessionCase.Kind {
    let port = ports[index]
    if port.modem != nil { return .modem }
    if port.isNetwork { return .datagrams }
    if port.isGPSD { return .gpsd }
    if port.recording != nil { return port.isFile ? .file : .pipe }
    return scenario.isAutobaud ? .autobaud : .serial
  }

  /// Faults of this receiver and its line that are active in this second.
  func meetFaults(of index: Int, at second: Int) {
    for fault in scenario.faults where fault.source == index && fault.isActive(at: Double(second)) {
      switch fault.place {
      case .receiver: coverage.faults.meet(FaultCase(fault.kind))
      case .line where ports[index].speed != nil || !ports[index].isPlugged:
        coverage.faults.meet(FaultCase(fault.kind))
      default: break
      }
    }
  }

  /// At the end of the run.
  func meetRest() {
    meetStatistics()
    for one in server.metFaults.union(provider.metFaults) { coverage.faults.meet(one) }
  }
}
