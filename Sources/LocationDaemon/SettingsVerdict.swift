// SPDX-License-Identifier: Apache-2.0
import Authorization
package import Configuration
import Delivery
import Glibc
import ServiceManager
import SystemCalls

/// What `fleet-locationd --check` and `fleet-locationctl check` say of a settings file: one answer, whoever is asked.
package struct SettingsVerdict: Sendable {
  /// 0, or one of `ExitCode`.
  package let exitCode: Int32
  /// For standard output; empty when there is a mistake.
  package let praise: String
  /// For standard error: every mistake, or every warning, on a line of its own.
  package let complaints: String

  /// Reads the settings, and the credentials and routes that they name.
  ///
  /// - Parameter isService: whether this process has what the service has. Without, a credential is not looked at, and what
  ///   this user may not read is no mistake of the settings (exit code `denied`).
  package init(of path: String, isService: Bool, environment: ConfigurationEnvironment = .system) {
    do throws(DaemonError) {
      let file = try SettingsLoader(path: path, environment: environment).load()
      let sources = file.settings.sources
      for (index, source) in sources.enumerated() {
        try FixSources.check(source, key: SourceSet.key(index, of: sources.count))
      }
      if isService, case .command(let command) = file.settings.agent.tokenProvider,
        let program = command.arguments.first, let refusal = FileAccess.refusal(program, X_OK)
      {
        throw DaemonError(
          ExitCode.configuration,
          "token.command: the service cannot execute \(program): \(refusal); its sandbox has no /root and no /home "
            + "(ProtectHome=): put it into /usr/local/bin, with mode 0755")
      }
      exitCode = ExitCode.done
      praise = "\(file.files.joined(separator: ", ")): good\n"
      complaints = file.warnings.map { "\($0)\n" }.joined()
    } catch let error where !isService && (error.cause as? ServiceManagerError)?.code == .notHandedOut {
      // Only the service gets them: whether it does is not for this file to say.
      exitCode = ExitCode.done
      praise = "\(path): good\n"
      complaints = "\(error.message); not looked at, for only the service has it: sudo fleet-locationctl doctor\n"
    } catch let error where !isService && error.isDenied && UserAccount.current.id != 0 {
      exitCode = ExitCode.denied
      praise = ""
      complaints = "\(error.message); or be root\n"
    } catch {
      exitCode = error.code
      praise = ""
      complaints = error.message + "\n"
    }
  }
}
