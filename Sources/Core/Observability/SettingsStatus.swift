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

  /// Settings in force that wait for their confirmation by an accepted update.
  package struct Confirmation: Equatable, Sendable {
    /// The time that is left of `limit`.
    package var left: Duration
    /// The whole time.
    package var limit: Duration
    /// Why the clock is stopped, as the end of a sentence; nil while it runs.
    package var standstill: String?
    /// Why they stay in force without it, as the end of a sentence; nil: they are taken back.
    package var obstacle: String?

    package init(left: Duration, limit: Duration, standstill: String?, obstacle: String?) {
      self.left = left
      self.limit = limit
      self.standstill = standstill
      self.obstacle = obstacle
    }

    /// What is waited for, as a clause.
    fileprivate var sentence: String {
      let pause = standstill.map { ", the clock is stopped: \($0)" } ?? ""
      let time = "\(max(left, .seconds(1)).humanReadable) left" + pause
      let end = obstacle.map { "; without one they stay in force, because \($0)" } ?? ""
      return "the new settings wait for an accepted update (\(time))\(end)"
    }
  }

  /// A hash in 16 hexadecimal digits; equal for equal settings.
  package var hash: String
  /// The mistakes of the settings files, one a line, if the last settings that worked are used instead; nil while the
  /// files are in force.
  package var mistake: String?
  /// Why the settings of the files were taken back, if the last ones that worked are used instead; nil while the files
  /// are in force.
  package var takenBack: String?
  /// Why the settings in force should have been taken back, and why they were not; nil if neither is the case.
  package var unconfirmed: String?
  /// Nil if the settings in force wait for no confirmation.
  package var confirmation: Confirmation?
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

  /// Whether the last settings that worked are used in place of the files.
  package var isKept: Bool { mistake != nil || takenBack != nil }

  /// Their mistakes; nil if they came into force.
  private var lastMistake: String? { lastReload?.mistake ?? mistake }

  /// The end of the status line of systemd; empty without a mistake.
  package var statusSuffix: String {
    if let deletedFile {
      return "; \(deletedFile) does not exist any more: without it the service will not start again"
    }
    if mistake == nil, let takenBack { return "; the new settings were taken back: \(takenBack)" }
    if let unconfirmed { return "; the new settings are not confirmed: \(unconfirmed)" }
    if let confirmation { return "; \(confirmation.sentence)" }
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
      hash: hash, isKept: isKept, mistake: mistake == nil ? nil : lastMistake, takenBack: takenBack,
      unconfirmed: unconfirmed,
      confirmation: confirmation.map {
        StatusReport.Confirmation(
          left: $0.left.wholeSeconds, limit: $0.limit.wholeSeconds, sentence: $0.sentence, standstill: $0.standstill,
          obstacle: $0.obstacle)
      },
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
