// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Which settings are in force, and how the last reload went.
package struct SettingsStatus: Equatable, Sendable {
  /// The last reload.
  package struct Reload: Equatable, Sendable {
    /// When it ended.
    package var endedAt: BootInstant
    /// The mistakes, one per line; nil if the new settings came into force.
    package var mistake: String?

    /// - Parameter mistake: nil if the new settings came into force.
    package init(endedAt: BootInstant, mistake: String?) {
      self.endedAt = endedAt
      self.mistake = mistake
    }
  }

  /// Settings in force that still need to be confirmed by an accepted update.
  package struct Confirmation: Equatable, Sendable {
    /// The part of `limit` that is left.
    package var left: Duration
    /// The time within which an update must be accepted.
    package var limit: Duration
    /// Why the countdown is stopped, as the end of a sentence; nil while it runs.
    package var holdReason: String?
    /// Why they stay in force without a confirmation, as the end of a sentence; nil: they are reverted.
    package var obstacle: String?

    package init(left: Duration, limit: Duration, holdReason: String?, obstacle: String?) {
      self.left = left
      self.limit = limit
      self.holdReason = holdReason
      self.obstacle = obstacle
    }

    /// What the settings wait for, as a clause.
    fileprivate var sentence: String {
      let pause = holdReason.map { ", the clock is stopped: \($0)" } ?? ""
      let time = "\(max(left, .seconds(1)).humanReadable) left" + pause
      let end = obstacle.map { "; without one they stay in force, because \($0)" } ?? ""
      return "the new settings wait for an accepted update (\(time))\(end)"
    }
  }

  /// A hash in 16 hexadecimal digits; equal for equal settings.
  package var hash: String
  /// The mistakes in the settings files, one per line, if the last settings that worked are used instead; nil while the
  /// files are in force.
  package var mistake: String?
  /// Why the settings of the files were reverted, if the last settings that worked are used instead; nil while the
  /// files are in force.
  package var revertReason: String?
  /// Why the settings in force should have been reverted, and why they were not; nil if neither is the case.
  package var unconfirmedReason: String?
  /// Nil if the settings in force need no confirmation.
  package var confirmation: Confirmation?
  /// The last reload; nil before the first.
  package var lastReload: Reload?
  /// The path of the main settings file if it no longer exists; otherwise nil.
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
  package var isKept: Bool { mistake != nil || revertReason != nil }

  /// The mistakes of the last start or reload; nil if its settings came into force.
  private var lastMistake: String? { lastReload?.mistake ?? mistake }

  /// The end of systemd's status line; empty if there is nothing to report.
  package var statusSuffix: String {
    if let deletedFile {
      return "; \(deletedFile) no longer exists: without it the service will not start again"
    }
    if mistake == nil, let revertReason { return "; the new settings were reverted: \(revertReason)" }
    if let unconfirmedReason { return "; the new settings are not confirmed: \(unconfirmedReason)" }
    if let confirmation { return "; \(confirmation.sentence)" }
    guard let lastMistake else { return "" }
    let words =
      mistake != nil
      ? "settings have a mistake, the last ones that worked are used"
      : "reload failed, the previous settings are in force"
    return "; \(words): \(SettingsStatus.summary(of: lastMistake))"
  }

  /// The status of the settings for `status --json`.
  package func report(at now: BootInstant) -> StatusReport.Settings {
    StatusReport.Settings(
      hash: hash, isKept: isKept, mistake: mistake == nil ? nil : lastMistake, takenBack: revertReason,
      unconfirmed: unconfirmedReason,
      confirmation: confirmation.map {
        StatusReport.Confirmation(
          left: $0.left.wholeSeconds, limit: $0.limit.wholeSeconds, sentence: $0.sentence, standstill: $0.holdReason,
          obstacle: $0.obstacle)
      },
      lastReload: lastReload.map {
        StatusReport.Reload(isSuccess: $0.mistake == nil, age: (now - $0.endedAt).wholeSeconds, mistake: $0.mistake)
      })
  }

  /// The first mistake, and the number of others.
  package static func summary(of mistakes: String) -> String {
    let lines = mistakes.split(separator: "\n")
    return (lines.first.map(String.init) ?? "") + (lines.count > 1 ? " (and \(lines.count - 1) more)" : "")
  }
}
