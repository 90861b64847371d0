// SPDX-License-Identifier: Apache-2.0
import Observability
import Timekeeping

/// Follows a service that has just been started, until it has a fix, and Fleet Engine has accepted its first update
/// with a token that this run has fetched.
struct SetupWatch {
  /// What to do after a response.
  enum Step: Equatable {
    /// Print the line, and ask again in a second.
    case wait(String?)
    case online(String)
    /// What is missing, and what to do about it.
    case missing(String)
  }

  /// Maximum duration of a problem that a person must solve, such as a rejected token; the daemon retries by itself.
  static let grace = Duration.seconds(15)
  /// Causes that usually end by themselves, as while a modem is registering.
  private static let passing: Set<String> = ["noNetwork", "unavailable", "throttled"]

  /// Maximum total wait.
  let limit: Duration
  /// The option that names the instance, for commands in messages; empty for the main service.
  let option: String
  private var last = ""
  private var lastFailure: (cause: String, since: Duration)?

  init(limit: Duration, option: String) {
    self.limit = limit
    self.option = option
  }

  /// - Parameters:
  ///   - response: of the daemon, or why there is none.
  ///   - time: since the start.
  mutating func handle(_ response: Result<StatusReport, StatusRequestError>, at time: Duration) -> Step {
    switch response {
    case .failure(let error):
      guard time < limit else { return .missing(error.message) }
      return wait(printing: "the service starts")
    case .success(let report):
      if report.isPaused {
        return .missing("the vehicle is paused by command; end it with: fleet-locationctl resume\(option)")
      }
      if let settings = report.settings, settings.isKept {
        let mistake = settings.mistake.map { ": \(SettingsStatus.summary(of: $0))" } ?? ""
        let why =
          settings.takenBack.map { "were reverted before, and are not tried again until they change: \($0)" }
          ?? "have a mistake\(mistake)"
        return .missing("the last settings that worked are in force, because those in the files \(why)")
      }
      let count = { (name: String) in report.counters[name, default: 0] }
      let hasAcceptedUpdate = report.lastUpdate != nil && count("accepted") > 0
      // The first update may have had a queued position, which does not prove that the source works.
      if hasAcceptedUpdate, count("tokens") > 0, report.fix != nil {
        return .online("Fleet Engine has accepted the first update of \(report.vehicle ?? "the vehicle")")
      }
      guard !hasAcceptedUpdate || report.fix == nil else {
        // This does not prove that the token provider accepts the credential.
        guard time < limit else {
          return .missing(
            "updates are accepted, with a token of the previous run; fleet-locationctl token\(option) says whether the "
              + "token provider gives one with these settings")
        }
        return wait(printing: "online with a token of the previous run")
      }
      let state = report.state
      let problem = (hasAcceptedUpdate ? "only queued positions are accepted: " : "") + (state?.label ?? report.summary)
      let whole = problem + (state?.detail ?? "")
      let advice = state?.advice.map { "\n\($0)" } ?? ""
      if state?.level == "bad", let cause = state?.cause, !SetupWatch.passing.contains(cause) {
        if lastFailure?.cause != cause { lastFailure = (cause, time) }
        if let lastFailure, time - lastFailure.since >= SetupWatch.grace { return .missing(whole + advice) }
      } else {
        lastFailure = nil
      }
      guard time < limit else { return .missing(whole + advice) }
      return wait(printing: lastFailure == nil ? problem : "\(problem); the service tries again")
    }
  }

  private mutating func wait(printing text: String) -> Step {
    guard text != last else { return .wait(nil) }
    last = text
    return .wait(text)
  }
}

/// Why the daemon does not answer.
struct StatusRequestError: Error, Equatable {
  let message: String
}
