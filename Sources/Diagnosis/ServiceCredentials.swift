// SPDX-License-Identifier: Apache-2.0
package import Configuration
import Glibc
package import LocationDaemon
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

  /// Whether a credential or secret file is missing here, or closed to this user, and the service might have it all the same.
  package static func isOutOfReach(_ error: DaemonError, _ settings: Settings) -> Bool {
    guard let cause = error.cause as? ServiceManagerError else { return false }
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
