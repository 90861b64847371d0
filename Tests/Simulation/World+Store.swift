// SPDX-License-Identifier: Apache-2.0
import Delivery
import FleetEngine
import Timekeeping

/// A file on disk: it outlives everything but its own damage.
struct Disk {
  struct Key: Hashable {
    var vehicle: String
    var id: Backlog.ID
  }

  /// The longest time whose positions a power cut may cost.
  static let commitInterval = StoreAgent.Configuration().commitInterval

  fileprivate(set) var held: [String: [Backlog.ID: Backlog.Record]] = [:]
  /// How often it was set aside, and an empty one made.
  fileprivate(set) var setAside = 0
  /// How often it was deleted.
  fileprivate(set) var deletions = 0
}

/// The program's side of the disk, which a power cut ends.
struct StoreShell {
  fileprivate let configuration: StoreAgent.Configuration
  fileprivate var agent: StoreAgent
  /// Since when the disk has not followed, because it could not.
  fileprivate(set) var troubledSince: BootInstant?
  /// Reports to the vehicle's agent that are not handed over yet.
  fileprivate(set) var reports: [VehicleAgent.Input] = []
  fileprivate var isDelivering = false
  /// The number of deletions before the open file was created; nil before the first.
  fileprivate var openedAfter: Int?
  /// In the world's time.
  fileprivate(set) var deadline: BootInstant?

  init(_ vehicle: FleetEngineVehicle, seed: UInt64) {
    var configuration = StoreAgent.Configuration()
    configuration.directory = "/var/lib/fleet-locationd"
    self.configuration = configuration
    agent = StoreAgent(configuration, vehicle: vehicle, seed: seed)
  }
}

/// Performs what `StoreAgent` decides, as the shell does.
extension World {
  /// Everything that is pending, of each vehicle.
  var pending: [String: [Backlog.ID: Backlog.Record]] {
    unrestored.merging([vehicle: copy]) { $0.merging($1) { $1 } }
  }

  func startStore() {
    guard !isOff, finishedAt == nil else { return }
    performStore(.start)
    deliverReports()
  }

  func advanceStore() {
    performStore(.deadline)
    deliverReports()
  }

  /// New settings, before the vehicle's agent has them; `startStore` follows after that.
  func configureStore(_ new: VehicleAgent.Configuration, vehicle other: String) {
    deliverReports()
    guard !isOff else { return }
    if other != vehicle {
      unrestored = pending
      vehicle = other
      copy = [:]
    }
    performStore(.configured(store.configuration, new.delivery.endpoint.vehicle))
    deliverReports()
  }

  /// The run is at its end: all that is pending is on disk, if it can be.
  func closeStore() {
    performStore(.close)
    // A file that was found to be gone is written anew, as in the shell.
    while !store.reports.isEmpty {
      for case .backlogSnapshot(let records) in agent.handle(store.reports.removeFirst(), at: moment) {
        performStore(.snapshot(records))
      }
    }
    guard store.troubledSince == nil else { return }
    let missing = (pending[vehicle] ?? [:]).keys.filter { disk.held[vehicle]?[$0] == nil }
    if !missing.isEmpty { violate("\(missing.count) positions are not on disk at the end") }
  }

  func performStore(_ input: StoreAgent.Input) {
    var inputs = [input]
    while let input = inputs.popLast() {
      for effect in store.agent.handle(input, at: bootNow) {
        switch effect {
        case .perform(let operation):
          let outcome = run(operation)
          note("!store: \(World.brief(operation))\(outcome.map { ", \(World.brief($0))" } ?? "")")
          if let outcome { inputs.append(.ended(outcome)) }
        case .report(let report): store.reports.append(report)
        }
      }
    }
    store.deadline = store.agent.nextDeadline.map { bootedAt + ($0 - .boot) }
  }

  /// Gives the agent what its store reports.
  func deliverReports() {
    guard !store.isDelivering else { return }
    store.isDelivering = true
    while !store.reports.isEmpty, !isOff, finishedAt == nil {
      let report = store.reports.removeFirst()
      if case .restored(let records) = report { restore(records) }
      if case .store(.healthy) = report { store.troubledSince = nil }
      handle(report)
    }
    store.isDelivering = false
  }

  /// All stored positions are restored.
  private func restore(_ records: [Backlog.Record]) {
    let known = Set(records.map(\.id))
    for id in (unrestored[vehicle] ?? [:]).keys where !known.contains(id) {
      violate("the store has lost the position of \(id.rfc3339) of \(vehicle)")
    }
    unrestored[vehicle] = nil
    for record in records where copy[record.id] == nil { copy[record.id] = record }
  }

  // MARK: - The file

  private func run(_ operation: StoreAgent.Operation) -> StoreAgent.Outcome? {
    var (isFull, isFailing, isDamaged) = (false, false, false)
    for fault in scenario.faults where fault.place == .disk && fault.isActive(at: second) {
      switch fault.kind {
      case .diskFull: isFull = true
      case .diskFails: isFailing = true
      case .diskDamaged: isDamaged = !damages.contains(fault.from)
      case .diskDeleted:
        guard damages.insert(fault.from).inserted else { break }
        // What it held of other vehicles is nowhere else.
        for (name, records) in disk.held where name != vehicle {
          for id in records.keys { lostInCuts.insert(Disk.Key(vehicle: name, id: id)) }
        }
        for id in (disk.held[vehicle] ?? [:]).keys where copy[id] == nil {
          lostInCuts.insert(Disk.Key(vehicle: vehicle, id: id))
        }
        // What is in memory is nowhere else until it is written anew.
        if disk.held[vehicle]?.isEmpty == false { store.troubledSince = .boot }
        loseFile()
        disk.deletions += 1
      default: break
      }
      if isDamaged { damages.insert(fault.from) }
    }
    if case .close = operation { return nil }
    guard !isFailing else { return fail(.other, "an input or output error") }
    switch operation {
    case .open:
      defer { store.openedAfter = disk.deletions }
      return store.openedAfter.map { $0 == disk.deletions } ?? true ? .opened(nil) : .openedAnother
    case .replace(_, _, let why):
      // What it held and is not in memory stays in the file that is set aside.
      for (name, records) in disk.held {
        for id in records.keys where name != vehicle || copy[id] == nil {
          lostInCuts.insert(Disk.Key(vehicle: name, id: id))
        }
      }
      // What is in memory is written anew; until then it is in the file that is set aside alone.
      if disk.held[vehicle]?.isEmpty == false { store.troubledSince = .boot }
      loseFile()
      disk.setAside += 1
      return .opened(StoreAgent.SetAside(name: "backlog.db.\(disk.setAside)", why: why))
    case .commit(let writes):
      guard store.openedAfter == disk.deletions else { return fail(.replaced, "the file is gone") }
      guard !isDamaged else { return fail(.unusable, "the file is damaged") }
      guard !isFull else { return fail(.full, "the disk is full") }
      store.troubledSince = nil
      for write in writes { disk.held[write.key.vehicle.vehicleID, default: [:]][write.key.id] = write.record }
      return .committed
    // The room is not taken by positions.
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

  /// The file is gone. What another vehicle has left and was never written is still in the store's memory.
  private func loseFile() {
    for (name, records) in disk.held { unrestored[name] = unrestored[name]?.filter { records[$0.key] == nil } }
    disk.held = [:]
  }

  private func fail(_ kind: StoreAgent.Failure.Kind, _ why: String) -> StoreAgent.Outcome {
    store.troubledSince = store.troubledSince ?? writtenUntil
    return .failed(StoreAgent.Failure(kind, why))
  }

  private static func brief(_ operation: StoreAgent.Operation) -> String {
    if case .commit(let writes) = operation { "commits \(writes.count)" } else { "\(operation)" }
  }

  private static func brief(_ outcome: StoreAgent.Outcome) -> String {
    if case .read(let records, _, _, _) = outcome { "reads \(records.count)" } else { "\(outcome)" }
  }
}
