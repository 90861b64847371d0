// SPDX-License-Identifier: Apache-2.0
import Daemon
import Delivery
import ServiceManager
import Timekeeping

/// Publishes the status line of systemd and the file of metrics.
struct StatusPublisher {
  private var status: StatusLine
  private var metricsFile: MetricsFile

  /// - Parameter path: of the metrics file; nil for none.
  init(metricsFile path: String?, notifier: ServiceNotifier) {
    status = StatusLine(notifier)
    metricsFile = MetricsFile(path: path)
  }

  mutating func configure(metricsFile path: String?) {
    if !metricsFile.isAt(path) { metricsFile = MetricsFile(path: path) }
  }

  /// Updates the status line after an input, if it is due.
  ///
  /// - Parameter text: the line; evaluated only if it is sent.
  mutating func update(
    after input: Daemon.Input, _ effects: [Daemon.Effect], at now: Moment, text: @autoclosure () -> String
  ) {
    // The journal rate-limits network changes; the status line shows each. And it shows the backlog once it is read.
    let isShownAtOnce =
      switch input {
      case .vehicle(.network), .storeEnded(.read): true
      default: false
      }
    guard isShownAtOnce || status.isDue(after: effects, at: now.boot) else { return }
    status.show(text(), at: now.boot)
  }

  /// Updates the status line if its ages are outdated. Called when the machine is awake anyway.
  ///
  /// - Parameter text: the line; evaluated only if it is sent.
  mutating func refresh(at now: Moment, text: @autoclosure () -> String) {
    if status.isDue(after: [], at: now.boot) { status.show(text(), at: now.boot) }
  }

  /// Writes the metrics file, if it is due or for the last time. Called when the machine is awake anyway.
  ///
  /// - Parameter text: its contents; evaluated only if they are written.
  /// - Returns: an error that has not been reported before.
  mutating func writeMetrics(
    at now: Moment, isOnline: Bool, isLast: Bool = false, text: @autoclosure () -> String
  ) -> Event? {
    guard metricsFile.isDue(at: now.boot, isOnline: isOnline, isLast: isLast) else { return nil }
    return metricsFile.write(text(), at: now.boot, isOnline: isOnline).map { .settingsWarning($0) }
  }
}
