// SPDX-License-Identifier: Apache-2.0
import Daemon
import Delivery
import Observability
import ServiceManager
import Timekeeping

/// Sends the status line of systemd, current to a few seconds, without a message for every fix.
nonisolated struct StatusLine {
  /// Maximum age of the line while the daemon is active, because it contains ages.
  private static let maxAge = Duration.seconds(10)

  private let notifier: ServiceNotifier
  private var shownAt: BootInstant?

  init(_ notifier: ServiceNotifier) {
    self.notifier = notifier
  }

  /// Whether the line must be sent: at once for events of priority notice and above, at most once a second for results
  /// of updates, and every ten seconds for anything else.
  func isDue(after effects: [Daemon.Effect], at now: BootInstant) -> Bool {
    guard let shownAt, now - shownAt < StatusLine.maxAge else { return true }
    var hasOutcome = false
    for case .event(let event) in effects {
      if event.kind.priority <= .notice { return true }
      hasOutcome = hasOutcome || event.kind == .updateAccepted || event.kind == .interrupted
    }
    return hasOutcome && now - shownAt >= .seconds(1)
  }

  mutating func show(_ text: String, at now: BootInstant) {
    shownAt = now
    _ = notifier.status(text)
  }
}
