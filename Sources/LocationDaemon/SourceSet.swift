// SPDX-License-Identifier: Apache-2.0
import Configuration
import EventLoop
import Positioning
import Timekeeping
import SystemCalls

/// The sources that the settings name: reads them all, and hands on what the selector makes of it.
final class SourceSet {
  /// What becomes of the reports.
  struct Handlers {
    /// A fix of the source that is used.
    var use: (Fix) -> Void
    /// What is known of the sources has changed.
    var changed: () -> Void
    /// No source will give another fix.
    var ended: () -> Void
  }

  /// One source of the list; the same object for as long as its settings stay the same.
  final class Member {
    let settings: Settings.Source
    /// Nil before it is made, and after its end.
    fileprivate(set) var source: (any FixSource)?

    fileprivate init(_ settings: Settings.Source) { self.settings = settings }
  }

  private let loop: EventLoop
  private let handlers: Handlers
  private var selector: SourceSelector
  private var members: [Member]
  private var timer: LoopTimer?

  /// - Throws: exit code `configuration` when a route or recording cannot be read. A receiver is not opened yet.
  init(
    _ settings: [Settings.Source], filter: FixFilter.Configuration, loop: EventLoop, handlers: Handlers
  ) throws(DaemonError) {
    self.loop = loop
    self.handlers = handlers
    members = []
    selector = SourceSelector([], filter: filter, at: loop.now.boot)
    do {
      timer = try loop.makeTimer { [unowned self] in handle(.deadline) }
    } catch {
      throw DaemonError(ExitCode.system, error.message, cause: error)
    }
    replace(by: try prepare(settings), filter: filter)
  }

  /// The members of another list: those that are in this one already, and new ones, which are made and not started.
  ///
  /// - Throws: exit code `configuration`; then nothing has changed.
  func prepare(_ settings: [Settings.Source]) throws(DaemonError) -> [Member] {
    var known = members
    var list: [Member] = []
    for (index, source) in settings.enumerated() {
      if let place = known.firstIndex(where: { $0.settings == source }) {
        list.append(known.remove(at: place))
        continue
      }
      let member = Member(source)
      let key = settings.count > 1 ? "source[\(index + 1)]" : "source"
      member.source = try FixSources.make(source, key: key, loop: loop) { [unowned self, unowned member] report in
        take(report, from: member)
      }
      list.append(member)
    }
    return list
  }

  /// Lets go of the sources that are not in the list, and starts those that are new in it.
  func replace(by list: [Member], filter: FixFilter.Configuration) {
    let old = members
    members = list
    selector.replace(
      by: list.map { member in
        (
          SourceSelector.Candidate(label: member.settings.kind.name, silenceTimeout: member.settings.silenceTimeout),
          old.firstIndex { $0 === member }
        )
      }, filter: filter, at: loop.now.boot)
    for member in old where !list.contains(where: { $0 === member }) { member.stop() }
    for member in list where !old.contains(where: { $0 === member }) { member.source?.start() }
    arm()
  }

  func stop() {
    for member in members { member.stop() }
    timer?.close()
    timer = nil
  }

  var overview: SourceOverview { selector.overview }

  /// The devices or files, for messages.
  var names: String { members.map(\.settings.kind.name).joined(separator: ", ") }

  /// Whether a source waits for `settled` to give its next fix.
  var awaitsSettling: Bool { members.contains { $0.source?.awaitsSettling == true } }

  func settled() {
    for member in members where member.source?.awaitsSettling == true { member.source?.settled() }
  }

  /// Whether what each source waits for has a deadline still to come: what the watchdog asks.
  func isProgressing(at now: BootInstant) -> Bool {
    members.allSatisfy { $0.source?.isProgressing(at: now) ?? true }
  }

  private func take(_ report: SourceReport, from member: Member) {
    // A source that was let go of has nothing more to say.
    guard let index = members.firstIndex(where: { $0 === member }) else { return }
    if case .ended = report { member.source = nil }
    handle(.report(SourceSelector.Report(report), from: index))
  }

  private func handle(_ input: SourceSelector.Input) {
    let effects = selector.handle(input, at: loop.now)
    arm()
    for effect in effects {
      switch effect {
      case .use(let fix): handlers.use(fix)
      case .changed: handlers.changed()
      case .ended: handlers.ended()
      }
    }
  }

  private func arm() {
    if let deadline = selector.nextDeadline { timer?.arm(at: deadline) } else { timer?.disarm() }
  }
}

extension SourceSet.Member {
  fileprivate func stop() {
    source?.stop()
    source = nil
  }
}

extension SourceSelector.Report {
  fileprivate init(_ report: SourceReport) {
    self =
      switch report {
      case .fix(let fix): .fix(fix)
      case .reading(let name): .reading(name)
      case .lost(let why): .lost(why)
      case .ended: .ended
      }
  }
}
