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
  /// Records the cases of the plan, after each call of the vehicle.
  func cover(_ plan: Plan) {
    if let cause = plan.cause {
      coverage.causes.cover(CauseCase(cause))
      if case .noToken(let failure?, _) = cause { coverage.tokens.cover(TokenCase(failure.reason)) }
    }
    coverage.next.cover(NextCase(plan.next))
  }

  func cover(_ input: Daemon.Input) {
    switch input {
    case .settingsRead(let outcome): coverage.settings.cover(SettingsCase(outcome))
    case .keptSettingsRead(let outcome): coverage.settings.cover(SettingsCase(outcome))
    case .storeEnded(let outcome): coverage.files.cover(FileCase(outcome))
    case .vehicle(.updateEnded(_, .failure(let failure))): coverage.transports.cover(failure.kind)
    case .vehicle(.network(let state)):
      coverage.networks.cover(state.isIsolated ? .isolated : state.isUsable ? .usable : .absent)
    case .vehicle(.resumed): coverage.networks.cover(.suspended)
    default: break
    }
  }

  func cover(_ message: Daemon.Message) {
    switch message {
    case .toVehicle(.source(let id, let report)): coverSession(id, SessionCase.State(report))
    case .toVehicle(.store(let state)): coverage.stores.cover(StoreCase(state))
    default: break
    }
  }

  func cover(_ effect: Daemon.Effect) {
    switch effect {
    case .event(let event): coverage.events.cover(event.kind)
    case .store(let operation): coverage.files.cover(FileCase(operation))
    case .storeSettings: coverage.settings.cover(.proven)
    case .respond(_, let response): coverage.responses.cover(ResponseCase(response))
    case .finished(let ending): coverage.endings.cover(EndingCase(ending))
    case .exit(let exit): coverage.endings.cover(EndingCase(exit))
    default: break
    }
  }

  /// Records the form of updates, after an update has ended.
  func coverForm() {
    guard let form = daemon.run?.vehicle.delivery.updateForm else { return }
    coverage.forms.cover(FormCase(form))
  }

  /// Records the duty, after a duty command of the driver, and once a second.
  func coverDuty() {
    let isPending = isOfflinePending
    let duty: DutyCase =
      switch (pauseNote, dutyNote) {
      case (nil, nil): .working
      case (nil, .some): isPending ? .offDutyPending : .offDutyOffline
      case (.some, nil) where scenario.trips?.reportsState != true: .paused
      case (.some, nil): isPending ? .pausedPending : .pausedOffline
      case (.some, .some): isPending ? .pausedOffDutyPending : .pausedOffDutyOffline
      }
    coverage.duties.cover(duty)
  }

  /// Records the counted cases, when the process exits.
  func coverStatistics() {
    guard let statistics = daemon.run?.vehicle.statistics else { return }
    for rejection in statistics.rejected.keys { coverage.rejections.cover(rejection) }
    for category in statistics.failed.keys { coverage.categories.cover(category) }
    for removal in statistics.removed.keys { coverage.removals.cover(removal) }
  }

  func coverSession(_ id: Int, _ state: SessionCase.State) {
    guard let index = portsBySource[id] else { return }
    coverage.sessions.cover(SessionCase(kind: sessionKind(index), state: state))
  }

  private func sessionKind(_ index: Int) -> SessionCase.Kind {
    let port = ports[index]
    if port.modem != nil { return .modem }
    if port.isNetwork { return .datagrams }
    if port.isGPSD { return .gpsd }
    if port.recording != nil { return port.isFile ? .file : .pipe }
    return scenario.isAutobaud ? .autobaud : .serial
  }

  /// Records the faults of this receiver and its line that are active in this second.
  func coverFaults(of index: Int, at second: Int) {
    for fault in scenario.faults where fault.source == index && fault.isActive(at: Double(second)) {
      switch fault.place {
      case .receiver: coverage.faults.cover(FaultCase(fault.kind))
      case .line where ports[index].baud != nil || !ports[index].isPlugged:
        coverage.faults.cover(FaultCase(fault.kind))
      default: break
      }
    }
  }

  /// Records the remaining cases, at the end of the run.
  func coverRest() {
    coverStatistics()
    for one in server.coveredFaults.union(provider.coveredFaults) { coverage.faults.cover(one) }
  }
}
