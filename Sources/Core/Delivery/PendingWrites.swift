// SPDX-License-Identifier: Apache-2.0
import FleetEngine

/// Changes of the backlog that are not stored yet, collected for one commit.
///
/// A position that is added and removed in between is never written: without outages, nothing is.
struct PendingWrites: Sendable {
  /// The pending state of a key.
  private struct Entry {
    /// Nil: delete.
    var record: Backlog.Record?
    /// Whether the store may have a row for this key.
    var isKnown: Bool
  }

  /// By vehicle and position: thinning a backlog makes ten thousand changes of one vehicle.
  private typealias Entries = [FleetEngineVehicle: [Backlog.ID: Entry]]

  /// Changes that are not in `batch`.
  private var entries: Entries = [:]
  /// The batch that is being written.
  private var inProgress: Entries = [:]

  /// Whether nothing is pending except the current batch.
  var isEmpty: Bool { entries.values.allSatisfy(\.isEmpty) }

  mutating func add(_ change: Backlog.Change, of vehicle: FleetEngineVehicle) {
    PendingWrites.add(change, in: &entries[vehicle, default: [:]])
  }

  private static func add(_ change: Backlog.Change, in entries: inout [Backlog.ID: Entry]) {
    switch change {
    case .added(let record): put(record, in: &entries)
    case .changed(let records):
      // A record without a pending insert is in the store.
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

  /// The store is empty, while these records of the vehicle are in memory. Must not be called while a batch is written.
  mutating func startOver(_ records: [Backlog.Record], of vehicle: FleetEngineVehicle) {
    entries[vehicle] = nil
    entries = entries.mapValues { entries in
      entries.filter { $0.value.record != nil }.mapValues { Entry(record: $0.record, isKnown: false) }
    }
    for record in records { add(.added(record), of: vehicle) }
  }

  /// Starts to write everything; `written` or `notWritten` follows.
  ///
  /// - Returns: ordered by vehicle and time.
  mutating func batch() -> [StoreAgent.Write] {
    inProgress = entries
    entries = [:]
    let vehicles = inProgress.keys.sorted { one, other in
      (one.service.name, one.providerID, one.vehicleID) < (other.service.name, other.providerID, other.vehicleID)
    }
    return vehicles.flatMap { vehicle in
      (inProgress[vehicle] ?? [:]).sorted { $0.key < $1.key }.map { id, entry in
        StoreAgent.Write(key: StoreAgent.Key(vehicle: vehicle, id: id), record: entry.record)
      }
    }
  }

  /// The batch was committed.
  mutating func written() {
    inProgress = [:]
  }

  /// The batch was not committed. Later changes of the same keys take precedence.
  mutating func notWritten() {
    for (vehicle, old) in inProgress {
      entries[vehicle, default: [:]].merge(old) { new, old in Entry(record: new.record, isKnown: old.isKnown) }
      for (id, old) in old where !old.isKnown && entries[vehicle]?[id]?.record == nil { entries[vehicle]?[id] = nil }
    }
    inProgress = [:]
  }

  /// The number of changes in the next batch.
  var count: Int { entries.values.reduce(0) { $0 + $1.count } }
}
