// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import MessageBus

/// Explains how the last run of the service ended: exit statuses of the daemon, and those of systemd.exec(5) for a
/// service that systemd could not start.
struct ServiceEnd: Equatable {
  /// Such as `exit status 78 (the settings, or a file that they name, are at fault)`.
  let cause: String
  /// What to do.
  let advice: String

  /// - Parameter faults: of the files of its credentials.
  init(_ status: ServiceStatus, faults: [CredentialFault] = []) {
    let journal = "\(status.journalCommand) -n 20 has the reason"
    switch (status.result, status.end) {
    case ("watchdog", _): (cause, advice) = ("a watchdog timeout, because its event loop hung", journal)
    case ("timeout", _): (cause, advice) = ("a timeout of systemd's: its start or stop took too long", journal)
    case ("oom-kill", _):
      (cause, advice) = ("a kill by the kernel, because memory was short", ServiceEnd.memoryAdvice(status))
    case ("start-limit-hit", _):
      (cause, advice) = ("too many restarts (start limit)", "\(journal); then systemctl reset-failed \(status.unit)")
    case ("resources", _), ("protocol", _):
      (cause, advice) = (
        "an error of systemd's (\(status.result))",
        "\(journal): often a file of EnvironmentFile= is missing (systemctl cat \(status.unit))"
      )
    case ("exit-code", .exited(0)), ("signal", .exited(0)), ("core-dump", .exited(0)):
      // The main process did not fail, or was not started.
      (cause, advice) = ("a failed command of the unit (such as ExecStartPre=)", journal)
    case (_, .killed(signal: 9)):
      // With OOMPolicy=continue systemd does not distinguish the kernel's kill from any other.
      (cause, advice) = ("signal 9", "\(journal); if memory was short: \(ServiceEnd.memoryAdvice(status))")
    case (_, .killed(let signal)):
      (cause, advice) = ("signal \(signal)", "\(journal); \(ManualPage.crashes) says how to read it")
    case (_, .exited(let code)):
      let (reason, what) = ServiceEnd.reason(code, status, faults) ?? (nil, journal)
      (cause, advice) = ("exit status \(code)" + (reason.map { " (\($0))" } ?? ""), what)
    }
  }

  private static func memoryAdvice(_ status: ServiceStatus) -> String {
    "journalctl -k -n 50 says whose limit was reached: the unit's, which includes its token program "
      + "(MemoryMax=: systemctl edit \(status.unit)), or the machine's (free -m)"
  }

  private static func reason(
    _ code: Int, _ status: ServiceStatus, _ faults: [CredentialFault]
  ) -> (String?, String)? {
    let (unit, journal) = (status.unit, "\(status.journalCommand) -n 20")
    return switch code {
    case 0: (nil, "Start it: systemctl start \(unit)")
    case 64: ("wrong arguments", "Check ExecStart=: systemctl cat \(unit)")
    case 65:
      ("the recording has no positions, or most were rejected", "Check it with: fleet-locationctl fixes --verdict FILE")
    case 69: ("a file or credential that the settings name is missing", "\(journal) says which")
    case 71: ("the system denied something that it needs", "\(journal) says what")
    case 75: ("the recording could not be delivered", "Check the network and Fleet Engine, then start it again")
    case 78:
      (
        "the settings, or a file that they name, are at fault",
        "Correct it, then: systemctl restart \(unit). A file that root can read may not be readable by the service's user"
      )
    case 200: ("200/CHDIR", "Check WorkingDirectory=: systemctl cat \(unit)")
    case 203: ("203/EXEC: the program does not exist or cannot be executed", "Install the package again")
    case 216, 217:
      (
        "\(code)/\(code == 217 ? "USER" : "GROUP"): there is no such user or group",
        "Check User= and Group=: systemctl cat \(unit); systemd-sysusers creates those of the package"
      )
    case 218: ("218/CAPABILITIES", "The container must permit it: \(ManualPage.containers)")
    case 226: ("226/NAMESPACE: a directory of the unit does not exist", "Check ReadWritePaths=: systemctl cat \(unit)")
    case 228: ("228/SECCOMP", "The kernel has no seccomp, or a container denies it")
    case 233: ("233/RUNTIME_DIRECTORY: /run cannot be written", "Check it: findmnt /run")
    case 238:
      (
        "238/STATE_DIRECTORY: the state directory cannot be created",
        "/var/lib is read-only or full: findmnt -T /var/lib, df /var/lib; see \(ManualPage.containers). If it is enabled, it is "
          + "started again every minute"
      )
    case 241:
      ("241/CONFIGURATION_DIRECTORY: /etc/fleet-locationd cannot be created", "Check it: ls -ld /etc/fleet-locationd")
    case 243 where !faults.isEmpty:
      (
        "243/CREDENTIALS: " + faults.map(\.sentence).joined(separator: ", "),
        faults[0].advice(unit)
          + "; then systemctl restart \(unit), or wait: if it is enabled, it is started again every minute"
      )
    case 243:
      (
        "243/CREDENTIALS: a credential of the unit cannot be read",
        "\(journal) says why, and systemctl cat \(unit) shows its path in LoadCredential=. If it is enabled, it is started "
          + "again every minute"
      )
    default: nil
    }
  }
}
