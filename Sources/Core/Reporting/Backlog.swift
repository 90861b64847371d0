// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
package import Timekeeping

/// Positions that wait to be delivered, oldest first by their own time, bounded in number and age.
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
    /// The filter has overruled the time that it bears: it lies after the newest position's.
    case misdated
    /// The settings name another vehicle now.
    case otherVehicle
  }

  package private(set) var records: [Record] = []
  private var lastID: UInt64 = 0

  package init() {}

  package var isEmpty: Bool { records.isEmpty }
  package var count: Int { records.count }

  /// Whether a position of this time waits.
  package func holds(_ time: Timestamp) -> Bool {
    records.last { $0.location.time <= time }?.location.time == time
  }

  /// Puts a position where its time belongs, which is nearly always the end, and makes room.
  ///
  /// - Parameter limit: the most records to keep, 0 or more.
  package mutating func append(_ location: VehicleLocation, at now: BootInstant, limit: Int) -> [Change] {
    guard limit > 0 else { return [] }
    lastID += 1
    let record = Record(id: lastID, location: location, recordedAt: now)
    let place = records.lastIndex { $0.location.time <= location.time }.map { $0 + 1 } ?? 0
    records.insert(record, at: place)
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
    let there = records.filter { leaving.contains($0.id) }.map(\.id)
    guard !there.isEmpty else { return nil }
    records.removeAll { leaving.contains($0.id) }
    return .removed(there, reason)
  }

  /// Takes out what bears a time after `newest`: a receiver's wrong stamp, which the filter has overruled since.
  package mutating func overrule(after newest: Timestamp) -> Change? {
    guard let last = records.last, last.location.time > newest else { return nil }
    return remove(records.filter { $0.location.time > newest }.map(\.id), .misdated)
  }

  /// Takes out what has waited for longer than `age`.
  package mutating func expire(age: Duration, at now: BootInstant) -> Change? {
    guard let first = records.first, now - first.recordedAt > age else { return nil }
    return remove(records.filter { now - $0.recordedAt > age }.map(\.id), .expired)
  }
}
