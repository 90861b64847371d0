// SPDX-License-Identifier: Apache-2.0
package import Configuration
import Glibc
package import LocationDaemon
import MessageBus
import ServiceManager
package import SystemCalls

/// The service's credentials, for a program that stands in for it.
package enum ServiceCredentials {
  private static let variable = "CREDENTIALS_DIRECTORY"

  /// Takes those of the running service for this process and the programs that it runs, unless it has its own. Whether
  /// this user may read them shows when they are read.
  ///
  /// - Parameter settings: path of the main file, by whose name the daemons of one box are told apart.
  package static func adopt(for settings: String) {
    let directory = "/run/credentials/\(InstalledService.unit(for: settings))"
    guard Environment.value(of: variable) == nil, FileAccess.refusal(directory, F_OK) == nil else { return }
    Environment.set(variable, to: directory)
  }

  /// The credentials of the running service whose files say something else by now: it goes on with what systemd has handed out
  /// at its start. Only root sees both.
  ///
  /// - Returns: their names; none when they cannot be compared.
  static func outdated(_ status: ServiceStatus) -> [String] {
    guard ["active", "reloading"].contains(status.active), status.mainProcess > 0 else { return [] }
    // As its main process sees them: systemd 252 hides them from every other process of the unit, also from ExecReload=+.
    let directory = "/proc/\(status.mainProcess)/root/run/credentials/\(status.unit)"
    return status.credentialFiles.filter { name, file in
      guard file.hasPrefix("/"), let held = try? Credentials.bytes("\(directory)/\(name)"),
        let new = try? Credentials.bytes(file)
      else { return false }
      return held != new
    }.keys.sorted()
  }

  /// The files of credentials that are not there, by the names of these. A relative one is looked for in places of systemd's.
  static func missing(_ status: ServiceStatus) -> [String: String] {
    status.credentialFiles.filter { $1.hasPrefix("/") && FileAccess.refusal($1, F_OK)?.code == ENOENT }
  }

  /// Why the service is not to read its settings again: a credential has changed, which only a restart hands out.
  ///
  /// - Parameter socket: where its daemon answers.
  /// - Returns: nil when it may, or this user cannot compare.
  package static func hindrance(toReloadAt socket: String) -> String? {
    guard geteuid() == 0, let service = InstalledService(socket: socket),
      let bus = try? MessageBus(timeLimit: .seconds(2)), let status = try? ServiceStatus(of: service.unit, from: bus)
    else { return nil }
    let names = outdated(status)
    guard !names.isEmpty else { return nil }
    return names.map { "credential \($0) \(outdatedWords)" }.joined(separator: "; ")
      + "; nothing was read again, for this takes a restart: systemctl restart \(service.unit)"
  }

  /// What to know of credentials before the settings at this path are taken to be in force; empty when there is nothing.
  package static func remark(for settings: String) -> String {
    guard let service = InstalledService(settings: settings), let bus = try? MessageBus(timeLimit: .seconds(2)),
      let status = try? ServiceStatus(of: service.unit, from: bus)
    else { return "" }
    let stale =
      status.needsReload
      ? "\(service.unit): its files have changed since systemd read them: systemctl daemon-reload, and check again\n"
      : ""
    return stale
      + outdated(status).map { "credential \($0) \(outdatedWords): systemctl restart \(service.unit)\n" }.joined()
  }

  /// The middle of a sentence that begins with a credential.
  static let outdatedWords = "has changed since the service was started, which goes on with the one before"

  /// Whether a credential or secret file is missing here, or closed to this user, and the service might have it all the same.
  package static func isOutOfReach(_ error: DaemonError, _ settings: Settings) -> Bool {
    guard !ServiceStandIn.isThis, let cause = error.cause as? ServiceManagerError else { return false }
    switch cause.code {
    case .denied, .notHandedOut: return true
    case .missing: return !names(in: settings).isEmpty
    default: return false
    }
  }

  /// How to get at the credentials that the settings name.
  ///
  /// - Parameters:
  ///   - command: what is to be run again, as in `fleet-locationctl token`.
  ///   - user: whom the service runs as.
  package static func advice(_ settings: Settings, command: String, user: String, current: UserAccount) -> String {
    let names = names(in: settings)
    let loads = names.map { " -p LoadCredential=\($0):/path/of/the/file" }.joined()
    let inUnit = "sudo systemd-run --pipe --wait -p User=\(user)\(loads) \(command)"
    guard !names.isEmpty else { return "Run it as the service's user: \(inUnit)" }
    return current.id == 0
      ? "Start the service, whose credentials are then used, or: \(inUnit)"
      : "Only root sees the credentials of the running service: sudo \(command); while it does not run: \(inUnit)"
  }

  private static func names(in settings: Settings) -> [String] {
    settings.token.headers.compactMap { header in
      if case .credential(let name) = header.value { name } else { nil }
    }
  }
}
