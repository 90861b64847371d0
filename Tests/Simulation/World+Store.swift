// SPDX-License-Identifier: Apache-2.0
import Delivery
import FleetEngine
import Timekeeping

/// What is on disk: it outlives everything.
struct Disk {
  struct Key: Hashable {
    var vehicle: String
    var id: Backlog.ID
  }

  /// A power cut costs at most what was recorded in so long.
  static let commitInterval = Duration.seconds(5)

  private(set) var held: [String: [Backlog.ID: Backlog.Record]] = [:]

  mutating func write(_ batch: [(key: StoreAgent.Key, record: Backlog.Record?)]) {
    for (key, record) in batch { held[key.vehicle.vehicleID, default: [:]][key.id] = record }
  }

  /// Forgets what is too old of all vehicles but one.
  mutating func forget(before time: Timestamp, but vehicle: String) {
    for other in held.keys where other != vehicle { held[other] = held[other]?.filter { $0.key >= time } }
  }
}

/// The program's side of the disk, which a power cut ends.
struct Shelf {
  var agent: StoreAgent
  var isOpen = false
  /// What the disk holds of this vehicle has not been told yet.
  var owesRestoring = true
  var state: BacklogStoreState?
  /// Since when it has not followed, because it could not.
  var troubledSince: BootInstant?
  /// What the vehicle's agent is to be told in a turn of its own.
  var news: [VehicleAgent.Input] = []
  /// In the world's time.
  var deadline: BootInstant?

  init(seed: UInt64) {
    agent = StoreAgent(interval: Disk.commitInterval, seed: seed)
  }
}

/// Does what `StoreAgent` decides, as a shell does.
extension World {
  /// Everything that waits, of each vehicle.
  var pending: [String: [Backlog.ID: Backlog.Record]] {
    left.merging([vehicle: copy]) { $0.merging($1) { $1 } }
  }

  private var storeKey: FleetEngineVehicle { configuration.delivery.endpoint.vehicle }

  /// Opens the disk and tells what it holds of this vehicle. Also after `configureStore`.
  func startStore() {
    guard !isOff, finishedAt == nil else { return }
    work()
    deliverNews()
  }

  func store(_ change: Backlog.Change) {
    shelf.agent.follow(change, of: storeKey, at: moment.boot)
    if shelf.agent.isDue(at: moment.boot) { work() }
    arm()
  }

  func advanceStore() {
    if shelf.agent.isDue(at: moment.boot) { work() }
    arm()
  }

  /// New settings, before the vehicle's agent has them.
  func configureStore(for other: String) {
    if shelf.isOpen, !shelf.agent.isEmpty { work() }
    guard other != vehicle else { return }
    shelf.owesRestoring = true
    left = pending
    vehicle = other
    copy = [:]
  }

  func forgetOthers(before time: Timestamp) {
    guard shelf.isOpen else { return }
    disk.forget(before: time, but: vehicle)
    for other in left.keys where other != vehicle { left[other] = left[other]?.filter { $0.key >= time } }
  }

  /// Tells the agent what its store has to say.
  func deliverNews() {
    let news = shelf.news
    shelf.news = []
    for input in news where !isOff && finishedAt == nil {
      if case .restored(let records) = input {
        let known = Set(records.map(\.id))
        for id in (left[vehicle] ?? [:]).keys where !known.contains(id) {
          violate("the store has lost the position of \(id.rfc3339) of \(vehicle)")
        }
        left[vehicle] = nil
        for record in records where copy[record.id] == nil { copy[record.id] = record }
      }
      tell(input)
    }
  }

  private func arm() {
    shelf.deadline = shelf.agent.deadline.map { bootedAt + ($0 - .boot) }
  }

  private func work() {
    shelf.isOpen = true
    let batch = shelf.agent.batch
    let isFull = scenario.isActive(at: second) { if case .diskFull = $0 { true } else { false } }
    note("!store writes \(batch.count)\(isFull ? ", disk full" : "")")
    if isFull, !batch.isEmpty {
      shelf.agent.failed(at: moment.boot)
      shelf.isOpen = false
      shelf.troubledSince = shelf.troubledSince ?? now - Disk.commitInterval
      become(.memoryOnly("the disk is full"))
    } else {
      disk.write(batch)
      shelf.agent.written()
      shelf.troubledSince = nil
      if shelf.owesRestoring {
        shelf.owesRestoring = false
        shelf.news.append(.restored(Array((disk.held[vehicle] ?? [:]).values)))
      }
      become(.healthy)
    }
    arm()
  }

  private func become(_ state: BacklogStoreState) {
    guard state != shelf.state else { return }
    shelf.state = state
    shelf.news.append(.store(state))
  }
}
