// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
package import Timekeeping

/// The queue of positions that Fleet Engine does not have yet, in the order of their timestamps, bounded in number and
/// age. The live position of the current request is part of it until it is delivered. When the queue is full, the track
/// is thinned; only if that is not possible is the oldest position dropped.
///
/// Every change is reported as a `Change`, so that a store can keep a persistent copy.
package struct Backlog: Equatable, Sendable {
  /// A position's timestamp: a vehicle is in one place at a time, so no two records have the same timestamp. It does
  /// not change at a restart.
  package typealias ID = Timestamp

  /// A queued position.
  package struct Record: Equatable, Sendable {
    /// The position as it is sent.
    package let location: VehicleLocation
    /// The interpolation error that thinning has accumulated on the segment that ends here, in metres, 0 or more.
    /// `infinity` marks a segment break: nothing between this record and the previous one is interpolated.
    package var interpolationError: Double

    package init(_ location: VehicleLocation, interpolationError: Double = 0) {
      self.location = location
      self.interpolationError = interpolationError
    }

    /// The position's timestamp, which is unique.
    package var id: ID { location.time }

    /// Whether this program can have stored it. Files are untrusted input.
    package var isPlausible: Bool {
      location.isPlausible
        && (interpolationError == .infinity || (0...TrackThinning.maximumError).contains(interpolationError))
    }
  }

  /// A change that a store has to persist.
  package enum Change: Equatable, Sendable {
    case added(Record)
    /// The interpolation errors of these records have changed; oldest first.
    case changed([Record])
    case removed([ID], Removal)
  }

  /// Why a record was removed.
  package enum Removal: String, Sendable, CaseIterable {
    /// The server acknowledged the request that carried it.
    case delivered
    /// The queue was full, and interpolation between the neighbours replaces it within ``Backlog/thinnedWithin``
    /// metres.
    case thinned
    /// The queue was full, nothing could be thinned, and it was the oldest.
    case full
    /// It was older than `max_age`, by the positions' timestamps.
    case expired
    /// The server rejects this record.
    case rejected = "refused"
    /// Its timestamp was wrong: later than the newest position's, or than the current time.
    case misdated
    /// The store's row is not a valid position.
    case damaged
  }

  /// In order of time, oldest first. Records before the index `head` have been removed, so that a removal at the front
  /// moves nothing.
  private var storage: [Record] = []
  private var head = 0
  /// The largest interpolation error of all thinning, of this run and of the restored track, in metres: the distance
  /// between a removed position and the interpolated one at its time. 0 if nothing was thinned.
  package private(set) var thinnedWithin = 0.0
  /// The number of records to append before thinning is tried again, after it has achieved little.
  private var thinningHoldOff = 0
  /// The next appended record starts a new segment: a position between it and the last record may have been delivered.
  private var startsNewSegment = false
  /// From the earliest to the last timestamp of delivered positions that were later than all positions queued at that
  /// moment: positions that are queued afterwards, but are earlier, are not thinned across the last one either.
  private var deliveredAfterQueue: ClosedRange<Timestamp>?

  /// The maximum of `max_locations`: more records than this are never held in memory.
  package static let maximumRecords = 100_000

  /// The bytes that count for a record, in the store's file or in memory. It is an upper bound for both, even for a
  /// fragmented file.
  package static let recordSize = 256

  package init() {}

  /// A copy of all records, oldest first.
  package var records: [Record] { head == 0 ? storage : Array(storage[head...]) }
  /// The oldest record; nil if the queue is empty.
  package var first: Record? { head < storage.count ? storage[head] : nil }
  /// Whether no position is queued.
  package var isEmpty: Bool { head == storage.count }
  /// The number of queued positions.
  package var count: Int { storage.count - head }

  /// The index in `storage` of the first record that is not before `time`.
  private func lowerBound(of time: Timestamp) -> Int {
    var (low, high) = (head, storage.count)
    // In most calls the result is the end.
    if let last = storage.last, last.location.time < time { low = high }
    while low < high {
      let middle = (low + high) / 2
      if storage[middle].location.time < time { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func index(of time: Timestamp) -> Int? {
    let slot = lowerBound(of: time)
    return slot < storage.count && storage[slot].location.time == time ? slot : nil
  }

  /// Whether a position with this timestamp is queued.
  package func contains(_ id: ID) -> Bool { index(of: id) != nil }

  /// The records that may be sent with a live position of `time`: earlier, and not older than `maxAge`; oldest first.
  ///
  /// - Returns: empty if there are none.
  package func sendable(before time: Timestamp, maxAge: Duration) -> ArraySlice<Record> {
    let (first, end) = (lowerBound(of: time - maxAge), lowerBound(of: time))
    return first < end ? storage[first..<end] : []
  }

  /// Inserts a position by its timestamp, nearly always at the end, and makes room. Ignored if its timestamp is queued
  /// already.
  ///
  /// - Parameter limit: the maximum number of records, 0 or more.
  package mutating func append(_ location: VehicleLocation, limit: Int) -> [Change] {
    guard limit > 0, let slot = insert(Record(location)) else { return [] }
    var broken = [Change]()
    if slot + 1 < storage.count, storage[slot + 1].interpolationError != 0 {
      // The thinned segment spans this record.
      storage[slot].interpolationError = .infinity
      broken = breakSegment(after: slot)
    }
    return [.added(storage[slot])] + broken + makeRoom(limit: limit)
  }

  /// Inserts the records of a store, and makes room. Records that are queued already remain unchanged.
  ///
  /// - Parameter limit: the maximum number of records, 0 or more.
  package mutating func restore(_ stored: [Record], limit: Int) -> [Change] {
    var (changes, last) = ([Change](), Int?.none)
    let isInOrder = zip(stored, stored.dropFirst()).allSatisfy { $0.id < $1.id }
    if isInOrder, isEmpty, let newest = stored.last?.id,
      !startsNewSegment || deliveredAfterQueue.map({ newest < $0.lowerBound }) ?? false
    {
      // At the start the queue is empty, and all that has been delivered is usually later than what is stored.
      (storage, head) = (stored, 0)
      thinnedWithin = stored.reduce(thinnedWithin) {
        $1.interpolationError < .infinity ? max($0, $1.interpolationError) : $0
      }
      startsNewSegment = true
      return makeRoom(limit: limit)
    }
    for record in isInOrder ? stored : stored.sorted(by: { $0.id < $1.id }) {
      guard let slot = insert(record) else { continue }
      // It is not known whether positions between these and the queued ones were delivered, or whether both are from
      // the same clock.
      if let last, last + 1 < slot { changes += breakSegment(after: last) }
      if slot > head, slot - 1 != last { storage[slot].interpolationError = .infinity }
      if storage[slot] != record { changes.append(.changed([storage[slot]])) }
      if record.interpolationError < .infinity { thinnedWithin = max(thinnedWithin, record.interpolationError) }
      last = slot
    }
    if let last {
      changes += breakSegment(after: last)
      if last + 1 == storage.count { startsNewSegment = true }
    }
    return changes + makeRoom(limit: limit)
  }

  /// - Returns: its index in `storage`; nil if its timestamp is queued already.
  private mutating func insert(_ record: Record) -> Int? {
    let slot = lowerBound(of: record.id)
    guard slot == storage.count || storage[slot].id != record.id else { return nil }
    storage.insert(record, at: slot)
    if slot + 1 == storage.count {
      if startsNewSegment { storage[slot].interpolationError = .infinity }
      startsNewSegment = deliveredAfterQueue.map { record.id < $0.upperBound } ?? false
    }
    return slot
  }

  /// Breaks the segment from the record at an index to the next one.
  private mutating func breakSegment(after slot: Int) -> [Change] {
    markSegmentBreak(after: slot).map { [.changed([$0])] } ?? []
  }

  /// Marks a segment break at the record after an index.
  ///
  /// - Returns: that record, if this changes it.
  private mutating func markSegmentBreak(after slot: Int) -> Record? {
    let next = slot + 1
    guard next < storage.count, storage[next].interpolationError < .infinity else { return nil }
    storage[next].interpolationError = .infinity
    return storage[next]
  }

  /// Thins to four fifths of the limit at once, so that the average work per record is small. Does nothing within the
  /// limit.
  ///
  /// - Parameter limit: the maximum number of records, 0 or more.
  package mutating func makeRoom(limit: Int) -> [Change] {
    guard count > limit else { return [] }
    var changes = [Change]()
    if thinningHoldOff > 0 {
      thinningHoldOff -= 1
    } else {
      changes += thin(to: max(limit / 5 * 4, 2))
      // If thinning achieves little, do not repeat it for each record.
      if count > limit - limit / 20 { thinningHoldOff = limit / 20 }
    }
    return changes + remove(from: head, to: head + max(count - limit, 0), .full)
  }

  private mutating func thin(to goal: Int) -> [Change] {
    let thinned = TrackThinning.thin(storage[head...], to: goal)
    guard thinned.count < count else { return [] }
    var (changed, removed) = ([Record](), [ID]())
    removed.reserveCapacity(count - thinned.count)
    // In place: a second copy of a large backlog would need as much memory again.
    var free = 0
    for (index, slot) in storage.indices[head...].enumerated() {
      guard !thinned.isRemoved[index] else {
        removed.append(storage[slot].id)
        continue
      }
      if storage[slot].interpolationError != thinned.interpolationError[index] {
        storage[slot].interpolationError = thinned.interpolationError[index]
        changed.append(storage[slot])
      }
      if free != slot { storage[free] = storage[slot] }
      free += 1
    }
    storage.removeLast(storage.count - free)
    head = 0
    thinnedWithin = max(thinnedWithin, thinned.error)
    return [.removed(removed, .thinned)] + (changed.isEmpty ? [] : [.changed(changed)])
  }

  /// A position of this time was delivered: nothing is thinned between the queued ones before and after it.
  package mutating func breakSegment(at delivered: Timestamp) -> [Change] {
    var slot = lowerBound(of: delivered)
    if slot < storage.count, storage[slot].id == delivered { slot += 1 }
    guard slot < storage.count else {
      deliveredAfterQueue = min(deliveredAfterQueue?.lowerBound ?? delivered, delivered)...delivered
      breakSegment()
      return []
    }
    return breakSegment(after: slot - 1)
  }

  /// The next position has a timestamp of another clock that may be corrected later: a new segment begins, and nothing
  /// between its first position and the last queued one is thinned.
  package mutating func breakSegment() { startsNewSegment = true }

  /// Removes records; unknown IDs are ignored. Removals at either end, such as delivered positions, move no other
  /// record.
  package mutating func remove(_ ids: [ID], _ reason: Removal) -> [Change] {
    var slots = [Int]()
    slots.reserveCapacity(ids.count)
    for slot in ids.compactMap({ index(of: $0) }).sorted() where slot != slots.last { slots.append(slot) }
    guard let last = slots.last else { return [] }
    let removed = slots.map { storage[$0].id }
    var changed = [Record]()
    // The predecessor of the record after a gap is gone: the segment to it can no longer be interpolated.
    for (index, slot) in slots.enumerated() where index + 1 == slots.count || slots[index + 1] != slot + 1 {
      if let record = markSegmentBreak(after: slot) { changed.append(record) }
    }
    if last + 1 == storage.count { startsNewSegment = true }
    let run = zip(slots, head...).prefix { $0 == $1 }.count
    head += run
    if run < slots.count {
      var (free, rest) = (slots[run], slots[run...])
      for slot in slots[run]..<storage.count {
        if slot == rest.first {
          rest.removeFirst()
        } else {
          storage[free] = storage[slot]
          free += 1
        }
      }
      storage.removeLast(storage.count - free)
    }
    compact()
    return [.removed(removed, reason)] + (changed.isEmpty ? [] : [.changed(changed)])
  }

  /// Removes a range of indices in `storage`.
  private mutating func remove(from first: Int, to end: Int, _ reason: Removal) -> [Change] {
    remove(storage[first..<end].map(\.id), reason)
  }

  /// Frees the memory of removed records once they outnumber the queued ones, so that each record is moved once on
  /// average.
  private mutating func compact() {
    guard head > count else { return }
    storage = Array(storage[head...])
    head = 0
  }

  /// Removes records with timestamps after `newest`, which were wrong.
  package mutating func removeMisdated(after newest: Timestamp) -> [Change] {
    forgetDelivered(after: newest)
    guard let last = storage.last, last.id > newest else { return [] }
    let first = index(of: newest).map { $0 + 1 } ?? lowerBound(of: newest)
    return remove(from: first, to: storage.count, .misdated)
  }

  /// The timestamp of a delivered position after `newest` was wrong, or may have been: the position no longer ends a
  /// segment.
  package mutating func forgetDelivered(after newest: Timestamp) {
    if let delivered = deliveredAfterQueue, delivered.upperBound > newest { deliveredAfterQueue = nil }
  }

  /// Removes records from before `time`.
  package mutating func expire(before time: Timestamp) -> [Change] {
    guard let first, first.id < time else { return [] }
    return remove(from: head, to: lowerBound(of: time), .expired)
  }

  /// Clears the queue without reporting a change: the store keeps the records in case the settings name the vehicle
  /// again.
  package mutating func forget() {
    (storage, head) = ([], 0)
    thinningHoldOff = 0
    thinnedWithin = 0
    startsNewSegment = false
    deliveredAfterQueue = nil
  }

  package static func == (left: Backlog, right: Backlog) -> Bool {
    left.storage[left.head...] == right.storage[right.head...] && left.thinnedWithin == right.thinnedWithin
      && left.thinningHoldOff == right.thinningHoldOff && left.startsNewSegment == right.startsNewSegment
      && left.deliveredAfterQueue == right.deliveredAfterQueue
  }
}
