// SPDX-License-Identifier: Apache-2.0
import Authorization
package import Configuration
import Vehicle
import Glibc
import ServiceManager
import SystemCalls

/// Validates a settings file for `fleet-locationd --check` and `fleet-locationctl check`.
package struct SettingsValidation: Sendable {
  /// 0, or one of `ExitCode`.
  package let exitCode: Int32
  /// The text for standard output; empty if there is a mistake.
  package let output: String
  /// The text for standard error: every mistake, or every warning, on a line of its own.
  package let errors: String

  /// Reads the settings, and the credentials and routes that they name.
  ///
  /// - Parameter isService: whether this process runs as the service. Otherwise credentials are not checked, and a file
  ///   that this user may not read is not a mistake of the settings (exit code `permissionDenied`).
  package init(of path: String, isService: Bool, environment: ConfigurationEnvironment = .system) {
    do throws(DaemonError) {
      let file = try SettingsLoader(path: path, environment: environment).loadWithoutCredentials()
      let unchecked = try SettingsValidation.checkCredentials(of: file.settings, isService: isService)
      let sources = file.settings.sources
      for (index, source) in sources.enumerated() {
        try SourceLines.check(source, key: SourceLines.key(index, of: sources.count))
      }
      if isService { try SettingsValidation.checkRecordings(of: sources) }
      if isService, case .command(let command) = file.settings.agent.tokenProvider,
        let program = command.arguments.first, let refusal = FileAccess.error(program, X_OK)
      {
        throw DaemonError(
          ExitCode.configuration,
          "token.command: the service cannot execute \(program): \(refusal); its sandbox has no access to /root and /home "
            + "(ProtectHome=): install it in /usr/local/bin, with mode 0755")
      }
      exitCode = ExitCode.done
      output = "\(file.files.joined(separator: ", ")): valid\n"
      let warnings = file.warnings.map { "\($0)" } + SecretWarnings.warnings(file.settings.token)
      errors = (unchecked.map { [$0] + warnings } ?? warnings).map { "\($0)\n" }.joined()
    } catch let error where !isService && error.isPermissionDenied && UserAccount.current.id != 0 {
      exitCode = ExitCode.permissionDenied
      output = ""
      errors = "\(error.message); or run this as root\n"
    } catch {
      exitCode = error.code
      output = ""
      errors = error.message + "\n"
    }
  }

  /// Reads the credentials and secret files that the settings name.
  ///
  /// - Returns: why the credentials were not checked; nil if they were, or there are none.
  private static func checkCredentials(of settings: Settings, isService: Bool) throws(DaemonError) -> String? {
    do throws(DaemonError) {
      _ = try VehicleAgent.Configuration(settings)
      return nil
    } catch {
      guard !isService, (error.cause as? ServiceManagerError)?.code == .notPassed else { throw error }
      // Only the service gets credentials, so they cannot be checked here; the rest can.
      var rest = settings
      rest.token.headers.removeAll { if case .credential = $0.valueSource { true } else { false } }
      _ = try VehicleAgent.Configuration(rest)
      return "the credential was not checked, because only the service gets it (to check it: sudo fleet-locationctl "
        + "doctor); \(error.message)"
    }
  }

  /// Checks that this process may read the recordings. One that does not exist may be a pipe that appears later.
  private static func checkRecordings(of sources: [Settings.Source]) throws(DaemonError) {
    for (index, source) in sources.enumerated() {
      guard case .replay(let replay) = source.kind, replay.file != "-",
        let refusal = FileAccess.error(replay.file, R_OK), ![ENOENT, ENOTDIR].contains(refusal.code)
      else { continue }
      throw DaemonError(
        ExitCode.configuration,
        "\(SourceLines.key(index, of: sources.count)).file: the service cannot read \(replay.file): \(refusal)")
    }
  }
}
