// SPDX-License-Identifier: Apache-2.0
import BacklogStore
import Configuration
import Delivery
import EventLoop
import FleetEngine
import Timekeeping
import SystemCalls

/// Keeps the backlog's copy on disk: does what `StoreAgent` decides, and tells the vehicle's agent how it went.
///
/// It belongs to the loop's thread, which waits while the disk writes.
final class BacklogKeeper {
  /// Whom it tells. None is called from within `follow`.
  struct Handlers {
    /// What the vehicle's agent should know.
    var tell: (VehicleAgent.Input) -> Void
    /// All that is in memory, for a file that begins empty.
    var records: () -> [Backlog.Record]
  }

  private let loop: EventLoop
  private let handlers: Handlers
  private var settings: Settings.Store
  private var vehicle: FleetEngineVehicle
  private var agent: StoreAgent
  private var store: BacklogStore?
  private var timer: LoopTimer?
  private var armedFor: BootInstant?
  private var state: BacklogStoreState?
  private var news: [VehicleAgent.Input] = []
  /// What the file holds of this vehicle has not been told yet.
  private var owesRestoring = true

  /// - Throws: the system denies a timer.
  init(
    _ settings: Settings.Store, vehicle: FleetEngineVehicle, loop: EventLoop, handlers: Handlers
  ) throws(EventLoopError) {
    self.loop = loop
    self.handlers = handlers
    self.settings = settings
    self.vehicle = vehicle
    agent = StoreAgent(interval: settings.commitInterval, seed: .random(in: .min ... .max))
    timer = try loop.makeTimer { [unowned self] in
      armedFor = nil
      if agent.isDue(at: loop.now.boot) { work() }
      arm()
      deliver()
    }
  }

  /// Opens the file and tells what it holds of this vehicle. Also after `configure`.
  func start() {
    work()
    arm()
    deliver()
  }

  /// Bytes on disk; nil without a file.
  var bytes: Int64? { store?.size }

  func follow(_ change: Backlog.Change) {
    guard settings.directory != nil else { return }
    agent.follow(change, of: vehicle, at: loop.now.boot)
    if agent.isDue(at: loop.now.boot) { work() }
    arm()
    deliverLater()
  }

  func forgetOthers(before time: Timestamp) {
    guard let store else { return }
    do throws(BacklogStoreError) {
      try store.forgetOthers(than: vehicle, before: time)
    } catch {
      fail(error)
      arm()
      deliverLater()
    }
  }

  /// Takes new settings, before the vehicle's agent does; `start` is to follow after that.
  func configure(_ new: Settings.Store, vehicle newVehicle: FleetEngineVehicle) {
    if store != nil, !agent.isEmpty { work() }
    if new.directory != settings.directory {
      store = nil
      agent.startOver(handlers.records(), of: vehicle, at: loop.now.boot)
      agent.retryNow()
      owesRestoring = true
    }
    if newVehicle != vehicle { owesRestoring = true }
    settings = new
    vehicle = newVehicle
    agent.configure(interval: new.commitInterval)
  }

  /// Writes what is left, and closes the file.
  func close() {
    if settings.directory != nil, !agent.isEmpty { work() }
    store = nil
    timer?.close()
    timer = nil
  }

  private func arm() {
    let deadline = settings.directory == nil ? nil : agent.deadline
    guard deadline != armedFor else { return }
    armedFor = deadline
    if let deadline { timer?.arm(at: deadline) } else { timer?.disarm() }
  }

  // MARK: - The file

  /// Opens the file if it is not, and writes what there is to write.
  private func work() {
    guard let directory = settings.directory else { return become(.off) }
    do throws(BacklogStoreError) {
      if store == nil {
        let (opened, setAside) = try BacklogStore.open(directory: directory, maxSize: settings.maxSize)
        store = opened
        if let setAside { begin(after: setAside) }
      }
      do throws(BacklogStoreError) {
        try write()
      } catch {
        guard error.isBeyondUse else { throw error }
        store = nil
        let (opened, setAside) = try BacklogStore.replace(
          directory: directory, maxSize: settings.maxSize, because: error)
        store = opened
        begin(after: setAside)
        try write()
      }
      become(.healthy)
    } catch {
      fail(error)
    }
  }

  private func write() throws(BacklogStoreError) {
    let batch = agent.batch
    do throws(BacklogStoreError) {
      try store?.commit(batch)
    } catch {
      guard error.code == .full, let store else { throw error }
      try makeRoom(for: batch, in: store, after: error)
    }
    agent.written()
    if owesRestoring, let records = try store?.positions(of: vehicle) {
      owesRestoring = false
      tell(.restored(records))
    }
  }

  /// What other vehicles left gives way to what this one needs.
  private func makeRoom(
    for batch: [(key: StoreAgent.Key, record: Backlog.Record?)], in store: BacklogStore, after full: BacklogStoreError
  ) throws(BacklogStoreError) {
    var deleted = 0
    defer { if deleted > 0 { tell(.othersDropped(deleted)) } }
    while true {
      let more = try store.makeRoom(for: batch.count, than: vehicle)
      guard more > 0 else { throw full }
      deleted += more
      do throws(BacklogStoreError) {
        return try store.commit(batch)
      } catch {
        guard error.code == .full else { throw error }
      }
    }
  }

  /// An empty file has taken the place of one that could not be used.
  private func begin(after setAside: BacklogStore.SetAside) {
    agent.startOver(handlers.records(), of: vehicle, at: loop.now.boot)
    tell(.storeSetAside(name: setAside.name, why: setAside.why))
  }

  private func fail(_ error: BacklogStoreError) {
    agent.failed(at: loop.now.boot)
    // Opened anew the next time: after an input or output error a connection may be of no use.
    store = nil
    become(.memoryOnly(error.message))
  }

  private func become(_ new: BacklogStoreState) {
    guard new != state else { return }
    state = new
    tell(.store(new))
  }

  private func tell(_ input: VehicleAgent.Input) {
    news.append(input)
  }

  /// Tells what is new.
  private func deliver() {
    let news = news
    self.news = []
    for input in news { handlers.tell(input) }
  }

  /// Tells it in a turn of its own: the vehicle's agent is what called.
  private func deliverLater() {
    guard !news.isEmpty else { return }
    loop.defer { [weak self] in self?.deliver() }
  }
}
