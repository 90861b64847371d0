// SPDX-License-Identifier: Apache-2.0
import MessageBus

/// How the last run of the service ended, in words: by the exit statuses of the daemon, and those of systemd.exec(5) with
/// which systemd itself ends what it cannot start.
struct ServiceEnd: Equatable {
  /// As in `exit status 78 (the settings, or a file that they name, are at fault)`.
  let words: String
  /// What to do.
  let advice: String

  /// - Parameter missing: the files of credentials that are not there, by the names of these.
  init(_ status: ServiceStatus, missing: [String: String] = [:]) {
    let journal = "journalctl -u \(status.unit) -n 20 has the reason"
    switch (status.result, status.end) {
    case ("watchdog", _): (words, advice) = ("systemd ended it because its loop stood still (watchdog)", journal)
    case ("timeout", _): (words, advice) = ("a timeout of systemd: its start or its stop took too long", journal)
    case ("oom-kill", _):
      (words, advice) = ("the kernel killed it for want of memory", "Look who needs it: free -m, journalctl -k -n 50")
    case ("start-limit-hit", _):
      (words, advice) = ("too many restarts (start limit)", "\(journal); then systemctl reset-failed \(status.unit)")
    case ("resources", _), ("protocol", _):
      (words, advice) = ("systemd could not start it (\(status.result))", journal)
    case (_, .killed(let signal)):
      (words, advice) = ("signal \(signal)", "\(journal); docs/crashes.md says how to read it")
    case (_, .exited(let code)):
      let (reason, remedy) = ServiceEnd.reason(code, status.unit, missing) ?? (nil, journal)
      (words, advice) = ("exit status \(code)" + (reason.map { " (\($0))" } ?? ""), remedy)
    }
  }

  private static func reason(_ code: Int, _ unit: String, _ missing: [String: String]) -> (String?, String)? {
    switch code {
    case 0: (nil, "Start it: systemctl start \(unit)")
    case 64: ("wrong arguments", "Look at ExecStart=: systemctl cat \(unit)")
    case 65: ("the recording has no positions, or most were rejected", "fleet-locationctl fixes --verdict and the file")
    case 69: ("a file or credential that the settings name did not come", "journalctl -u \(unit) -n 20 says which")
    case 71: ("the system denies what it needs", "journalctl -u \(unit) -n 20 says what")
    case 75: ("the recording could not be delivered", "Check the network and Fleet Engine, then start it again")
    case 78:
      (
        "the settings, or a file that they name, are at fault",
        "Correct it, then: systemctl restart \(unit). A file that root reads may be closed to the service's user"
      )
    case 200: ("200/CHDIR", "Look at WorkingDirectory=: systemctl cat \(unit)")
    case 203: ("203/EXEC: the program is not there or cannot be executed", "Install the package again")
    case 216, 217:
      ("\(code)/\(code == 217 ? "USER" : "GROUP"): there is no such user or group", "systemd-sysusers makes it")
    case 218: ("218/CAPABILITIES", "A container may have to allow more: docs/containers.md")
    case 226: ("226/NAMESPACE: a directory of the unit is not there", "Look at ReadWritePaths=: systemctl cat \(unit)")
    case 228: ("228/SECCOMP", "The kernel has no seccomp, or a container denies it")
    case 233: ("233/RUNTIME_DIRECTORY: /run cannot be written", "Look at it: findmnt /run")
    case 238:
      (
        "238/STATE_DIRECTORY: the state directory cannot be made",
        "/var/lib is read-only or full: findmnt -T /var/lib, df /var/lib; docs/containers.md has the ways out"
      )
    case 241:
      ("241/CONFIGURATION_DIRECTORY: /etc/fleet-locationd cannot be made", "Look at it: ls -ld /etc/fleet-locationd")
    case 243 where !missing.isEmpty:
      (
        "243/CREDENTIALS: "
          + missing.sorted { $0.key < $1.key }.map { "the file of the credential \($0.key) is not there: \($0.value)" }
          .joined(separator: ", "),
        "Write it (mode 0600), or correct LoadCredential= with systemctl edit \(unit); then systemctl restart \(unit)"
      )
    case 243:
      (
        "243/CREDENTIALS: a credential of the unit cannot be read",
        "Its file is not there or not readable: systemctl cat \(unit) has LoadCredential= with the path; ls -l it"
      )
    default: nil
    }
  }
}
