// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Configuration
import Diagnosis
import LocationDaemon
import Observability

/// `fleet-locationctl settings`: the value of each setting, and the file that sets it.
enum SettingsCommand: Command {
  static let name = "settings"
  static let summary = "show every setting's value, and the file and line that set it"
  static let options = SettingsChoice.options
  static let usage = """
    Usage: fleet-locationctl settings [--config FILE | --instance NAME]
    Reads the settings as the daemon would, and prints them as TOML: the files in the order in which they are merged,
    and each value with its file and line, or that it is not set. What looks like a secret is masked. If the daemon
    answers, the first line says whether it uses them.

    \(SettingsChoice.usage)

    Exit status: 0 if the settings are valid, 78 if they are not, 77 if this user may not read them, 69 if root cannot
    run this as the service.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    if let operand = options.operands.first {
      throw CommandError(.usage, "settings: unexpected \"\(operand)\": settings are named with --config")
    }
    let path = try SettingsChoice.path(options)
    switch ServiceImpersonation.run(settings: path, requestsToken: false) {
    case .ended(let status): return status
    case .notStarted(let finding): throw CommandError(.configuration, finding.message)
    case .unknown(let finding): throw CommandError(.unavailable, finding.message)
    case .inPlace(let remark): StandardError.write(remark)
    }
    ServiceCredentials.adopt(for: path)
    let file: SettingsFile
    do throws(ConfigurationError) {
      file = try SettingsFile.load(path: path, environment: .system)
    } catch {
      throw CommandError(error)
    }
    let listing = SettingsListing.text(of: file, path: path, environment: .system)
    return try StandardOutput.write(
      Instance.addressed(inUseComment(for: file, path), Instance.service(options)) + listing)
  }

  /// Whether the running daemon uses these settings, as a comment; empty if no daemon answers.
  private static func inUseComment(for settings: SettingsFile, _ path: String) -> String {
    guard let socket = InstalledService(settings: path)?.socket,
      let daemon = try? DaemonClient.status(at: socket).status.settings
    else { return "" }
    if daemon.hash == settings.hash { return "# The running daemon uses these settings.\n" }
    guard daemon.isKept else { return "# The running daemon uses other settings, until fleet-locationctl reload.\n" }
    let why = daemon.takenBack == nil ? "had a mistake" : "were reverted, as fleet-locationctl status says"
    return "# The running daemon uses other settings: the last ones that worked, because these \(why).\n"
  }
}
