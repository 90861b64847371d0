// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Which settings are in force, and how the last reload went.
package struct SettingsReading: Equatable, Sendable {
  /// The last time that new settings were asked for.
  package struct Reload: Equatable, Sendable {
    /// When it ended.
    package var at: BootInstant
    /// Every mistake on a line of its own; nil: the new settings came into force.
    package var mistake: String?

    /// - Parameter mistake: nil when the new settings came into force.
    package init(at: BootInstant, mistake: String?) {
      self.at = at
      self.mistake = mistake
    }
  }

  /// Equal for settings that say the same, 16 hexadecimal digits.
  package var hash: String
  /// What is wrong with the settings files, every mistake on a line of its own, while those of the last accepted update
  /// stand in for them; nil: the files are in force.
  package var mistake: String?
  /// Nil before the first.
  package var lastReload: Reload?

  /// - Parameters:
  ///   - hash: equal for settings that say the same.
  ///   - mistake: nil when the files are in force.
  ///   - lastReload: nil before the first.
  package init(hash: String, mistake: String? = nil, lastReload: Reload? = nil) {
    self.hash = hash
    self.mistake = mistake
    self.lastReload = lastReload
  }

  /// Whether the settings that were asked for last, by the start or by a reload, came into force.
  package var isLastReloadGood: Bool { lastMistake == nil }

  /// What was wrong with them.
  private var lastMistake: String? { lastReload?.mistake ?? mistake }

  /// What the line of `systemctl status` ends with; empty when all is well.
  package var statusSuffix: String {
    guard let lastMistake else { return "" }
    let words =
      mistake != nil
      ? "settings have a mistake, the kept ones are used" : "reload refused, the old settings are in force"
    return "; \(words): \(SettingsReading.first(of: lastMistake))"
  }

  /// As `status --json` has it.
  package func report(at now: BootInstant) -> StatusReport.Settings {
    StatusReport.Settings(
      hash: hash, isKept: mistake != nil, mistake: mistake == nil ? nil : lastMistake,
      lastReload: lastReload.map {
        StatusReport.Reload(isSuccess: $0.mistake == nil, age: (now - $0.at).wholeSeconds, mistake: $0.mistake)
      })
  }

  /// The first mistake, and how many there are besides.
  package static func first(of mistakes: String) -> String {
    let lines = mistakes.split(separator: "\n")
    return (lines.first.map(String.init) ?? "") + (lines.count > 1 ? " (and \(lines.count - 1) more)" : "")
  }
}
