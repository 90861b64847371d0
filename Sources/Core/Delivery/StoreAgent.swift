// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
package import Timekeeping

/// Decides when changes of the backlog are written to the store, and which.
///
/// Changes are collected and written together, so that flash memory is not worn. What comes and goes in between is never
/// written: while all is well, nothing is. After a failure the rest waits, and the waits grow.
package struct StoreAgent: Sendable {
  /// A position of a vehicle.
  package struct Key: Hashable, Sendable {
    package var vehicle: FleetEngineVehicle
    package var id: Backlog.ID

    package init(vehicle: FleetEngineVehicle, id: Backlog.ID) {
      self.vehicle = vehicle
      self.id = id
    }
  }

  /// What to do with a key.
  private struct Entry {
    /// Nil: it goes.
    var record: Backlog.Record?
    /// Whether the store may hold something under this key.
    var isKnown: Bool
  }

  /// The waits after a failure.
  private static let retry = Backoff.Bounds.atLeastHalf(.seconds(5), cap: .seconds(300))

  private var interval: Duration
  private var entries: [Key: Entry] = [:]
  private var dueAt: BootInstant?
  private var gate: RetryGate
  /// The store could not be opened or written the last time.
  private var isFailing = false

  /// - Parameters:
  ///   - interval: how long a change may wait for company: what a power cut costs. Zero or more.
  ///   - seed: of the jitter of the waits after a failure.
  package init(interval: Duration, seed: UInt64) {
    self.interval = interval
    gate = RetryGate(seed: seed)
  }

  package mutating func configure(interval: Duration) {
    self.interval = interval
  }

  /// Takes a change.
  package mutating func follow(_ change: Backlog.Change, of vehicle: FleetEngineVehicle, at now: BootInstant) {
    switch change {
    case .added(let record): put(record, of: vehicle)
    case .changed(let records):
      // What is not waiting to be written for the first time is in the store.
      for record in records { put(record, of: vehicle, isKnown: true) }
    case .removed(let ids, _):
      for id in ids {
        let key = Key(vehicle: vehicle, id: id)
        if let entry = entries[key], entry.record != nil, !entry.isKnown {
          entries[key] = nil
        } else {
          entries[key] = Entry(record: nil, isKnown: true)
        }
      }
    }
    dueAt = entries.isEmpty ? nil : dueAt ?? now + interval
  }

  private mutating func put(_ record: Backlog.Record, of vehicle: FleetEngineVehicle, isKnown: Bool = false) {
    let key = Key(vehicle: vehicle, id: record.id)
    entries[key] = Entry(record: record, isKnown: entries[key]?.isKnown ?? isKnown)
  }

  /// The store begins empty, while these records are in memory.
  package mutating func startOver(_ records: [Backlog.Record], of vehicle: FleetEngineVehicle, at now: BootInstant) {
    entries = entries.filter { $0.value.record != nil && $0.key.vehicle != vehicle }
    for key in entries.keys { entries[key]?.isKnown = false }
    for record in records { put(record, of: vehicle) }
    dueAt = entries.isEmpty ? nil : now + interval
  }

  /// When to write, or to try again; nil while there is nothing to do.
  package var deadline: BootInstant? { isFailing ? gate.notBefore : dueAt }

  package func isDue(at now: BootInstant) -> Bool { deadline.map { now >= $0 } ?? false }

  package var isEmpty: Bool { entries.isEmpty }

  /// What there is to write, in the order of vehicles and times: the record, or nil where it goes.
  package var batch: [(key: Key, record: Backlog.Record?)] {
    entries.map { ($0.key, $0.value.record) }.sorted { left, right in
      let (one, other) = (left.key.vehicle, right.key.vehicle)
      return one == other
        ? left.key.id < right.key.id
        : (one.service.name, one.providerID, one.vehicleID) < (other.service.name, other.providerID, other.vehicleID)
    }
  }

  /// All of `batch` is in the store.
  package mutating func written() {
    entries = [:]
    dueAt = nil
    isFailing = false
    gate.reset()
  }

  /// The store cannot be opened or written.
  package mutating func failed(at now: BootInstant) {
    isFailing = true
    _ = gate.failed(StoreAgent.retry, at: now)
  }

  /// What stood in the way may be gone: there is no wait any more.
  package mutating func retryNow() {
    isFailing = false
    gate.reset()
  }
}
