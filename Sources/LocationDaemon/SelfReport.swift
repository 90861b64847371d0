// SPDX-License-Identifier: Apache-2.0
import Delivery
import ServiceManager
import Timekeeping

/// What the daemon tells of itself without being asked: the line of `systemctl status`, and the file of metrics.
struct SelfReport {
  private var status: StatusLine
  private var metricsFile: MetricsFile

  /// - Parameter path: of the file of metrics; nil writes none.
  init(metricsFile path: String?, notifier: ServiceNotifier) {
    status = StatusLine(notifier)
    metricsFile = MetricsFile(path: path)
  }

  mutating func configure(metricsFile path: String?) {
    if !metricsFile.isAt(path) { metricsFile = MetricsFile(path: path) }
  }

  /// Shows what an input has changed, when that is worth systemd's attention.
  ///
  /// - Parameter text: the agent's line; asked for only when it is shown.
  mutating func follow(
    _ input: VehicleAgent.Input, _ effects: [VehicleAgent.Effect], at now: Moment, text: @autoclosure () -> String
  ) {
    // A network that comes and goes is told in the journal once in a while, and here each time.
    let isOfNetwork = if case .network = input { true } else { false }
    guard isOfNetwork || status.isDue(after: effects, at: now.boot) else { return }
    status.show(text(), at: now.boot)
  }

  /// Shows the line again when its ages have become old. Whoever has woken the machine, it is awake.
  ///
  /// - Parameter text: as above.
  mutating func refresh(at now: Moment, text: @autoclosure () -> String) {
    if status.isDue(after: [], at: now.boot) { status.show(text(), at: now.boot) }
  }

  /// Writes the file of metrics, when it is due or for the last time. Whoever has woken the machine, it is awake.
  ///
  /// - Parameter text: what is in it; asked for only when it is written.
  /// - Returns: what went wrong, when it was not told before.
  mutating func writeMetrics(
    at now: Moment, isOnline: Bool, isLast: Bool = false, text: @autoclosure () -> String
  ) -> Event? {
    guard isLast || metricsFile.isDue(at: now.boot, isOnline: isOnline) else { return nil }
    return metricsFile.write(text(), at: now.boot, isOnline: isOnline).map { .settingsWarning($0) }
  }
}
