// SPDX-License-Identifier: Apache-2.0
import Configuration
import Delivery
import EventLoop
import Observability
import Positioning
import Timekeeping
import SystemCalls

/// The sources of the settings: starts and stops them, and passes on their reports.
final class SourceSet {
  /// One source of the list; the same object as long as its settings do not change.
  final class Member {
    let settings: Settings.Source
    /// Its ID in `VehicleAgent`.
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

  /// - Parameter report: receives the reports of the sources, with the source's ID.
  init(loop: EventLoop, report: @escaping (Int, SourceReport) -> Void) {
    self.loop = loop
    self.report = report
  }

  /// The members for new settings: existing ones with unchanged settings, and new ones, which are made but not started.
  ///
  /// - Parameter areNew: whether no existing one is used.
  /// - Throws: exit code `configuration` if a route or recording cannot be read; then nothing has changed. A receiver
  ///   is not opened yet.
  func prepare(_ settings: [Settings.Source], areNew: Bool = false) throws(DaemonError) -> [Member] {
    var known = areNew ? [] : members
    var list: [Member] = []
    for (index, source) in settings.enumerated() {
      if let position = known.firstIndex(where: { $0.settings == source }) {
        list.append(known.remove(at: position))
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

  /// The key of a source in the settings file.
  nonisolated static func key(_ index: Int, of count: Int) -> String { count > 1 ? "source[\(index + 1)]" : "source" }

  /// Stops the sources that are not in the list, and starts the new ones. `report` is never called before this returns.
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
  var configuredSources: [SourceSelector.ConfiguredSource] {
    members.map {
      SourceSelector.ConfiguredSource(
        id: $0.id, label: $0.settings.kind.name, silenceTimeout: $0.settings.silenceTimeout,
        waits: $0.source?.waits ?? false, pace: $0.settings.kind.pace)
    }
  }

  /// The counters of each source that has a serial line or receives NMEA 0183 over the network.
  var lines: [LineReading] {
    members.compactMap { member in
      member.source?.lineStatistics.map { LineReading(source: member.settings.kind.name, statistics: $0) }
    }
  }

  /// Lets the source with this ID report its next fix, in a later iteration of the loop, so that a recording whose
  /// fixes are all rejected does not cause deep recursion.
  func readyForNextFix(_ id: Int) {
    loop.defer { [weak self] in self?.members.first { $0.id == id }?.source?.readyForNextFix() }
  }

  /// Whether no source has missed a deadline; checked by the watchdog.
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
