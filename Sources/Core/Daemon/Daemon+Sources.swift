// SPDX-License-Identifier: Apache-2.0
import Delivery
package import ExternalInput
package import Positioning
package import Timekeeping

/// What passes between the sources, their lines and the vehicle.
extension Daemon {
  /// What becomes of the sources under new settings. Changes nothing.
  ///
  /// - Parameters:
  ///   - settings: in order of priority.
  ///   - isVehicleInUse: whether another process has the vehicle of these settings: then no running source is kept.
  /// - Returns: the same order. What is new has to be made for the input `sources`.
  package func plan(_ settings: [any SourceIdentity], isVehicleInUse: Bool = false) -> [PlannedSource] {
    sources.plan(settings, areNew: isVehicleInUse)
  }

  /// The name of each source that has counters of its line, and these.
  package var lines: [(source: String, statistics: LineStatistics)] { sources.lines }

  /// Processes data of the line of the source with this ID, in chunks of any size, except for datagrams.
  ///
  /// - Returns: the effects in order.
  package mutating func receive(
    _ bytes: Span<UInt8>, from sender: SourceSender = .peer, of id: Int, at now: Moment, observer: Observer? = nil
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
    return effects
  }

  /// A sender has connected to the source with this ID.
  ///
  /// - Returns: nil if its connection must be closed unread.
  package mutating func admit(_ address: IPAddress, to id: Int, at now: BootInstant) -> NMEANetworkSession.Admission? {
    defer { updateDeadline() }
    return sources.admit(address, to: id, at: now)
  }

  mutating func use(_ list: [Source], at now: Moment, _ observer: Observer?, _ effects: inout [Effect]) {
    effects += sources.replace(by: list)
    pass(.sources(sources.configured), at: now, observer, &effects)
    guard !sources.isVehicleInUse else { return }
    for source in list where source.session != nil {
      let id = source.configured.id
      perform(sources.handle(.start, of: id, at: now), of: id, at: now, observer, &effects)
    }
  }

  /// The result of an attempt to lock the vehicle. The sources are opened once this process has it.
  mutating func vehicleLocked(
    by holder: VehicleHolder?, at now: Moment, _ observer: Observer?, _ effects: inout [Effect]
  ) {
    sources.isVehicleInUse = holder != nil
    guard holder == nil, let held = sources.held else { return }
    use(held, at: now, observer, &effects)
  }

  mutating func endSources(_ effects: inout [Effect]) { effects += sources.removeAll() }

  /// Each source that is due handles its deadline.
  ///
  /// - Returns: whether one of them reads now.
  mutating func passSourceDeadlines(at now: Moment, _ observer: Observer?, _ effects: inout [Effect]) -> Bool {
    guard let deadline = sources.nextDeadline, now.boot >= deadline else { return false }
    var isReading = false
    for index in sources.indices {
      guard let id = sources.due(at: index, now.boot) else { continue }
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
