// SPDX-License-Identifier: Apache-2.0
import Delivery
package import EventLoop
import Glibc
package import ServiceManager
import Timekeeping

/// Waits for a file or credential that the settings name and that is not there: a disk that comes late, a secret that is
/// handed out with the next start.
///
/// It belongs to the loop's thread.
package final class SettingsWait {
  /// What the line of `systemctl status` begins with.
  package nonisolated static let statusPrefix = "Waiting for what the settings name: "

  /// Between two looks: at first, and at most.
  private static let (shortest, longest) = (Duration.seconds(5), Duration.seconds(60))
  /// systemd hands credentials out at a start only, so this process ends after a while for another.
  private static let limit = Duration.seconds(15 * 60)

  private let loop: EventLoop
  private let journal: Journal
  private let notifier: ServiceNotifier
  private let look: () -> DaemonError?
  private var timer: LoopTimer?
  private var pause = shortest
  private let end: BootInstant

  /// - Parameters:
  ///   - error: what is missing.
  ///   - look: looks again; nil: all is there, or another mistake is.
  package init(
    loop: EventLoop, journal: Journal, notifier: ServiceNotifier, error: DaemonError, look: @escaping () -> DaemonError?
  ) throws(EventLoopError) {
    self.loop = loop
    self.journal = journal
    self.notifier = notifier
    self.look = look
    end = loop.now.boot + SettingsWait.limit
    journal.log(JournalEntry(.settingsAwaited(error.message)))
    show(error)
    timer = try loop.makeTimer { [unowned self] in lookAgain() }
  }

  /// Waits, and answers systemd meanwhile: the unit counts as started, and its status says what is missing.
  ///
  /// - Returns: the exit code, when the program is to end; nil when the settings are to be read again.
  package func run() throws(EventLoopError) -> Int32? {
    let signals = [
      try loop.addSignal(SIGTERM) { [unowned self] in loop.exit(ExitCode.done) },
      try loop.addSignal(SIGINT) { [unowned self] in loop.exit(ExitCode.done) },
      try loop.addSignal(SIGHUP) { [unowned self] in lookAgain(isAsked: true) },
    ]
    let watchdog = try Watchdog(loop: loop, notifier: notifier) { true }
    defer { withExtendedLifetime((signals, watchdog)) {} }
    notifier.ready()
    timer?.arm(at: loop.now.boot + pause)
    let code = try loop.run()
    return code == SettingsWait.goOn ? nil : code
  }

  /// Not the code of any end.
  private static let goOn: Int32 = 255

  private func lookAgain(isAsked: Bool = false) {
    guard let error = look() else { return loop.exit(SettingsWait.goOn) }
    show(error)
    guard loop.now.boot < end else {
      journal.log(JournalEntry(.settingsAwaited(error.message)))
      return loop.exit(ExitCode.unavailable)
    }
    if !isAsked { pause = min(pause + pause, SettingsWait.longest) }
    timer?.arm(at: loop.now.boot + pause)
  }

  private func show(_ error: DaemonError) {
    notifier.status(SettingsWait.statusPrefix + error.message)
  }
}
