// SPDX-License-Identifier: Apache-2.0
import EventLoop
package import Positioning
package import Timekeeping

/// A source that a session decides about: it passes the session its inputs, performs its effects in order, and wakes
/// it at its deadline. What is opened and read differs: each kind of source overrides `perform` and `close`.
package class SessionSource<Session: SourceSession>: FixSource {
  final let loop: EventLoop
  /// What is decided. Its methods for received bytes return effects, which `run` performs.
  final var session: Session
  private final let onReport: (SourceReport) -> Void
  /// Nil before the start and after the end.
  private final var timer: LoopTimer?

  init(loop: EventLoop, session: Session, report: @escaping (SourceReport) -> Void) {
    self.loop = loop
    self.session = session
    onReport = report
  }

  package func start() {
    do {
      timer = try loop.makeTimer { [unowned self] in handle(Session.Input.deadline) }
    } catch {
      loop.defer { [onReport] in onReport(.lost("\(error)")) }
      return
    }
    loop.defer { [weak self] in self?.handle(Session.Input.start) }
  }

  package final func stop() {
    guard isRunning else { return }
    timer?.close()
    timer = nil
    release()
    close()
  }

  package final var nextDeadline: BootInstant? { isRunning ? session.nextDeadline : nil }

  package var lineStatistics: LineStatistics? { nil }

  package var waits: Bool { false }

  package func readyForNextFix() {}

  /// Whether it was started and not stopped. A report may lead to its stop.
  final var isRunning: Bool { timer != nil }

  /// Passes the session an input, and performs its effects.
  final func handle(_ input: Session.Input) {
    guard isRunning else { return }
    run(session.handle(input, at: loop.now))
  }

  /// Performs effects of the session as long as the source runs.
  func run(_ effects: [Session.Effect]) {
    for effect in effects {
      guard isRunning else { return }
      perform(effect)
    }
    arm()
  }

  final func arm() {
    if let deadline = session.nextDeadline { timer?.arm(at: deadline) } else { timer?.disarm() }
  }

  /// Passes on a report. A source that has ended is closed before.
  final func report(_ report: SourceReport) {
    if report == .ended { stop() }
    onReport(report)
  }

  /// Performs one effect.
  func perform(_ effect: Session.Effect) {}

  /// Closes everything that is open.
  func close() {}

  /// The source stops: gives back what it has switched on, before it closes.
  func release() {}
}
