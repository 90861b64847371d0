// SPDX-License-Identifier: Apache-2.0
import ControlSocket
import Delivery
package import EventLoop
import Glibc
import Release
package import ServiceManager
import SystemCalls
import Timekeeping

/// Waits for a missing file or credential of the settings: a disk that is mounted late, or a credential that systemd
/// provides with the next start.
///
/// To be used on the loop's thread only.
package final class SettingsWait {
  /// Prefix of the status text of systemd.
  package nonisolated static let statusPrefix = "Waiting for a file or credential that the settings name: "

  /// Interval between two checks: the first, and the maximum.
  private static let (firstInterval, maxInterval) = (Duration.seconds(5), Duration.seconds(60))
  /// systemd provides credentials only at a start, so this process exits after this time to be restarted.
  private static let limit = Duration.seconds(15 * 60)

  private let loop: EventLoop
  private let journal: Journal
  private let notifier: ServiceNotifier
  private let check: () -> DaemonError?
  private let pauseFile = PauseFile.ofService
  private var error: DaemonError
  private var control: ControlServer?
  private var timer: LoopTimer?
  private var interval = firstInterval
  private let end: BootInstant

  /// - Parameters:
  ///   - error: what is missing.
  ///   - check: checks again; nil if nothing is missing, or there is another mistake.
  package init(
    loop: EventLoop, journal: Journal, notifier: ServiceNotifier, error: DaemonError,
    check: @escaping () -> DaemonError?
  ) throws(EventLoopError) {
    self.loop = loop
    self.journal = journal
    self.notifier = notifier
    self.check = check
    self.error = error
    end = loop.now.boot + SettingsWait.limit
    journal.log(JournalEntry(.settingsAwaited(error.message)))
    show(error)
    listen()
    timer = try loop.makeTimer { [unowned self] in checkAgain() }
  }

  /// Waits. Meanwhile the unit counts as started, its watchdog is notified, and its status and the control socket say
  /// what is missing.
  ///
  /// - Returns: the exit code, if the program must end; nil if the settings must be read again.
  package func run() throws(EventLoopError) -> Int32? {
    let signals = [
      try loop.addSignal(SIGTERM) { [unowned self] in loop.exit(ExitCode.done) },
      try loop.addSignal(SIGINT) { [unowned self] in loop.exit(ExitCode.done) },
      try loop.addSignal(SIGHUP) { [unowned self] in checkAgain(isReload: true) },
    ]
    let watchdog = try Watchdog(loop: loop, notifier: notifier) { true }
    defer { withExtendedLifetime((signals, watchdog)) {} }
    notifier.ready()
    timer?.arm(at: loop.now.boot + interval)
    let code = try loop.run()
    return code == SettingsWait.readAgain ? nil : code
  }

  /// Ends the loop so that the settings are read again. It is not an exit code of the program.
  private static let readAgain: Int32 = 255

  private func checkAgain(isReload: Bool = false) {
    guard let error = check() else { return loop.exit(SettingsWait.readAgain) }
    self.error = error
    show(error)
    guard loop.now.boot < end else {
      journal.log(JournalEntry(.settingsAwaited(error.message)))
      return loop.exit(ExitCode.unavailable)
    }
    if !isReload { interval = min(interval + interval, SettingsWait.maxInterval) }
    timer?.arm(at: loop.now.boot + interval)
  }

  // MARK: - The control socket

  private func listen() {
    guard let path = ControlProtocol.socketPath else { return }
    do {
      control = try ControlServer(loop: loop, path: path) { [weak self] question, reply in
        guard let self else { return }
        reply(
          ControlProtocol.responseWhileWaiting(
            question, reason: SettingsWait.statusPrefix + error.message, reload: { reload() },
            setPause: { setPause($0) }))
      }
    } catch {
      journal.log(JournalEntry(.settingsWarning(error.message)))
    }
  }

  /// - Returns: what is still missing; nil if nothing is: the settings are read after the response.
  private func reload() -> String? {
    let missing = check()
    loop.defer { [weak self] in self?.checkAgain(isReload: true) }
    return missing.map { SettingsWait.statusPrefix + $0.message }
  }

  /// Stores a pause for the daemon, or its end. One that began before stays as it is.
  private func setPause(_ isPaused: Bool) -> String? {
    let (record, trouble) = pauseFile.read()
    if isPaused, record != nil { return nil }
    let wall = loop.now.wall
    let new = isPaused ? PauseRecord(since: wall < Release.buildDate ? nil : wall) : nil
    return pauseFile.store(new) ?? (isPaused ? trouble : nil)
  }

  private func show(_ error: DaemonError) {
    notifier.status(SettingsWait.statusPrefix + error.message)
  }
}
