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

  /// By vehicle, and then by its positions: a thinned backlog is ten thousand changes of one vehicle.
  private typealias Entries = [FleetEngineVehicle: [Backlog.ID: Entry]]

  /// What `batch` does not have yet.
  private var entries: Entries = [:]
  /// What is being written.
  private var underway: Entries = [:]

  /// Whether the store has everything but what is being written.
  var isEmpty: Bool { entries.values.allSatisfy(\.isEmpty) }

  mutating func follow(_ change: Backlog.Change, of vehicle: FleetEngineVehicle) {
    PendingWrites.follow(change, in: &entries[vehicle, default: [:]])
  }

  private static func follow(_ change: Backlog.Change, in entries: inout [Backlog.ID: Entry]) {
    switch change {
    case .added(let record): put(record, in: &entries)
    case .changed(let records):
      // What is not waiting to be written for the first time is in the store.
      for record in records { put(record, isKnown: true, in: &entries) }
    case .removed(let ids, _):
      for id in ids {
        if let entry = entries[id], entry.record != nil, !entry.isKnown {
          entries[id] = nil
        } else {
          entries[id] = Entry(record: nil, isKnown: true)
        }
      }
    }
  }

  private static func put(_ record: Backlog.Record, isKnown: Bool = false, in entries: inout [Backlog.ID: Entry]) {
    entries[record.id] = Entry(record: record, isKnown: entries[record.id]?.isKnown ?? isKnown)
  }

  /// The store begins empty, while these records of the vehicle are in memory. Not while something is being written.
  mutating func startOver(_ records: [Backlog.Record], of vehicle: FleetEngineVehicle) {
    entries[vehicle] = nil
    entries = entries.mapValues { entries in
      entries.filter { $0.value.record != nil }.mapValues { Entry(record: $0.record, isKnown: false) }
    }
    for record in records { follow(.added(record), of: vehicle) }
  }

  /// Begins to write everything: `written` or `notWritten` follows.
  ///
  /// - Returns: in the order of vehicles and times.
  mutating func batch() -> [StoreAgent.Write] {
    underway = entries
    entries = [:]
    let vehicles = underway.keys.sorted { one, other in
      (one.service.name, one.providerID, one.vehicleID) < (other.service.name, other.providerID, other.vehicleID)
    }
    return vehicles.flatMap { vehicle in
      (underway[vehicle] ?? [:]).sorted { $0.key < $1.key }.map { id, entry in
        StoreAgent.Write(key: StoreAgent.Key(vehicle: vehicle, id: id), record: entry.record)
      }
    }
  }

  /// All of the batch is in the store.
  mutating func written() {
    underway = [:]
  }

  /// Nothing of the batch is in the store. What has changed since comes in its place.
  mutating func notWritten() {
    for (vehicle, old) in underway {
      entries[vehicle, default: [:]].merge(old) { new, old in Entry(record: new.record, isKnown: old.isKnown) }
      for (id, old) in old where !old.isKnown && entries[vehicle]?[id]?.record == nil { entries[vehicle]?[id] = nil }
    }
    underway = [:]
  }

  /// The number of changes that the next batch has.
  var count: Int { entries.values.reduce(0) { $0 + $1.count } }
}
