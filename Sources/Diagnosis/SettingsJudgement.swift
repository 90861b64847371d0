// SPDX-License-Identifier: Apache-2.0
import LocationDaemon
import SystemCalls

/// What `fleet-locationd --check` and `fleet-locationctl check` say of a settings file: as the service, where this process may,
/// and else as its user.
@MainActor package struct SettingsJudgement {
  /// 0, or one of `ExitCode`, or 77 when this user may not read what it takes.
  package let exitCode: Int32
  /// For standard output; empty when there is a mistake.
  package let praise: String
  /// For standard error; each line with its line end.
  package let complaints: String

  /// - Parameter path: of the main settings file.
  package init(of path: String) {
    switch ServiceStandIn.run(settings: path, asksForToken: false) {
    case .ended(let status):
      // It has said what there is to say, but for what only root sees.
      (exitCode, praise, complaints) = (status, "", ServiceCredentials.remark(for: path))
    case .notStarted(let finding):
      (exitCode, praise, complaints) = (ExitCode.configuration, "", finding.lines)
    case .unknown(let finding):
      (exitCode, praise, complaints) = (ExitCode.unavailable, "", finding.lines)
    case .inPlace(let remark):
      ServiceCredentials.adopt(for: path)
      let verdict = SettingsVerdict(of: path, isService: ServiceStandIn.isThis)
      (exitCode, praise, complaints) = (verdict.exitCode, verdict.praise, verdict.complaints + remark)
    }
  }
}

extension Finding {
  /// Sentence and advice, each with its line end.
  fileprivate var lines: String { message + "\n" }
}
