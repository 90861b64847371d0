// SPDX-License-Identifier: Apache-2.0
package import Configuration
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

  /// Reads the settings, and the credentials that they name.
  package init(of path: String, environment: ConfigurationEnvironment = .system) {
    do {
      let file = try SettingsLoader(path: path, environment: environment).load()
      exitCode = ExitCode.done
      praise = "\(file.files.joined(separator: ", ")): good\n"
      complaints = file.warnings.map { "\($0)\n" }.joined()
    } catch let error where (error.cause as? ServiceManagerError)?.code == .notHandedOut {
      // Only the service gets them: whether it does is not for this file to say.
      exitCode = ExitCode.done
      praise = "\(path): good\n"
      complaints = "\(error.message); not looked at, for only the service has it: sudo fleet-locationctl doctor\n"
    } catch {
      exitCode = error.code
      praise = ""
      complaints = error.message + "\n"
    }
  }
}
