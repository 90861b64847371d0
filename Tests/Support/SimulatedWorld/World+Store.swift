// SPDX-License-Identifier: Apache-2.0
import Delivery
import Authorization
import Connectivity
import Daemon
import PositionBacklog
import Vehicle
import FleetEngine
import HTTPMessages
import Timekeeping

/// The store's file on disk, which is lost only if it is damaged or deleted.
struct Disk {
  struct Key: Hashable {
    var vehicle: String
    var id: Backlog.ID
  }

  /// The default commit interval: a power cut may lose the positions of this period.
  static let commitInterval = Duration.seconds(5)
  /// The default commit interval in a long outage of the network.
  static let commitIntervalInOutage = Duration.seconds(60)

  /// The times before which everything recorded is on disk: usually, and for positions recorded in a long outage.
  struct WrittenUntil {
    var usual: BootInstant
    var inOutage: BootInstant

    static let never = WrittenUntil(usual: .boot, inOutage: .boot)
  }

  fileprivate(set) var held: [String: [Backlog.ID: Backlog.Record]] = [:]
  /// The number of times that the file was set aside and replaced with an empty one.
  fileprivate(set) var setAside = 0
  /// The number of times that the file was deleted.
  fileprivate(set) var deletions = 0
  /// The vehicle's records in the deleted file, until the daemon has noticed the deletion: only its memory has them.
  fileprivate(set) var missing: Set<Key> = []
}

/// The file that the daemon has open; a power cut closes it.
struct OpenFile {
  /// The times before which everything was on disk when the disk failed; nil while the disk works.
  var troubledSince: Disk.WrittenUntil?
  /// The disk's number of deletions when the file was last opened; nil before the first opening.
  fileprivate var openedAfter: Int?
}

/// Whether the daemon considers servers reachable.
struct Reach {
  /// The time since which no server has been reached; nil if the last attempt reached one.
  private var unreachedSince: BootInstant?
  /// When the last long outage ended.
  private(set) var outageEndedAt: BootInstant?

  /// Whether changes may stay in memory for longer: no server has been reached for two minutes.
  func isInLongOutage(at now: BootInstant) -> Bool { unreachedSince.map { now - $0 >= .seconds(120) } ?? false }

  /// Records an input that the daemon gets next.
  mutating func note(_ input: VehicleAgent.Input, at now: BootInstant) {
    switch input {
    case .updateEnded(_, .response):
      if isInLongOutage(at: now) { outageEndedAt = now }
      unreachedSince = nil
    case .updateEnded(_, .failure(let failure)) where failure.isOfNetwork: unreachedSince = unreachedSince ?? now
    case .tokenEnded(_, .http(.failure)): unreachedSince = unreachedSince ?? now
    case .network(let state) where !state.isUsable: unreachedSince = unreachedSince ?? now
    default: break
    }
  }
}

extension TransportFailure {
  fileprivate var isOfNetwork: Bool {
    switch kind {
    case .unresolved, .unreachable, .refused, .timedOut, .broken, .unprocessed, .unanswered, .local: true
    default: false
    }
  }
}

extension World {
  /// All pending positions, by vehicle.
  var pending: [String: [Backlog.ID: Backlog.Record]] {
    unrestored.merging([vehicle: copy]) { $0.merging($1) { $1 } }
  }

  /// At the end of the run all pending changes are on disk, if possible, and only then does the journal say that they
  /// are stored.
  func checkClosedStore() {
    if let ending, ending.isStored {
      let missing = copy.keys.count { disk.held[vehicle]?[$0] == nil }
      if missing > 0 || ending.undelivered != copy.count {
        violate("\(ending.undelivered) positions count as stored: \(copy.count), of them \(missing) not on disk")
      }
    }
    guard openFile.troubledSince == nil else { return }
    let missing = (pending[vehicle] ?? [:]).keys.filter { disk.held[vehicle]?[$0] == nil }
    if !missing.isEmpty { violate("\(missing.count) positions are not on disk at the end") }
  }

  /// This memory of the backlog is about to end.
  func noteThinning(in vehicle: VehicleAgent) {
    thinnedWithin = max(thinnedWithin, vehicle.delivery.backlog.thinnedWithin)
  }

  /// Checks that all stored positions are restored.
  func restore(_ records: [Backlog.Record]) {
    let known = Set(records.map(\.id))
    for id in (unrestored[vehicle] ?? [:]).keys where !known.contains(id) {
      violate("the store has lost the position of \(id.rfc3339) of \(vehicle)")
    }
    unrestored[vehicle] = nil
    for record in records where copy[record.id] == nil { copy[record.id] = record }
  }

  // MARK: - Collected changes

  /// The position that was queued in this step and must be on disk at once even in a long outage: the first one after
  /// the vehicle has parked.
  ///
  /// - Parameter before: the timestamp of the position that had been reported last before this step.
  func stopPosition(reportedBefore before: Timestamp?) -> Backlog.ID? {
    var stop: Backlog.ID?
    // A burst of fixes is one step: the vehicle may have parked after a report within the burst.
    for (message, _, isParked) in messages {
      guard case .fromVehicle(let effect) = message else { continue }
      switch effect {
      case .backlog(.added(let record)): if isParked, wasParked == false { stop = record.id }
      case .sendUpdate: break
      default: continue
      }
      wasParked = isParked
    }
    // A position whose timestamp a clock that was ahead has given to another one is not queued again: its fix may be
    // the last message of this step.
    if stop == nil, wasParked == false, settled?.isParked == true, let reported = settled?.reported?.time,
      reported != before, copy[reported] != nil
    {
      if messages.allSatisfy(\.isParked) { stop = reported }
      wasParked = true
    }
    return scenario.commitInterval == nil && reach.isInLongOutage(at: now) ? stop : nil
  }

  /// The position of a stop in a long outage is on disk at once, if possible, unless the full backlog has dropped it in
  /// the same step.
  func checkStop() {
    defer { newStop = nil }
    guard let newStop, copy[newStop] != nil, !isOff, openFile.troubledSince == nil,
      disk.held[vehicle]?[newStop] == nil
    else { return }
    violate("the place of a stop in a long outage is not on disk")
  }

  // MARK: - The file

  func run(_ operation: StoreAgent.Operation) -> StoreAgent.Outcome? {
    var (isFull, isFailing, isDamaged) = (false, false, false)
    for fault in scenario.faults where fault.place == .disk && fault.isActive(at: second) {
      coverage.faults.cover(FaultCase(fault.kind))
      switch fault.kind {
      case .diskFull: isFull = true
      case .diskFails: isFailing = true
      case .diskDamaged: isDamaged = !damages.contains(fault.from)
      case .diskDeleted:
        guard damages.insert(fault.from).inserted else { break }
        deleteStore()
      default: break
      }
      if isDamaged { damages.insert(fault.from) }
    }
    if case .close = operation { return nil }
    guard !isFailing else { return fail(.other, "an input or output error") }
    if let trouble = installation.directoryTrouble {
      if case .commit = operation {} else { return fail(.other, trouble) }
    }
    switch operation {
    case .open:
      defer { (openFile.openedAfter, disk.missing) = (disk.deletions, []) }
      return openFile.openedAfter.map { $0 == disk.deletions } ?? true ? .opened(nil) : .openedAnother
    case .replace(_, _, let why):
      // Records that are not in memory remain only in the file that is set aside.
      for (name, records) in disk.held {
        for id in records.keys where name != vehicle || copy[id] == nil {
          lose(Disk.Key(vehicle: name, id: id))
        }
      }
      // Records in memory are written again; until then, they are on disk only in the file that is set aside.
      if disk.held[vehicle]?.isEmpty == false { openFile.troubledSince = .never }
      loseFile()
      disk.setAside += 1
      return .opened(StoreAgent.SetAside(name: "backlog.db.\(disk.setAside)", why: why))
    case .commit(let writes):
      guard openFile.openedAfter == disk.deletions else { return fail(.replaced, "the file is gone") }
      guard !isDamaged else { return fail(.unusable, "the file is damaged") }
      guard !isFull else { return fail(.full, "the disk is full") }
      openFile.troubledSince = nil
      for write in writes { disk.held[write.key.vehicle.vehicleID, default: [:]][write.key.id] = write.record }
      return .committed
    // Other data has filled the disk, not positions.
    case .makeRoom: return .madeRoom(dropped: 0)
    case .read(let vehicle): return .read((disk.held[vehicle.vehicleID] ?? [:]).values.sorted { $0.id < $1.id })
    case .forgetOthers(let vehicle, let time):
      for other in disk.held.keys where other != vehicle.vehicleID {
        for id in (disk.held[other] ?? [:]).keys where id < time { forgotten.insert(Disk.Key(vehicle: other, id: id)) }
        disk.held[other] = disk.held[other]?.filter { $0.key >= time }
        unrestored[other] = unrestored[other]?.filter { $0.key >= time }
      }
      return .forgotten
    case .close: return nil
    }
  }

  /// The file is deleted, possibly with its directory.
  func deleteStore() {
    // The file's records of other vehicles exist nowhere else.
    for (name, records) in disk.held where name != vehicle {
      for id in records.keys { lose(Disk.Key(vehicle: name, id: id)) }
    }
    for id in (disk.held[vehicle] ?? [:]).keys where copy[id] == nil {
      lose(Disk.Key(vehicle: vehicle, id: id))
    }
    // Records in memory exist nowhere else until they are written again.
    if disk.held[vehicle]?.isEmpty == false { openFile.troubledSince = .never }
    disk.missing.formUnion((disk.held[vehicle] ?? [:]).keys.map { Disk.Key(vehicle: vehicle, id: $0) })
    loseFile()
    disk.deletions += 1
  }

  /// The daemon changes to another vehicle before it has noticed that the file was deleted: the previous vehicle's
  /// records are lost.
  func forgetMissing() {
    for key in disk.missing where unrestored[key.vehicle]?.removeValue(forKey: key.id) != nil { lose(key) }
  }

  /// The file is gone. Another vehicle's records that were never written are still in the store's memory.
  private func loseFile() {
    for (name, records) in disk.held { unrestored[name] = unrestored[name]?.filter { records[$0.key] == nil } }
    disk.held = [:]
  }

  private func fail(_ kind: StoreAgent.Failure.Kind, _ why: String) -> StoreAgent.Outcome {
    openFile.troubledSince = openFile.troubledSince ?? writtenUntil
    return .failed(StoreAgent.Failure(kind, why))
  }
}
