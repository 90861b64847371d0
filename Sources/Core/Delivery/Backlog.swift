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

  /// A position that waits, and what thinning has made of its surroundings.
  package struct Record: Equatable, Sendable {
    /// The position as it goes into a request.
    package let location: VehicleLocation
    /// What thinning has spent on the way to it from the record before it: metres, 0 or more. `infinity`: those two are not
    /// the ends of one way, and nothing is thinned between them and their neighbours.
    package var spent: Double

    package init(_ location: VehicleLocation, spent: Double = 0) {
      self.location = location
      self.spent = spent
    }

    /// The position's time: no two of a vehicle bear the same.
    package var id: ID { location.time }
  }

  /// What a store has to follow.
  package enum Change: Equatable, Sendable {
    case added(Record)
    /// What was spent on the way to these is another now; oldest first.
    case changed([Record])
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

  /// By time, oldest first.
  package private(set) var records: [Record] = []
  /// The largest error of all that was thinned in this run, and before it of the track that waits: metres between a position
  /// that is gone and where its neighbours put it at its time. 0 as long as nothing was.
  package private(set) var thinnedWithin = 0.0
  /// Records to come before thinning is tried again, after it has found little to take.
  private var patience = 0
  /// Whether a position after the last record is known elsewhere, so that the way to the next record is not this track's.
  private var isParted = false

  /// Bytes that are reckoned for a record, in a store's file or in memory: there they are fewer, and in a file too, however
  /// thinly deletions have left its pages.
  package static let recordSize = 256

  package init() {}

  /// Whether nothing waits.
  package var isEmpty: Bool { records.isEmpty }
  /// How many positions wait.
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
    guard limit > 0, let place = insert(Record(location)) else { return [] }
    let (record, parted) = (records[place], partAfter(place))
    return [.added(record)] + parted + makeRoom(limit: limit)
  }

  /// Takes what a store has held, and makes room. What is held already stays as it is.
  ///
  /// - Parameter limit: the most records to keep, 0 or more.
  package mutating func restore(_ stored: [Record], limit: Int) -> [Change] {
    var (changes, before, isLast) = ([Change](), ID?.none, false)
    for record in stored.sorted(by: { $0.id < $1.id }) {
      defer { before = record.id }
      guard let place = insert(record) else { continue }
      // The way that was thinned began elsewhere.
      if place > 0, records[place - 1].id != before, record.spent != 0 { records[place].spent = .infinity }
      if records[place] != record { changes.append(.changed([records[place]])) }
      changes += partAfter(place)
      if record.spent < .infinity { thinnedWithin = max(thinnedWithin, record.spent) }
      isLast = place + 1 == records.count
    }
    // What has arrived after the last of them nobody knows.
    if isLast { isParted = true }
    return changes + makeRoom(limit: limit)
  }

  /// - Returns: its index; nil where its time is held.
  private mutating func insert(_ record: Record) -> Int? {
    let place = records.lastIndex { $0.id <= record.id }.map { $0 + 1 } ?? 0
    guard place == 0 || records[place - 1].id != record.id else { return nil }
    records.insert(record, at: place)
    if place + 1 == records.count {
      if isParted { records[place].spent = .infinity }
      isParted = false
    } else if records[place + 1].spent != 0 {
      // The way that was thinned led past this one.
      records[place].spent = .infinity
    }
    return place
  }

  /// The record after one that was inserted: a way to it that was thinned led past that one.
  private mutating func partAfter(_ place: Int) -> [Change] {
    let next = place + 1
    guard next < records.count, records[next].spent != 0, records[next].spent < .infinity else { return [] }
    records[next].spent = .infinity
    return [.changed([records[next]])]
  }

  /// Thins to four fifths of the limit at once, so that the work for each record stays small.
  private mutating func makeRoom(limit: Int) -> [Change] {
    guard records.count > limit else { return [] }
    var changes = [Change]()
    if patience > 0 {
      patience -= 1
    } else {
      changes += thin(to: max(limit / 5 * 4, 2))
      // Where it finds little it is not tried for each record again.
      if records.count > limit - limit / 20 { patience = limit / 20 }
    }
    return changes + remove(records.prefix(max(records.count - limit, 0)).map(\.id), .full)
  }

  private mutating func thin(to goal: Int) -> [Change] {
    var thinning = TrackThinning(records.map(\.location), spent: records.map(\.spent))
    thinning.thin(to: goal)
    guard thinning.count < records.count else { return [] }
    var (kept, changed, removed) = ([Record](), [Record](), [ID]())
    kept.reserveCapacity(thinning.count)
    for (index, var record) in records.enumerated() {
      guard !thinning.isRemoved[index] else {
        removed.append(record.id)
        continue
      }
      if record.spent != thinning.spent[index] {
        record.spent = thinning.spent[index]
        changed.append(record)
      }
      kept.append(record)
    }
    records = kept
    thinnedWithin = max(thinnedWithin, thinning.error)
    return [.removed(removed, .thinned)] + (changed.isEmpty ? [] : [.changed(changed)])
  }

  /// A position that is newer than all of these has been delivered: the track goes on from there.
  package mutating func part() { isParted = true }

  /// Takes records out; those that are not there do no harm.
  package mutating func remove(_ ids: [ID], _ reason: Removal) -> [Change] {
    guard !ids.isEmpty else { return [] }
    let leaving = Set(ids)
    var (kept, there, changed) = ([Record](), [ID](), [Record]())
    kept.reserveCapacity(records.count)
    var isAfterHole = false
    for var record in records {
      guard !leaving.contains(record.id) else {
        there.append(record.id)
        isAfterHole = true
        continue
      }
      // What stood before it is elsewhere now: the way to it is no longer this track's to thin.
      if isAfterHole, record.spent < .infinity {
        record.spent = .infinity
        changed.append(record)
      }
      isAfterHole = false
      kept.append(record)
    }
    guard !there.isEmpty else { return [] }
    if isAfterHole { isParted = true }
    records = kept
    return [.removed(there, reason)] + (changed.isEmpty ? [] : [.changed(changed)])
  }

  /// Takes out what bears a time after `newest`: a receiver's wrong stamp, which the filter has overruled since.
  package mutating func overrule(after newest: Timestamp) -> [Change] {
    guard let last = records.last, last.id > newest else { return [] }
    return remove(records.filter { $0.id > newest }.map(\.id), .misdated)
  }

  /// Takes out what is from before `time`.
  package mutating func expire(before time: Timestamp) -> [Change] {
    guard let first = records.first, first.id < time else { return [] }
    return remove(records.prefix { $0.id < time }.map(\.id), .expired)
  }

  /// Forgets all without a change to follow: the store keeps it for the vehicle's return.
  package mutating func forget() {
    records = []
    patience = 0
    isParted = false
  }
}
