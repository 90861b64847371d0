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

    /// Whether this program can have stored it. What a file holds is not to be trusted.
    package var isPlausible: Bool {
      location.isPlausible && (spent == .infinity || (0...TrackThinning.largestError).contains(spent))
    }
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
    /// The store's file holds what no position can be.
    case damaged
  }

  /// By time, oldest first; the first `gone` of them have left. So a removal at the front costs what it removes, and moves
  /// nothing.
  private var storage: [Record] = []
  private var gone = 0
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

  /// All of them, oldest first: a copy.
  package var records: [Record] { Array(storage[gone...]) }
  /// The oldest; nil when nothing waits.
  package var first: Record? { gone < storage.count ? storage[gone] : nil }
  /// Whether nothing waits.
  package var isEmpty: Bool { gone == storage.count }
  /// How many positions wait.
  package var count: Int { storage.count - gone }

  /// Whether a position of this time waits.
  package func holds(_ time: Timestamp) -> Bool { index(of: time) != nil }

  /// The first record that is not before `time`, by its place in `storage`.
  private func place(of time: Timestamp) -> Int {
    var (low, high) = (gone, storage.count)
    // Most often it is the end that is asked for.
    if let last = storage.last, last.location.time < time { low = high }
    while low < high {
      let middle = (low + high) / 2
      if storage[middle].location.time < time { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func index(of time: Timestamp) -> Int? {
    let place = place(of: time)
    return place < storage.count && storage[place].location.time == time ? place : nil
  }

  /// Whether a position of this time is kept.
  package func contains(_ id: ID) -> Bool { index(of: id) != nil }

  /// Those that may be sent along with a position of `time`: from before it, and not older than `age`; oldest first.
  ///
  /// - Returns: nothing where nothing may.
  package func sendable(before time: Timestamp, age: Duration) -> ArraySlice<Record> {
    let (first, end) = (place(of: time - age), place(of: time))
    return first < end ? storage[first..<end] : []
  }

  /// Puts a position where its time belongs, which is nearly always the end, and makes room. One whose time is held already
  /// is not put.
  ///
  /// - Parameter limit: the most records to keep, 0 or more.
  package mutating func append(_ location: VehicleLocation, limit: Int) -> [Change] {
    guard limit > 0, let place = insert(Record(location)) else { return [] }
    let (record, parted) = (storage[place], partAfter(place))
    return [.added(record)] + parted + makeRoom(limit: limit)
  }

  /// Takes what a store has held, and makes room. What is held already stays as it is.
  ///
  /// - Parameter limit: the most records to keep, 0 or more.
  package mutating func restore(_ stored: [Record], limit: Int) -> [Change] {
    var (changes, before, isLast) = ([Change](), ID?.none, false)
    let isInOrder = zip(stored, stored.dropFirst()).allSatisfy { $0.id < $1.id }
    if isInOrder, isEmpty, !isParted, !stored.isEmpty {
      // At the start, when all is as it was.
      (storage, gone) = (stored, 0)
      thinnedWithin = stored.reduce(thinnedWithin) { $1.spent < .infinity ? max($0, $1.spent) : $0 }
      isParted = true
      return makeRoom(limit: limit)
    }
    for record in isInOrder ? stored : stored.sorted(by: { $0.id < $1.id }) {
      defer { before = record.id }
      guard let place = insert(record) else { continue }
      // The way that was thinned began elsewhere.
      if place > gone, storage[place - 1].id != before, record.spent != 0 { storage[place].spent = .infinity }
      if storage[place] != record { changes.append(.changed([storage[place]])) }
      changes += partAfter(place)
      if record.spent < .infinity { thinnedWithin = max(thinnedWithin, record.spent) }
      isLast = place + 1 == storage.count
    }
    // What has arrived after the last of them nobody knows.
    if isLast { isParted = true }
    return changes + makeRoom(limit: limit)
  }

  /// - Returns: its place in `storage`; nil where its time is held.
  private mutating func insert(_ record: Record) -> Int? {
    let place = place(of: record.id)
    guard place == storage.count || storage[place].id != record.id else { return nil }
    storage.insert(record, at: place)
    if place + 1 == storage.count {
      if isParted { storage[place].spent = .infinity }
      isParted = false
    } else if storage[place + 1].spent != 0 {
      // The way that was thinned led past this one.
      storage[place].spent = .infinity
    }
    return place
  }

  /// The record after one that was inserted: a way to it that was thinned led past that one.
  private mutating func partAfter(_ place: Int) -> [Change] {
    guard place + 1 < storage.count, storage[place + 1].spent != 0 else { return [] }
    return cutAfter(place).map { [.changed([$0])] } ?? []
  }

  /// Nothing is thinned any more on the way to the record after a place.
  ///
  /// - Returns: that record, where this changes it.
  private mutating func cutAfter(_ place: Int) -> Record? {
    let next = place + 1
    guard next < storage.count, storage[next].spent < .infinity else { return nil }
    storage[next].spent = .infinity
    return storage[next]
  }

  /// Thins to four fifths of the limit at once, so that the work for each record stays small. Does nothing within the limit.
  ///
  /// - Parameter limit: the most records to keep, 0 or more.
  package mutating func makeRoom(limit: Int) -> [Change] {
    guard count > limit else { return [] }
    var changes = [Change]()
    if patience > 0 {
      patience -= 1
    } else {
      changes += thin(to: max(limit / 5 * 4, 2))
      // Where it finds little it is not tried for each record again.
      if count > limit - limit / 20 { patience = limit / 20 }
    }
    return changes + remove(from: gone, to: gone + max(count - limit, 0), .full)
  }

  private mutating func thin(to goal: Int) -> [Change] {
    let records = storage[gone...]
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
    (storage, gone) = (kept, 0)
    thinnedWithin = max(thinnedWithin, thinning.error)
    return [.removed(removed, .thinned)] + (changed.isEmpty ? [] : [.changed(changed)])
  }

  /// A position that is newer than all of these has been delivered, or the next is dated by another clock and may be taken
  /// back: a new segment begins, and nothing is thinned between its first position and the last of these.
  package mutating func part() { isParted = true }

  /// Takes records out; those that are not there do no harm. Where they are the oldest, as those that were delivered are, and
  /// the newest, the others stay where they are.
  package mutating func remove(_ ids: [ID], _ reason: Removal) -> [Change] {
    var places = [Int]()
    places.reserveCapacity(ids.count)
    for place in ids.compactMap({ index(of: $0) }).sorted() where place != places.last { places.append(place) }
    guard let last = places.last else { return [] }
    let removed = places.map { storage[$0].id }
    var changed = [Record]()
    // What stood before the record after a hole is elsewhere now: the way to it is no longer this track's to thin.
    for (index, place) in places.enumerated() where index + 1 == places.count || places[index + 1] != place + 1 {
      if let record = cutAfter(place) { changed.append(record) }
    }
    if last + 1 == storage.count { isParted = true }
    let run = zip(places, gone...).prefix { $0 == $1 }.count
    gone += run
    if run < places.count {
      var (free, rest) = (places[run], places[run...])
      for place in places[run]..<storage.count {
        if place == rest.first {
          rest.removeFirst()
        } else {
          storage[free] = storage[place]
          free += 1
        }
      }
      storage.removeLast(storage.count - free)
    }
    letGo()
    return [.removed(removed, reason)] + (changed.isEmpty ? [] : [.changed(changed)])
  }

  /// Takes out a range of places in `storage`.
  private mutating func remove(from first: Int, to end: Int, _ reason: Removal) -> [Change] {
    remove(storage[first..<end].map(\.id), reason)
  }

  /// Gives back the memory of what has left, once it is more than what waits: so each record is moved once, on average.
  private mutating func letGo() {
    guard gone > count else { return }
    storage = Array(storage[gone...])
    gone = 0
  }

  /// Takes out what bears a time after `newest`: a receiver's wrong stamp, which the filter has overruled since.
  package mutating func overrule(after newest: Timestamp) -> [Change] {
    guard let last = storage.last, last.id > newest else { return [] }
    let first = index(of: newest).map { $0 + 1 } ?? place(of: newest)
    return remove(from: first, to: storage.count, .misdated)
  }

  /// Takes out what is from before `time`.
  package mutating func expire(before time: Timestamp) -> [Change] {
    guard let first, first.id < time else { return [] }
    return remove(from: gone, to: place(of: time), .expired)
  }

  /// Forgets all without a change to follow: the store keeps it for the vehicle's return.
  package mutating func forget() {
    (storage, gone) = ([], 0)
    patience = 0
    isParted = false
  }

  package static func == (left: Backlog, right: Backlog) -> Bool {
    left.storage[left.gone...] == right.storage[right.gone...] && left.thinnedWithin == right.thinnedWithin
      && left.patience == right.patience && left.isParted == right.isParted
  }
}
