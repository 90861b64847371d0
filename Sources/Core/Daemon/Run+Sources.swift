// SPDX-License-Identifier: Apache-2.0
import SourceSelection
import Vehicle
import ExternalInput
package import FixSources
import Timekeeping

/// What passes between the sources, their lines and the vehicle.
extension Run {
  /// The counters of each source that has a line, with its name.
  package var lines: [(source: String, statistics: LineStatistics)] { sources.lines }

  /// Bytes of a source; see `Daemon.receive`.
  mutating func receive(
    _ bytes: Span<UInt8>, from sender: SourceSender, of id: Int, at now: Moment, observer: Observer?
  ) -> [Effect] {
    wasVehicleCalled = false
    let produced = sources.receive(bytes, from: sender, of: id, at: now)
    guard !produced.isEmpty else {
      updateDeadline()
      return []
    }
    var effects = [Effect]()
    perform(produced, of: id, at: now, observer, &effects)
    settle(at: now, observer, &effects)
    if wasVehicleCalled { publish(after: nil, at: now, &effects) }
    reportSettled(to: observer)
    return effects
  }

  /// Whether a network sender is read; see `Daemon.admit`.
  mutating func admit(_ address: IPAddress, to id: Int, at now: BootInstant) -> NMEANetworkSession.Admission? {
    defer { updateDeadline() }
    return sources.admit(address, to: id, at: now)
  }

  mutating func useSources(_ list: [Daemon.Source], at now: Moment, _ observer: Observer?, _ effects: inout [Effect]) {
    effects += sources.replaceAll(with: list)
    pass(.sources(sources.configured), at: now, observer, &effects)
    guard !sources.isVehicleInUse else { return }
    for source in list where source.session != nil {
      let id = source.configured.id
      perform(sources.handle(.start, of: id, at: now), of: id, at: now, observer, &effects)
    }
    // New sources must still be notified of this.
    if !sources.areFixesNeeded { hasFixNeedChanged = true }
  }

  /// Notifies the sources whether fixes are needed, if that has changed.
  mutating func passFixNeed(at now: Moment, _ observer: Observer?, _ effects: inout [Effect]) {
    guard hasFixNeedChanged else { return }
    hasFixNeedChanged = false
    passToSources(.needed(sources.areFixesNeeded), at: now, observer, &effects)
  }

  mutating func passToSources(
    _ input: SourceInput, at now: Moment, _ observer: Observer?, _ effects: inout [Effect]
  ) {
    for id in sources.configured.map(\.id) {
      perform(sources.handle(input, of: id, at: now), of: id, at: now, observer, &effects)
    }
  }

  /// The result of an attempt to lock the vehicle. The sources are opened once this process has it.
  mutating func vehicleLocked(
    by holder: VehicleHolder?, at now: Moment, _ observer: Observer?, _ effects: inout [Effect]
  ) {
    sources.isVehicleInUse = holder != nil
    guard holder == nil, let held = sources.held else { return }
    useSources(held, at: now, observer, &effects)
  }

  mutating func endSources(_ effects: inout [Effect]) { effects += sources.removeAll() }

  /// Each source that is due handles its deadline.
  ///
  /// - Returns: whether one of them is reading now.
  mutating func passSourceDeadlines(at now: Moment, _ observer: Observer?, _ effects: inout [Effect]) -> Bool {
    guard let deadline = sources.nextDeadline, now.boot >= deadline else { return false }
    var isReading = false
    for index in sources.indices {
      guard let id = sources.idIfDue(at: index, now.boot) else { continue }
      let produced = sources.handle(.deadline, of: id, at: now)
      for case .line(.read) in produced { isReading = true }
      perform(produced, of: id, at: now, observer, &effects)
    }
    return isReading
  }

  mutating func perform(
    _ produced: [SourceEffect], of id: Int, at now: Moment, _ observer: Observer?, _ effects: inout [Effect]
  ) {
    for effect in produced {
      switch effect {
      case .line(let operation): effects.append(.line(id, operation))
      case .report(let report):
        if case .ended = report {
          // Its line is closed at once, not when the list is replaced.
          sources.end(id)
          effects.append(.line(id, .end(after: nil)))
        }
        pass(.source(id, report), at: now, observer, &effects)
      }
    }
  }
}
