// SPDX-License-Identifier: Apache-2.0
import Delivery
import Observability
import ServiceManager
import Timekeeping

/// Keeps the line of `systemctl status` true to a few seconds, without waking systemd for every fix.
nonisolated struct StatusLine {
  /// The ages in the line grow: so long it may stand while anything at all happens. An outage has no events of its own.
  private static let longestStand = Duration.seconds(10)

  private let notifier: ServiceNotifier
  private var shownAt: BootInstant?

  init(_ notifier: ServiceNotifier) {
    self.notifier = notifier
  }

  /// At once when something happened that a person would want to read; at most once a second for outcomes, and every ten
  /// seconds for fixes and whatever else changes nothing but ages.
  func isDue(after effects: [VehicleAgent.Effect], at now: BootInstant) -> Bool {
    guard let shownAt, now - shownAt < StatusLine.longestStand else { return true }
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
