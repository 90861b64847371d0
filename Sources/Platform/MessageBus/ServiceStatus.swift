// SPDX-License-Identifier: Apache-2.0

/// The state of a service in systemd: the properties that `systemctl show` prints, as in org.freedesktop.systemd1(5).
package struct ServiceStatus: Codable, Equatable, Sendable {
  /// How the main process ended (CLD_… of waitid(2)).
  package enum End: Codable, Equatable, Sendable {
    /// It exited with this status; also 0 if it has not ended yet.
    case exited(Int)
    /// It was killed by this signal.
    case killed(signal: Int)
  }

  /// As in `fleet-locationd.service`.
  package var unit: String
  /// LoadState: `loaded`, `not-found`, `masked`, `bad-setting`, …
  package var load = "loaded"
  /// ActiveState: `active`, `activating`, `failed`, `inactive`, …
  package var active = "inactive"
  /// SubState: `running`, `auto-restart`, `dead`, …
  package var sub = "dead"
  /// UnitFileState: `enabled`, `disabled`, …; empty if there is no file.
  package var file = "enabled"
  /// Whether the unit's conditions (ConditionPathExists=) were met at its last start; true before that.
  package var isConditionMet = true
  /// NeedDaemonReload: the unit's files have changed since systemd read them.
  package var needsReload = false
  /// Result: `success`, `exit-code`, `signal`, `timeout`, `watchdog`, `oom-kill`, …
  package var result = "success"
  /// NRestarts: automatic restarts since the last start by command.
  package var restarts = 0
  /// ExecMainCode, ExecMainStatus: how the last main process ended.
  package var end = End.exited(0)
  /// MainPID: the main process; 0 if there is none.
  package var mainProcess = 0
  /// StatusText: the last STATUS= of the service, or of its last run.
  package var text = ""
  /// LoadCredential: the file of each credential, by its name.
  package var credentialFiles: [String: String] = [:]
  /// LoadCredentialEncrypted: the file of each credential, by its name.
  package var encryptedFiles: [String: String] = [:]
  /// LogNamespace: the namespace of its journal; empty for the main journal.
  package var journalNamespace = ""

  package init(unit: String) {
    self.unit = unit
  }

  /// The command that prints its journal, with what systemd logs about it.
  package var journalCommand: String {
    "journalctl \(journalNamespace.isEmpty ? "" : "--namespace=+\(journalNamespace) ")-u \(unit)"
  }
}

extension ServiceStatus {
  /// Queries systemd. If the unit does not exist, ``load`` says so.
  package init(of unit: String, from bus: borrowing MessageBus) throws(MessageBusError) {
    self.init(unit: unit)
    let object = try MessageBus.Unit(unit)
    load = try bus.string("LoadState", of: object, "Unit")
    active = try bus.string("ActiveState", of: object, "Unit")
    sub = try bus.string("SubState", of: object, "Unit")
    file = try bus.string("UnitFileState", of: object, "Unit")
    needsReload = try bus.integer("NeedDaemonReload", of: object, "Unit", type: "b") != 0
    // ConditionResult is false before the first start.
    let wasTried = try bus.time("ConditionTimestampMonotonic", of: object, "Unit") != 0
    let conditions = try bus.integer("ConditionResult", of: object, "Unit", type: "b")
    isConditionMet = !wasTried || conditions != 0
    result = try bus.string("Result", of: object, "Service")
    restarts = try bus.unsignedInteger("NRestarts", of: object, "Service")
    mainProcess = try bus.unsignedInteger("MainPID", of: object, "Service")
    text = try bus.string("StatusText", of: object, "Service")
    credentialFiles = Dictionary(
      try bus.pairs("LoadCredential", of: object, "Service"), uniquingKeysWith: { $1 })
    encryptedFiles = Dictionary(
      try bus.pairs("LoadCredentialEncrypted", of: object, "Service"), uniquingKeysWith: { $1 })
    journalNamespace = try bus.string("LogNamespace", of: object, "Service")
    let status = try bus.integer("ExecMainStatus", of: object, "Service")
    // CLD_EXITED is 1, CLD_KILLED 2, CLD_DUMPED 3; 0 before the first end.
    end = try bus.integer("ExecMainCode", of: object, "Service") > 1 ? .killed(signal: status) : .exited(status)
  }
}
