// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Which settings are in force, and how the last reload went.
package struct SettingsStatus: Equatable, Sendable {
  /// The last reload.
  package struct Reload: Equatable, Sendable {
    /// When it ended.
    package var at: BootInstant
    /// The mistakes, one a line; nil if the new settings came into force.
    package var mistake: String?

    /// - Parameter mistake: nil if the new settings came into force.
    package init(at: BootInstant, mistake: String?) {
      self.at = at
      self.mistake = mistake
    }
  }

  /// A hash in 16 hexadecimal digits; equal for equal settings.
  package var hash: String
  /// The mistakes of the settings files, one a line, if the last settings that worked are used instead; nil while the
  /// files are in force.
  package var mistake: String?
  /// Nil before the first.
  package var lastReload: Reload?
  /// The path of the main settings file, if it does not exist any more; otherwise nil.
  package var deletedFile: String?

  /// - Parameters:
  ///   - hash: equal for equal settings.
  ///   - mistake: nil while the files are in force.
  ///   - lastReload: nil before the first.
  ///   - deletedFile: nil while the main settings file exists.
  package init(hash: String, mistake: String? = nil, lastReload: Reload? = nil, deletedFile: String? = nil) {
    self.hash = hash
    self.mistake = mistake
    self.lastReload = lastReload
    self.deletedFile = deletedFile
  }

  /// Whether the settings of the last start or reload came into force.
  package var isLastReloadGood: Bool { lastMistake == nil }

  /// Their mistakes; nil if they came into force.
  private var lastMistake: String? { lastReload?.mistake ?? mistake }

  /// The end of the status line of systemd; empty without a mistake.
  package var statusSuffix: String {
    if let deletedFile {
      return "; \(deletedFile) does not exist any more: without it the service will not start again"
    }
    guard let lastMistake else { return "" }
    let words =
      mistake != nil
      ? "settings have a mistake, the last ones that worked are used"
      : "reload failed, the previous settings are in force"
    return "; \(words): \(SettingsStatus.first(of: lastMistake))"
  }

  /// The same for `status --json`.
  package func report(at now: BootInstant) -> StatusReport.Settings {
    StatusReport.Settings(
      hash: hash, isKept: mistake != nil, mistake: mistake == nil ? nil : lastMistake,
      lastReload: lastReload.map {
        StatusReport.Reload(isSuccess: $0.mistake == nil, age: (now - $0.at).wholeSeconds, mistake: $0.mistake)
      })
  }

  /// The first mistake, and the number of others.
  package static func first(of mistakes: String) -> String {
    let lines = mistakes.split(separator: "\n")
    return (lines.first.map(String.init) ?? "") + (lines.count > 1 ? " (and \(lines.count - 1) more)" : "")
  }
}
