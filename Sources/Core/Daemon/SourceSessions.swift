// SPDX-License-Identifier: Apache-2.0
package import SourceSelection
import ExternalInput
package import FixSources
import Timekeeping

/// The settings of a source, as far as the daemon is concerned: a source whose settings are unchanged is kept.
package protocol SourceIdentity: Sendable {
  /// Whether the other source has equal settings.
  func isEqual(to other: any SourceIdentity) -> Bool
}

extension SourceIdentity where Self: Equatable {
  package func isEqual(to other: any SourceIdentity) -> Bool { other as? Self == self }
}

extension Daemon {
  /// A source of the settings.
  package struct Source: Sendable {
    /// Its settings.
    package var settings: any SourceIdentity
    /// What the vehicle knows about it, with the ID of the plan.
    package var configured: SourceSelector.ConfiguredSource
    /// A new session; nil: the running one is kept.
    package var session: (any SourceSession)?

    package init(
      _ settings: any SourceIdentity, _ configured: SourceSelector.ConfiguredSource, session: (any SourceSession)?
    ) {
      self.settings = settings
      self.configured = configured
      self.session = session
    }
  }

  /// What happens to a source under new settings.
  package struct PlannedSource: Equatable, Sendable {
    /// Its ID.
    package var id: Int
    /// Whether its session and line have to be made; otherwise both are kept.
    package var isNew: Bool

    package init(id: Int, isNew: Bool) {
      self.id = id
      self.isNew = isNew
    }
  }
}

/// The sessions of the sources, in order of priority.
///
/// While another process has the vehicle they are not opened, because that process may read the same receiver.
struct SourceSessions: Sendable {
  private struct Entry: Sendable {
    let id: Int
    let settings: any SourceIdentity
    let configured: SourceSelector.ConfiguredSource
    /// Nil once it has ended.
    var session: (any SourceSession)?
    var deadline: BootInstant?
  }

  private var entries: [Entry] = []
  private var lastID = 0
  /// The sources that are opened once this process has the vehicle.
  private(set) var held: [Daemon.Source]?
  /// Whether another process has the vehicle.
  var isVehicleInUse = false
  /// Whether fixes are needed.
  var areFixesNeeded = true
  /// When the first session has to handle `deadline`; nil if no session has one.
  private(set) var nextDeadline: BootInstant?

  // MARK: - The list

  /// - Parameter areNew: whether all sources are planned as new, and no existing one is kept.
  func plan(_ settings: [any SourceIdentity], areNew: Bool) -> [Daemon.PlannedSource] {
    var reusable = areNew ? [] : entries
    var id = lastID
    return settings.map { settings in
      if let index = reusable.firstIndex(where: { $0.settings.isEqual(to: settings) }) {
        return Daemon.PlannedSource(id: reusable.remove(at: index).id, isNew: false)
      }
      id += 1
      return Daemon.PlannedSource(id: id, isNew: true)
    }
  }

  /// Uses these sources from now on; new ones must then be started.
  ///
  /// - Returns: the operations that end the lines of the others.
  mutating func replaceAll(with list: [Daemon.Source]) -> [Daemon.Effect] {
    lastID = max(lastID, list.map(\.configured.id).max() ?? 0)
    let used = isVehicleInUse ? [] : list
    let formerlyHeld = held ?? []
    held = isVehicleInUse ? list : nil
    let old = entries
    entries = used.map { source in
      let running = old.first { $0.id == source.configured.id }
      return Entry(
        id: source.configured.id, settings: source.settings, configured: source.configured,
        session: source.session ?? running?.session, deadline: running?.deadline)
    }
    updateDeadline()
    let endedEntries = old.filter { entry in entry.session != nil && !used.contains { $0.configured.id == entry.id } }
    return endedEntries.map { .line($0.id, .end(after: $0.session?.lastRequest)) }
      + formerlyHeld.filter { source in !list.contains { $0.configured.id == source.configured.id } }
      .map { .line($0.configured.id, .end(after: nil)) }
  }

  /// Ends all sessions.
  mutating func removeAll() -> [Daemon.Effect] {
    isVehicleInUse = false
    return replaceAll(with: [])
  }

  /// What the vehicle knows about the sources, in order of priority.
  var configured: [SourceSelector.ConfiguredSource] {
    entries.map { entry in
      var configured = entry.configured
      configured.isPausable = entry.session?.isPausable ?? false
      return configured
    }
  }

  /// The counters of each source that has a line, with its name.
  var lines: [(source: String, statistics: LineStatistics)] {
    entries.compactMap { entry in entry.session?.counters.map { (entry.configured.label, $0) } }
  }

  /// Whether no source has missed a deadline.
  func isProgressing(at now: BootInstant) -> Bool { nextDeadline?.isMissed(at: now) != true }

  // MARK: - The sessions

  /// The indices of the list, which only new settings change.
  var indices: Range<Int> { entries.indices }

  /// The ID of the source at this index, if its deadline has passed.
  func idIfDue(at index: Int, _ now: BootInstant) -> Int? {
    guard let deadline = entries[index].deadline, now >= deadline else { return nil }
    return entries[index].id
  }

  mutating func handle(_ input: SourceInput, of id: Int, at now: Moment) -> [SourceEffect] {
    guard let index = index(of: id) else { return [] }
    defer { noteDeadline(of: index) }
    return entries[index].session?.handle(input, at: now) ?? []
  }

  mutating func receive(
    _ bytes: Span<UInt8>, from sender: SourceSender, of id: Int, at now: Moment
  ) -> [SourceEffect] {
    guard let index = index(of: id) else { return [] }
    defer { noteDeadline(of: index) }
    return entries[index].session?.receive(bytes, from: sender, at: now) ?? []
  }

  mutating func admit(_ address: IPAddress, to id: Int, at now: BootInstant) -> NMEANetworkSession.Admission? {
    guard let index = index(of: id) else { return nil }
    defer { noteDeadline(of: index) }
    return entries[index].session?.admit(address, at: now)
  }

  mutating func readyForNextFix(_ id: Int, at now: BootInstant) {
    guard let index = index(of: id) else { return }
    entries[index].session?.readyForNextFix(at: now)
    noteDeadline(of: index)
  }

  /// The session has ended; its place in the list remains.
  mutating func end(_ id: Int) {
    guard let index = index(of: id) else { return }
    entries[index].session = nil
    noteDeadline(of: index)
  }

  private func index(of id: Int) -> Int? {
    for index in entries.indices where entries[index].id == id { return index }
    return nil
  }

  private mutating func noteDeadline(of index: Int) {
    entries[index].deadline = entries[index].session?.deadlineInPlace()
    updateDeadline()
  }

  private mutating func updateDeadline() {
    nextDeadline = nil
    for index in entries.indices { nextDeadline = .earliest(nextDeadline, entries[index].deadline) }
  }
}
