// SPDX-License-Identifier: Apache-2.0
import PositionBacklog
import FleetEngine

/// Changes of the backlog that are not stored yet, collected for one commit.
///
/// A position that is added and removed between two commits is never written: without outages, nothing is written. Many
/// changes are written in batches, each of which is committed before the next one is made.
struct PendingWrites: Sendable {
  /// The number of writes after which a batch ends.
  static let batchSize = 4096

  /// The pending state of a key.
  private struct Entry {
    let id: Backlog.ID
    /// Nil: delete.
    var record: Backlog.Record?
    /// Whether the store may have a row for this key.
    var mayBeStored: Bool
  }

  /// By vehicle, in order of time: a dictionary of positions would need three times the memory. New positions are
  /// appended.
  private typealias Entries = [FleetEngineVehicle: [Entry]]

  /// Changes that are not in the current batch.
  private var entries: Entries = [:]
  /// The batch that is being written.
  private var inProgress: Entries = [:]
  /// Whether the current batch is only a part of what was pending.
  private(set) var isPartialBatch = false

  /// Whether nothing is pending except the current batch.
  var isEmpty: Bool { entries.values.allSatisfy(\.isEmpty) }

  mutating func add(_ change: Backlog.Change, of vehicle: FleetEngineVehicle) {
    switch change {
    case .added(let record): PendingWrites.put([record], mayBeStored: false, in: &entries[vehicle, default: []])
    // A record without a pending insert is in the store.
    case .changed(let records): PendingWrites.put(records, mayBeStored: true, in: &entries[vehicle, default: []])
    case .removed(let ids, _): PendingWrites.remove(ids, in: &entries[vehicle, default: []])
    }
  }

  private static func put(_ records: [Backlog.Record], mayBeStored: Bool, in list: inout [Entry]) {
    var new = [Entry]()
    for record in records {
      if let slot = slot(of: record.id, in: list) {
        list[slot].record = record
      } else {
        new.append(Entry(id: record.id, record: record, mayBeStored: mayBeStored))
      }
    }
    insert(new, in: &list)
  }

  private static func remove(_ ids: [Backlog.ID], in list: inout [Entry]) {
    var (new, hasUnwritten) = ([Entry](), false)
    for id in ids {
      guard let slot = slot(of: id, in: list) else {
        new.append(Entry(id: id, record: nil, mayBeStored: true))
        continue
      }
      list[slot].record = nil
      if !list[slot].mayBeStored { hasUnwritten = true }
    }
    if hasUnwritten { list.removeAll { $0.record == nil && !$0.mayBeStored } }
    insert(new, in: &list)
  }

  private static func slot(of id: Backlog.ID, in list: [Entry]) -> Int? {
    guard let last = list.last, id <= last.id else { return nil }
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if list[middle].id < id { low = middle + 1 } else { high = middle }
    }
    return list[low].id == id ? low : nil
  }

  /// - Parameter new: entries whose keys are not in the list.
  private static func insert(_ new: [Entry], in list: inout [Entry]) {
    let end = max(list.count, 1)
    if list.isEmpty { list = new } else { list.append(contentsOf: new) }
    // In nearly every call all of them are in order.
    let isInOrder = (end..<max(list.count, end)).allSatisfy { list[$0 - 1].id < list[$0].id }
    if !isInOrder { list.sort { $0.id < $1.id } }
  }

  /// The store is empty, and these records of the vehicle are in memory. Must not be called while a batch is being
  /// written.
  mutating func startOver(_ records: [Backlog.Record], of vehicle: FleetEngineVehicle) {
    entries = entries.mapValues { list in
      list.compactMap { $0.record == nil ? nil : Entry(id: $0.id, record: $0.record, mayBeStored: false) }
    }
    var list: [Entry] = []
    PendingWrites.insert(records.map { Entry(id: $0.id, record: $0, mayBeStored: false) }, in: &list)
    entries[vehicle] = list
  }

  /// Starts to write what is pending, or the first part of it; `written` or `notWritten` follows.
  ///
  /// - Returns: ordered by vehicle and time.
  mutating func beginBatch() -> [StoreAgent.Write] {
    inProgress = [:]
    var writes = [StoreAgent.Write]()
    let vehicles = entries.keys.sorted { one, other in
      (one.service.name, one.providerID, one.vehicleID) < (other.service.name, other.providerID, other.vehicleID)
    }
    for vehicle in vehicles where writes.count < PendingWrites.batchSize {
      let part = PendingWrites.removeFirst(PendingWrites.batchSize - writes.count, of: &entries[vehicle, default: []])
      inProgress[vehicle] = part
      writes += part.map { StoreAgent.Write(key: StoreAgent.Key(vehicle: vehicle, id: $0.id), record: $0.record) }
    }
    entries = entries.filter { !$0.value.isEmpty }
    isPartialBatch = !entries.isEmpty
    return writes
  }

  /// Removes and returns the first part of a list. The part does not end between thinned positions and the record with
  /// their interpolation error, unless there are very many of them.
  private static func removeFirst(_ count: Int, of list: inout [Entry]) -> [Entry] {
    var end = min(count, list.count)
    while end < min(2 * count, list.count), list[end - 1].record == nil { end += 1 }
    let part = Array(list[..<end])
    list.removeFirst(end)
    return part
  }

  /// The batch was committed.
  mutating func written() {
    inProgress = [:]
  }

  /// The batch was not committed. Later changes of the same keys take precedence.
  mutating func notWritten() {
    for (vehicle, old) in inProgress { entries[vehicle] = PendingWrites.merge(old, with: entries[vehicle] ?? []) }
    inProgress = [:]
  }

  private static func merge(_ old: [Entry], with new: [Entry]) -> [Entry] {
    var (merged, rest) = ([Entry](), new[...])
    merged.reserveCapacity(old.count + new.count)
    for entry in old {
      while let next = rest.first, next.id < entry.id { merged.append(rest.removeFirst()) }
      guard let next = rest.first, next.id == entry.id else {
        merged.append(entry)
        continue
      }
      rest.removeFirst()
      if next.record != nil || entry.mayBeStored {
        merged.append(Entry(id: entry.id, record: next.record, mayBeStored: entry.mayBeStored))
      }
    }
    return merged + rest
  }

  /// The number of changes that are not in the current batch.
  var count: Int { entries.values.reduce(0) { $0 + $1.count } }
}
