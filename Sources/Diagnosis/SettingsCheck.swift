// SPDX-License-Identifier: Apache-2.0
package import Configuration

/// Whether the settings can be read; without them there is nothing else to look at.
package struct SettingsCheck: Check {
  package let title = "Settings"
  private let outcome: Result<SettingsFile, ConfigurationError>

  /// - Parameters:
  ///   - path: of the main file.
  ///   - environment: the machine; the credentials of the running service may be in it.
  package init(path: String, environment: ConfigurationEnvironment) {
    do throws(ConfigurationError) {
      outcome = .success(try SettingsFile.load(path: path, environment: environment))
    } catch {
      outcome = .failure(error)
    }
  }

  /// Nil when they cannot be read.
  package var settings: Settings? {
    if case .success(let file) = outcome { return file.settings }
    return nil
  }

  package func run(_ report: (Finding) -> Void) {
    switch outcome {
    case .success(let file):
      report(.pass("\(file.files.joined(separator: ", ")): good"))
      for warning in file.warnings { report(.warn("\(warning)", "The service runs with it all the same")) }
    case .failure(let error):
      for diagnostic in error.diagnostics {
        report(.fail("\(diagnostic)", "Every setting is in docs/settings.md: fleet-locationd --settings-reference"))
      }
    }
  }
}
