// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
package import Timekeeping

/// Positions that are owed to Fleet Engine, oldest first by their own time, bounded in number and age. The one that is
/// on its way is among them until it has arrived. When it is full the track is thinned; only where that is not possible the
/// oldest goes.
///
/// Every change is also told as a `Change`, so that a store can keep a copy that outlives the process.
package struct Backlog: Equatable, Sendable {
  /// The time that a position bears: a vehicle is in one place at a time, so no two records have the same. Nothing else
  /// means the same before and after a restart.
  package typealias ID = Timestamp

  package struct Record: Equatable, Sendable {
    package let location: VehicleLocation

    package init(_ location: VehicleLocation) {
      self.location = location
    }

    package var id: ID { location.time }
  }

  /// What a store has to follow.
  package enum Change: Equatable, Sendable {
    case added(Record)
    case removed([ID], Removal)
  }

  /// Why a record left.
  package enum Removal: String, Sendable, CaseIterable {
    /// The server acknowledged the request that carried it.
    case delivered
    /// The backlog was full, and the way past it is told by its neighbours, within ``Backlog/thinnedWithin`` metres.
    case thinned
    /// The backlog was full, nothing could be thinned, and it was the oldest.
    case full
    /// It was older than `max_age`, by the positions' own time.
    case expired
    /// The server refuses this very record.
    case refused
    /// The filter has overruled the time that it bears: it lies after the newest position's.
    case misdated
  }

  package private(set) var records: [Record] = []
  /// The largest error of all that was thinned in this run: metres between a position that is gone and where its neighbours
  /// put it at its time. 0 as long as nothing was.
  package private(set) var thinnedWithin = 0.0
  /// By record: what thinning has spent on the way to it from the record before it, as in ``TrackThinning/spent``.
  private var spent: [ID: Double] = [:]
  /// Records to come before thinning is tried again, after it has found little to take.
  private var patience = 0
  /// Whether a position after the last record is known elsewhere, so that the way to the next record is not this track's.
  private var isParted = false

  /// Bytes that are reckoned for a record, in a store's file or in memory: there they are fewer, and in a file too, however
  /// thinly deletions have left its pages.
  package static let recordSize = 256

  package init() {}

  package var isEmpty: Bool { records.isEmpty }
  package var count: Int { records.count }

  /// Whether a position of this time waits.
  package func holds(_ time: Timestamp) -> Bool {
    records.last { $0.location.time <= time }?.location.time == time
  }

  /// Those that may be sent along with a position of `time`: from before it, and not older than `age`; oldest first.
  ///
  /// - Returns: nothing where nothing may.
  package func sendable(before time: Timestamp, age: Duration) -> ArraySlice<Record> {
    let oldest = time - age
    let first = records.firstIndex { $0.location.time >= oldest } ?? records.endIndex
    let last = records.lastIndex { $0.location.time < time } ?? records.startIndex - 1
    return first <= last ? records[first...last] : []
  }

  /// Puts a position where its time belongs, which is nearly always the end, and makes room. One whose time is held already
  /// is not put.
  ///
  /// - Parameter limit: the most records to keep, 0 or more.
  package mutating func append(_ location: VehicleLocation, limit: Int) -> [Change] {
    guard limit > 0 else { return [] }
    let record = Record(location)
    guard insert(record) else { return [] }
    return [.added(record)] + makeRoom(limit: limit)
  }

  /// Takes what a store has held, and makes room. What is held already stays as it is.
  ///
  /// - Parameter limit: the most records to keep, 0 or more.
  package mutating func restore(_ stored: [Record], limit: Int) -> [Change] {
    for record in stored.sorted(by: { $0.id < $1.id }) { _ = insert(record) }
    return makeRoom(limit: limit)
  }

  private mutating func insert(_ record: Record) -> Bool {
    let place = records.lastIndex { $0.id <= record.id }.map { $0 + 1 } ?? 0
    guard place == 0 || records[place - 1].id != record.id else { return false }
    records.insert(record, at: place)
    if place + 1 < records.count {
      // The way that was thinned led past this one.
      if spent[records[place + 1].id] != nil { part(at: place, place + 1) }
    } else if isParted {
      part(at: place)
      isParted = false
    }
    return true
  }

  /// Thins to four fifths of the limit at once, so that the work for each record stays small.
  private mutating func makeRoom(limit: Int) -> [Change] {
    guard records.count > limit else { return [] }
    var changes = [Change]()
    if patience > 0 {
      patience -= 1
    } else {
      if let change = thin(to: max(limit / 5 * 4, 2)) { changes.append(change) }
      // Where it finds little it is not tried for each record again.
      if records.count > limit - limit / 20 { patience = limit / 20 }
    }
    if let change = remove(records.prefix(max(records.count - limit, 0)).map(\.id), .full) { changes.append(change) }
    return changes
  }

  private mutating func thin(to goal: Int) -> Change? {
    var thinning = TrackThinning(records.map(\.location), spent: records.map { spent[$0.id] ?? 0 })
    thinning.thin(to: goal)
    guard thinning.count < records.count else { return nil }
    var (kept, removed) = ([Record](), [ID]())
    kept.reserveCapacity(thinning.count)
    spent.removeAll(keepingCapacity: true)
    for (index, record) in records.enumerated() {
      if thinning.isRemoved[index] {
        removed.append(record.id)
      } else {
        if thinning.spent[index] > 0 { spent[record.id] = thinning.spent[index] }
        kept.append(record)
      }
    }
    records = kept
    thinnedWithin = max(thinnedWithin, thinning.error)
    return .removed(removed, .thinned)
  }

  /// The ways to these records cannot be interpolated, and are not thinned.
  private mutating func part(at indices: Int...) {
    for index in indices { spent[records[index].id] = .infinity }
  }

  /// A position that is newer than all of these has been delivered: the track goes on from there.
  package mutating func part() { isParted = true }

  /// Takes records out; those that are not there do no harm.
  package mutating func remove(_ ids: [ID], _ reason: Removal) -> Change? {
    guard !ids.isEmpty else { return nil }
    let leaving = Set(ids)
    var there = [ID]()
    var isAfterHole = false
    for record in records {
      if leaving.contains(record.id) {
        there.append(record.id)
        spent[record.id] = nil
        isAfterHole = true
      } else {
        // What stood before it is elsewhere now: the way to it is no longer this track's to thin.
        if isAfterHole { spent[record.id] = .infinity }
        isAfterHole = false
      }
    }
    guard !there.isEmpty else { return nil }
    if isAfterHole { isParted = true }
    records.removeAll { leaving.contains($0.id) }
    return .removed(there, reason)
  }

  /// Takes out what bears a time after `newest`: a receiver's wrong stamp, which the filter has overruled since.
  package mutating func overrule(after newest: Timestamp) -> Change? {
    guard let last = records.last, last.id > newest else { return nil }
    return remove(records.filter { $0.id > newest }.map(\.id), .misdated)
  }

  /// Takes out what is from before `time`.
  package mutating func expire(before time: Timestamp) -> Change? {
    guard let first = records.first, first.id < time else { return nil }
    return remove(records.prefix { $0.id < time }.map(\.id), .expired)
  }

  /// Forgets all without a change to follow: the store keeps it for the vehicle's return.
  package mutating func forget() {
    records = []
    spent = [:]
    patience = 0
    isParted = false
  }
}
