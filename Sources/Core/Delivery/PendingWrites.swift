// SPDX-License-Identifier: Apache-2.0
import FleetEngine

/// Changes of the backlog that the store does not have yet, collected to be written together.
///
/// What is added and removed in between is never written: while all is well, nothing is.
struct PendingWrites: Sendable {
  /// What the store should hold under a key.
  private struct Entry {
    /// Nil: nothing.
    var record: Backlog.Record?
    /// Whether the store may hold something under this key.
    var isKnown: Bool
  }

  /// What `batch` does not have yet.
  private var entries: [StoreAgent.Key: Entry] = [:]
  /// What is being written.
  private var underway: [StoreAgent.Key: Entry] = [:]

  /// Whether the store has everything but what is being written.
  var isEmpty: Bool { entries.isEmpty }

  mutating func follow(_ change: Backlog.Change, of vehicle: FleetEngineVehicle) {
    switch change {
    case .added(let record): put(record, of: vehicle)
    case .changed(let records):
      // What is not waiting to be written for the first time is in the store.
      for record in records { put(record, of: vehicle, isKnown: true) }
    case .removed(let ids, _):
      for id in ids {
        let key = StoreAgent.Key(vehicle: vehicle, id: id)
        if let entry = entries[key], entry.record != nil, !entry.isKnown {
          entries[key] = nil
        } else {
          entries[key] = Entry(record: nil, isKnown: true)
        }
      }
    }
  }

  private mutating func put(_ record: Backlog.Record, of vehicle: FleetEngineVehicle, isKnown: Bool = false) {
    let key = StoreAgent.Key(vehicle: vehicle, id: record.id)
    entries[key] = Entry(record: record, isKnown: entries[key]?.isKnown ?? isKnown)
  }

  /// The store begins empty, while these records of the vehicle are in memory. Not while something is being written.
  mutating func startOver(_ records: [Backlog.Record], of vehicle: FleetEngineVehicle) {
    entries = entries.filter { $0.value.record != nil && $0.key.vehicle != vehicle }
    for key in entries.keys { entries[key]?.isKnown = false }
    for record in records { put(record, of: vehicle) }
  }

  /// Begins to write everything: `written` or `notWritten` follows.
  ///
  /// - Returns: in the order of vehicles and times.
  mutating func batch() -> [StoreAgent.Write] {
    underway = entries
    entries = [:]
    return underway.map { StoreAgent.Write(key: $0.key, record: $0.value.record) }.sorted { left, right in
      let (one, other) = (left.key.vehicle, right.key.vehicle)
      return one == other
        ? left.key.id < right.key.id
        : (one.service.name, one.providerID, one.vehicleID) < (other.service.name, other.providerID, other.vehicleID)
    }
  }

  /// All of the batch is in the store.
  mutating func written() {
    underway = [:]
  }

  /// Nothing of the batch is in the store. What has changed since comes in its place.
  mutating func notWritten() {
    for (key, old) in underway {
      let new = entries[key] ?? old
      entries[key] = new.record == nil && !old.isKnown ? nil : Entry(record: new.record, isKnown: old.isKnown)
    }
    underway = [:]
  }

  /// The number of changes that the next batch has.
  var count: Int { entries.count }
}
