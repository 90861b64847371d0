// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
package import Timekeeping

/// Positions that wait to be delivered, oldest first, bounded in number and age.
///
/// Every change is also told as a `Change`, so that a store can keep a copy that outlives the process.
package struct Backlog: Equatable, Sendable {
  package struct Record: Equatable, Sendable {
    /// Rises with every record; never used twice in a run.
    package let id: UInt64
    package let location: VehicleLocation
    package let recordedAt: BootInstant
  }

  /// What a store has to follow.
  package enum Change: Equatable, Sendable {
    case added(Record)
    case removed([UInt64], Removal)
  }

  /// Why a record left.
  package enum Removal: String, Sendable, CaseIterable {
    /// The server acknowledged the request that carried it.
    case delivered
    /// The backlog was full, and it was the oldest.
    case full
    /// It was older than `max_age`.
    case expired
    /// The server refuses this very record.
    case refused
    /// The settings name another vehicle now.
    case otherVehicle
  }

  package private(set) var records: [Record] = []
  private var lastID: UInt64 = 0

  package init() {}

  package var isEmpty: Bool { records.isEmpty }
  package var count: Int { records.count }

  /// Puts a position at the end, and makes room.
  ///
  /// - Parameter limit: the most records to keep, 0 or more.
  package mutating func append(_ location: VehicleLocation, at now: BootInstant, limit: Int) -> [Change] {
    guard limit > 0 else { return [] }
    lastID += 1
    let record = Record(id: lastID, location: location, recordedAt: now)
    records.append(record)
    guard records.count > limit else { return [.added(record)] }
    return [.added(record), remove(records.prefix(records.count - limit).map(\.id), .full)].compactMap { $0 }
  }

  /// The oldest records from before `time`, at most `limit`.
  package func batch(before time: Timestamp, limit: Int) -> [Record] {
    guard limit > 0 else { return [] }
    return Array(records.lazy.filter { $0.location.time < time }.prefix(limit))
  }

  /// Takes records out; those that are not there do no harm.
  package mutating func remove(_ ids: [UInt64], _ reason: Removal) -> Change? {
    guard !ids.isEmpty else { return nil }
    let leaving = Set(ids)
    let before = records.count
    records.removeAll { leaving.contains($0.id) }
    return records.count == before ? nil : .removed(ids, reason)
  }

  /// Takes out what has waited for longer than `age`.
  package mutating func expire(age: Duration, at now: BootInstant) -> Change? {
    guard let first = records.first, now - first.recordedAt > age else { return nil }
    return remove(records.filter { now - $0.recordedAt > age }.map(\.id), .expired)
  }
}
