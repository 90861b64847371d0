// SPDX-License-Identifier: Apache-2.0
package import Configuration

/// Whether the settings are valid. Without them only the service is checked.
package struct SettingsCheck: Check {
  package let subject = Doctor.Subject.settings
  package let title = "Settings"
  private let outcome: Result<SettingsFile, ConfigurationError>

  /// - Parameters:
  ///   - path: of the main file.
  ///   - environment: the machine, with the credentials of the running service if this user may read them.
  package init(path: String, environment: ConfigurationEnvironment) {
    do throws(ConfigurationError) {
      outcome = .success(try SettingsFile.load(path: path, environment: environment))
    } catch {
      outcome = .failure(error)
    }
  }

  /// Nil if they are invalid.
  package var file: SettingsFile? { try? outcome.get() }
  /// Nil if they are invalid.
  package var settings: Settings? { file?.settings }

  package func run(_ report: (Finding) -> Void) {
    switch outcome {
    case .success(let file):
      report(.pass("\(file.files.joined(separator: ", ")): valid"))
      for warning in file.warnings {
        report(.warn(.settingsWarning, "\(warning)", "The settings are valid all the same"))
      }
    case .failure(let error):
      for diagnostic in error.diagnostics {
        report(
          .fail(
            diagnostic.mayAppearLater ? .settingsIncomplete : .settingsMistake, "\(diagnostic)",
            "man fleet-locationd.toml describes every setting"))
      }
    }
  }
}
