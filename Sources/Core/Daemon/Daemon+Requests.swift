// SPDX-License-Identifier: Apache-2.0
package import Vehicle
package import Observability

/// Requests on the control socket.
extension Daemon {
  /// A request on the control socket.
  package enum Request: Equatable, Sendable {
    /// Everything for `fleet-locationctl status`.
    case status
    /// The metrics.
    case metrics
    /// Read the settings again.
    case reload
    /// Like `reload`, but the new settings are reverted unless an update with them is accepted within this time.
    case confirmedReload(within: Duration)
    /// What the driver chooses.
    case driverCommand(DriverCommand)
    /// Send the newest position as soon as the limits allow.
    case sendNow
    /// The state now, and from then on what happens (`monitor`), until `unmonitored`.
    case monitor
    /// From now on each position of the vehicle (`position`), until `positionsUnmonitored`.
    case monitorPositions
  }

  /// What a driver chooses.
  package enum DriverCommand: String, Sendable {
    case pause, resume, offline, online

    /// Whether the command sets the state of a vehicle of on-demand trips.
    var isDuty: Bool { self == .offline || self == .online }

    var input: VehicleAgent.Input {
      switch self {
      case .pause: .pause(nil)
      case .resume: .resume
      case .offline: .goOffline(nil)
      case .online: .goOnline
      }
    }
  }

  /// The response to a `Request`.
  package enum Response: Equatable, Sendable {
    case status(StatusReport)
    /// As text for Prometheus.
    case metrics(String)
    /// The request was carried out. `remark`: for the user, although it succeeded.
    case done(remark: String?)
    /// The state now; `monitor` follows with each change.
    case monitoring(MonitorItem.State)
    /// `position` follows with each position.
    case monitoringPositions
    /// The request was refused; the reason, as a sentence.
    case refused(Refusal, String)
  }

  /// Why a request was refused.
  package enum Refusal: Equatable, Sendable {
    /// The daemon is stopping.
    case stopping
    /// The settings have mistakes, or something that they name cannot be used.
    case settingsRefused
    /// The daemon has no settings yet.
    case settingsMissing
    /// The driver's duty cannot be chosen.
    case duty(DutyRefusal)
    /// There is nothing to send.
    case send(SendRefusal)
  }
}

/// The driver's choices that an earlier run has stored.
package struct DriverRecords: Equatable, Sendable {
  /// Nil if there is no pause.
  package var pause: PauseRecord?
  /// Why the pause could not be read; nil if it could.
  package var pauseTrouble: String?
  /// Nil if the driver is on duty.
  package var duty: DutyRecord?
  /// Why the duty could not be read; nil if it could.
  package var dutyTrouble: String?

  package init(
    pause: PauseRecord? = nil, pauseTrouble: String? = nil, duty: DutyRecord? = nil, dutyTrouble: String? = nil
  ) {
    self.pause = pause
    self.pauseTrouble = pauseTrouble
    self.duty = duty
    self.dutyTrouble = dutyTrouble
  }
}
