// SPDX-License-Identifier: Apache-2.0
import Observability
import Timekeeping

/// Follows new settings until they are confirmed or reverted.
struct ConfirmationWatch {
  /// What to do after a response.
  enum Step: Equatable {
    /// Print the line, and ask again in a second.
    case wait(String?)
    case confirmed
    /// The settings do not work; the reason.
    case failed(String)
    /// The result is not known yet; the reason.
    case undecided(String)
  }

  /// Additional time for the daemon to report the result, and for short periods that do not count, such as those
  /// without a network.
  private static let grace = Duration.seconds(30)

  private let limit: Duration
  /// The hash of the new settings; nil before the first report with settings.
  private var hash: String?
  private var last: String?

  /// - Parameter limit: the time for the confirmation.
  init(limit: Duration) {
    self.limit = limit
  }

  /// - Parameters:
  ///   - response: of the daemon, or why there is none, for example during a restart.
  ///   - time: since the new settings took effect.
  mutating func handle(_ response: Result<StatusReport, StatusRequestError>, at time: Duration) -> Step {
    let state: String
    let mayWait = time < limit + ConfirmationWatch.grace
    switch response {
    case .failure(let error):
      guard mayWait else { return .undecided(error.message) }
      state = "the daemon does not answer"
    case .success(let report):
      let settings = report.settings
      if let why = settings?.takenBack {
        return .failed("the new settings were reverted, and the previous settings are in force again: \(why)")
      }
      if let why = settings?.unconfirmed { return .failed("the new settings are not confirmed: \(why)") }
      if let settings, settings.isKept {
        // The files were changed again, and the daemon was started again.
        let mistake = settings.mistake.map { ": \(SettingsStatus.summary(of: $0))" } ?? ""
        return .failed(
          "the settings files have a mistake now, and the last settings that worked are used instead of them\(mistake)")
      }
      hash = hash ?? settings?.hash
      // A daemon that lacks settings waits for files or credentials that the settings files name.
      guard let confirmation = settings?.confirmation else {
        guard report.lacksSettings else {
          return settings?.hash == hash
            ? .confirmed : .failed("the new settings were replaced by other settings before they were confirmed")
        }
        return mayWait ? wait(printing: report.summary) : .undecided(report.summary)
      }
      guard mayWait else { return .undecided(confirmation.sentence) }
      // The sentence contains the remaining time, which changes with each response.
      state = confirmation.standstill ?? ""
      guard state != last else { return .wait(nil) }
      last = state
      return .wait(confirmation.sentence)
    }
    return wait(printing: state)
  }

  private mutating func wait(printing text: String) -> Step {
    guard text != last else { return .wait(nil) }
    last = text
    return .wait(text)
  }
}
