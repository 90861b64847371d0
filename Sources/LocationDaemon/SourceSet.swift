// SPDX-License-Identifier: Apache-2.0
import Configuration
import Delivery
import EventLoop
import Observability
import Positioning
import Timekeeping
import SystemCalls

/// The sources that the settings name: starts and stops them, and hands on what they report.
final class SourceSet {
  /// One source of the list; the same object for as long as its settings stay the same.
  final class Member {
    let settings: Settings.Source
    /// Its name to `VehicleAgent`.
    let id: Int
    /// Nil before it is made, and after its end.
    fileprivate(set) var source: (any FixSource)?

    fileprivate init(_ settings: Settings.Source, id: Int) {
      self.settings = settings
      self.id = id
    }
  }

  private let loop: EventLoop
  private let report: (Int, SourceReport) -> Void
  private var members: [Member] = []
  private var lastID = 0

  /// - Parameter report: takes what a source reports, with its ID.
  init(loop: EventLoop, report: @escaping (Int, SourceReport) -> Void) {
    self.loop = loop
    self.report = report
  }

  /// The members of another list: those that are in this one already, and new ones, which are made and not started.
  ///
  /// - Throws: exit code `configuration` when a route or recording cannot be read; then nothing has changed. A receiver is
  ///   not opened yet.
  func prepare(_ settings: [Settings.Source]) throws(DaemonError) -> [Member] {
    var known = members
    var list: [Member] = []
    for (index, source) in settings.enumerated() {
      if let place = known.firstIndex(where: { $0.settings == source }) {
        list.append(known.remove(at: place))
        continue
      }
      lastID += 1
      let member = Member(source, id: lastID)
      let key = SourceSet.key(index, of: settings.count)
      member.source = try FixSources.make(source, key: key, loop: loop) { [weak self, weak member] report in
        guard let self, let member else { return }
        // Its descriptors are closed at once, not when the list is replaced.
        if case .ended = report { member.source = nil }
        self.report(member.id, report)
      }
      list.append(member)
    }
    return list
  }

  /// What the settings file calls a source.
  nonisolated static func key(_ index: Int, of count: Int) -> String { count > 1 ? "source[\(index + 1)]" : "source" }

  /// Lets go of the sources that are not in the list, and starts those that are new in it. None reports from within.
  func replace(by list: [Member]) {
    let old = members
    members = list
    for member in old where !list.contains(where: { $0 === member }) { member.stop() }
    for member in list where !old.contains(where: { $0 === member }) { member.source?.start() }
  }

  func stop() {
    for member in members { member.stop() }
  }

  /// For the agent, in the order of priority.
  var candidates: [SourceSelector.Candidate] {
    members.map {
      SourceSelector.Candidate(
        id: $0.id, label: $0.settings.kind.name, silenceTimeout: $0.settings.silenceTimeout,
        waits: $0.source?.waits ?? false)
    }
  }

  /// What has come over the line of each that has one.
  var lines: [LineReading] {
    members.compactMap { member in
      member.source?.lineHealth.map { LineReading(source: member.settings.kind.name, health: $0) }
    }
  }

  /// Lets the source of this ID give its next fix, in a turn of the loop of its own: a recording of fixes that are all
  /// rejected would be one deep call.
  func readyForNextFix(_ id: Int) {
    loop.defer { [weak self] in self?.members.first { $0.id == id }?.source?.readyForNextFix() }
  }

  /// Whether each source keeps its deadlines: what the watchdog asks.
  func isProgressing(at now: BootInstant) -> Bool {
    members.allSatisfy { $0.source?.nextDeadline?.isMissed(at: now) != true }
  }
}

extension SourceSet.Member {
  fileprivate func stop() {
    source?.stop()
    source = nil
  }
}
