// SPDX-License-Identifier: Apache-2.0
package import Configuration
import Glibc
import HTTPMessages
package import LocationDaemon
import MessageBus
import ServiceManager
package import SystemCalls

/// The service's credentials, for commands that check what the service sees.
package enum ServiceCredentials {
  private static let variable = "CREDENTIALS_DIRECTORY"

  /// Sets the credentials directory of the running service for this process and its children, unless it has one. It is
  /// not checked whether this user may read them.
  ///
  /// - Parameter settings: path of the main file; its name determines the unit.
  package static func adopt(for settings: String) {
    let directory = "/run/credentials/\(InstalledService.unit(for: settings))"
    guard Environment.value(of: variable) == nil, FileAccess.error(directory, F_OK) == nil else { return }
    Environment.set(variable, to: directory)
  }

  /// The credentials whose files have changed since the service was started; it still has the values of its start. Only
  /// root can compare them.
  ///
  /// - Returns: their names; empty if they cannot be compared.
  static func outdated(_ status: ServiceStatus) -> [String] {
    guard ["active", "reloading"].contains(status.active), status.mainProcess > 0 else { return [] }
    // They are read through the root directory of the unit's main process, because systemd 252 hides them from every
    // other process of the unit, even from ExecReload=+.
    let directory = "/proc/\(status.mainProcess)/root/run/credentials/\(status.unit)"
    return changed(status, since: directory, decrypt: CredentialDecryption.content(ofFile:named:))
  }

  /// The credentials whose files have other values than those that the service was started with. Relative paths are not
  /// compared.
  ///
  /// - Parameters:
  ///   - directory: the credentials directory of the service.
  ///   - decrypt: decrypts a file that was encrypted for a credential of this name; returns nil if that is impossible,
  ///     and the credential is not compared.
  static func changed(
    _ status: ServiceStatus, since directory: String, decrypt: (_ file: String, _ name: String) -> Secret?
  ) -> [String] {
    func names(_ files: [String: String], _ content: (_ file: String, _ name: String) -> Secret?) -> [String] {
      let changed = files.filter { name, file in
        guard file.hasPrefix("/"), let current = try? Credentials.content(ofFile: "\(directory)/\(name)"),
          let new = content(file, name)
        else { return false }
        return current != new
      }
      return Array(changed.keys)
    }
    let plain = names(status.credentialFiles) { file, _ in try? Credentials.content(ofFile: file) }
    return (plain + names(status.encryptedFiles, decrypt)).sorted()
  }

  /// The plain files of credentials that every user can read. Relative paths are not checked.
  static func exposed(_ status: ServiceStatus) -> [String] {
    status.credentialFiles.values.filter { file in
      var information = stat()
      guard file.hasPrefix("/"), unsafe stat(file, &information) == 0 else { return false }
      return information.st_mode & 0o004 != 0
    }.sorted()
  }

  /// Why the service must not reload its settings: a credential has changed, and only a restart provides the new value.
  ///
  /// - Parameter socket: of its daemon.
  /// - Returns: nil if it may reload, or this user cannot compare.
  package static func reloadObstacle(at socket: String) -> String? {
    guard geteuid() == 0, let service = InstalledService(socket: socket),
      let bus = try? MessageBus(timeLimit: .seconds(2)), let status = try? ServiceStatus(of: service.unit, from: bus)
    else { return nil }
    let names = outdated(status)
    guard !names.isEmpty else { return nil }
    return names.map { "credential \($0) \(outdatedClause)" }.joined(separator: "; ")
      + "; the settings were not reloaded, because a restart is needed: systemctl restart \(service.unit)"
  }

  /// Why the running service does not use the current unit files or credentials yet, and which files of credentials
  /// every user can read: one on each line; empty if there is none.
  package static func remark(for settings: String) -> String {
    guard let service = InstalledService(settings: settings), let bus = try? MessageBus(timeLimit: .seconds(2)),
      let status = try? ServiceStatus(of: service.unit, from: bus)
    else { return "" }
    let stale =
      status.needsReload
      ? "\(service.unit): its files have changed since systemd read them: systemctl daemon-reload, and check again\n"
      : ""
    return stale + exposed(status).map { "\($0) \(exposedClause); chmod 600 \($0)\n" }.joined()
      + outdated(status).map { "credential \($0) \(outdatedClause): systemctl restart \(service.unit)\n" }.joined()
  }

  /// Follows the name of a credential in a sentence.
  static let outdatedClause = "has changed since the service was started; the service still uses the previous value"

  /// Follows the path of a credential's file in a sentence.
  static let exposedClause = "holds a credential, and every user of this machine can read it"

  /// Whether a credential or secret file is missing or not readable by this user, although the service may have it.
  package static func isOutOfReach(_ error: DaemonError, _ settings: Settings) -> Bool {
    guard !ServiceImpersonation.isActive, let cause = error.cause as? ServiceManagerError else { return false }
    switch cause.code {
    case .denied, .notPassed: return true
    case .missing: return !names(in: settings).isEmpty
    default: return false
    }
  }

  /// How to run a command with the credentials that the settings name.
  ///
  /// - Parameters:
  ///   - command: the command to run again, such as `fleet-locationctl token`.
  ///   - user: the user of the service.
  package static func advice(_ settings: Settings, command: String, user: String, current: UserAccount) -> String {
    let names = names(in: settings)
    let loads = names.map { " -p LoadCredential=\($0):/path/of/the/file" }.joined()
    let inUnit = "sudo systemd-run --pipe --wait -p User=\(user)\(loads) \(command)"
    guard !names.isEmpty else { return "Run it as the service's user: \(inUnit)" }
    // The value of an encrypted file would be sent as it is.
    let encrypted = " (LoadCredentialEncrypted= if the file is encrypted, as setup writes it)"
    return
      (current.id == 0
      ? "Start the service, so that its credentials can be used, or run: \(inUnit)"
      : "Only root can read the credentials of the running service: sudo \(command); if it does not run: \(inUnit)")
      + encrypted
  }

  private static func names(in settings: Settings) -> [String] {
    settings.token.headers.compactMap { header in
      if case .credential(let name) = header.valueSource { name } else { nil }
    }
  }
}
