// SPDX-License-Identifier: Apache-2.0
import LocationDaemon
import SystemCalls

/// The result of `fleet-locationd --check` and `fleet-locationctl check`: checked as the service, if this process may,
/// and otherwise as the user of this process.
@MainActor package struct SettingsCheckResult {
  /// 0, or one of `ExitCode`, or 77 if this user may not read a file that is needed.
  package let exitCode: Int32
  /// For standard output; empty if there is a mistake.
  package let output: String
  /// For standard error; each line with its line end.
  package let errors: String

  /// - Parameters:
  ///   - path: of the main settings file, which may be relative to the current directory.
  ///   - resolving: returns an absolute path without links; nil if there is no such file.
  package init(of path: String, resolving: (String) -> String? = SystemFile.resolved) {
    let path = InstalledService.settingsPath(path, resolving: resolving)
    switch ServiceImpersonation.run(settings: path, requestsToken: false) {
    case .ended(let status):
      // It has printed its results, except what only root can see.
      (exitCode, output, errors) = (status, "", ServiceCredentials.remark(for: path))
    case .notStarted(let finding):
      (exitCode, output, errors) = (ExitCode.configuration, "", finding.lines)
    case .unknown(let finding):
      (exitCode, output, errors) = (ExitCode.unavailable, "", finding.lines)
    case .inPlace(let remark):
      ServiceCredentials.adopt(for: path)
      let validation = SettingsValidation(of: path, isService: ServiceImpersonation.isActive)
      (exitCode, output, errors) = (validation.exitCode, validation.output, validation.errors + remark)
    }
  }
}

extension Finding {
  /// Sentence and advice, each with its line end.
  fileprivate var lines: String { message + "\n" }
}
