// SPDX-License-Identifier: Apache-2.0
package import Vehicle
import ExternalInput
import Timekeeping

/// What the outputs say while the daemon waits for a file or credential that its settings name.
package struct MissingSettings: Equatable, Sendable {
  /// The word for scripts in `state.cause` and `explanation.reason`.
  package static let cause = "noSettings"
  private static let label = "waiting for a file or credential that the settings name"
  private static let advice =
    "Provide it: the daemon checks again every 5 s to 60 s, and at once with fleet-locationctl reload; a new credential "
    + "needs a restart of the service"

  /// What the line of `systemctl status` begins with.
  package static let prefix = "\(label.sentenceCase): "

  private let problem: String

  /// - Parameter problem: what is missing, and what to do, in one or more lines.
  package init(_ problem: String) {
    self.problem = problem
  }

  /// The line of `systemctl status`.
  package var sentence: String { MissingSettings.prefix + problem }
}

extension StatusReport {
  /// The report of a daemon that waits for what its settings name; the caller adds release, uptime and events.
  ///
  /// - Parameter pause: nil: none is stored.
  package init(_ missing: MissingSettings, pause: PauseRecord?) {
    self.init(
      summary: missing.sentence, state: missing.state, isOnline: false, isPaused: pause != nil,
      pausedSince: pause?.since?.canonicalJSON, sourceTrouble: "not opened without settings", isUpdating: false,
      backlog: Backlog(count: 0, store: "unread", removed: [:]),
      explanation: Explanation(MissingSettings.cause, missing.explanation), lastFix: "", counters: [:])
  }

  /// Whether the daemon waits for what its settings name.
  package var lacksSettings: Bool { state?.cause == MissingSettings.cause }
}

extension MissingSettings {
  fileprivate var state: StatusReport.State {
    StatusReport.State(
      cause: MissingSettings.cause, label: MissingSettings.label, detail: ": \(problem)", level: "bad",
      advice: MissingSettings.advice)
  }

  fileprivate var explanation: String {
    "No position is read or sent: the daemon is \(MissingSettings.label): \(problem). \(MissingSettings.advice)."
  }
}
