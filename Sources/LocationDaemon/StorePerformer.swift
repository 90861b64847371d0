// SPDX-License-Identifier: Apache-2.0
import BacklogStore
import Delivery
import EventLoop
import FleetEngine
import SystemCalls
import Timekeeping

/// Performs the operations of `StoreAgent` on the backlog's file, and passes its reports to `VehicleAgent`.
///
/// A write to disk blocks the loop.
final class StorePerformer {
  private let loop: EventLoop
  private let report: (VehicleAgent.Input) -> Void
  private var agent: StoreAgent
  private var store: BacklogStore?
  /// The last file that was open, to detect that it was replaced.
  private var lastFile: (directory: String, identity: FileIdentity)?
  private var timer: LoopTimer?
  private var armedFor: BootInstant?
  /// Reports that are not delivered yet.
  private var reports: [VehicleAgent.Input] = []
  private var isDelivering = false

  /// - Parameter report: receives the inputs for `VehicleAgent`. It is never called while `handle` runs. It may itself
  ///   call `handle`.
  /// - Throws: the system denied a timer.
  init(
    _ settings: StoreAgent.Configuration, vehicle: FleetEngineVehicle, loop: EventLoop,
    report: @escaping (VehicleAgent.Input) -> Void
  ) throws(EventLoopError) {
    self.loop = loop
    self.report = report
    agent = StoreAgent(settings, vehicle: vehicle, seed: .random(in: .min ... .max))
    timer = try loop.makeTimer { [unowned self] in
      armedFor = nil
      perform(.deadline)
      deliver()
    }
  }

  /// Bytes on disk; nil without a file.
  var bytes: Int64? { store?.size }

  /// Reads the vehicle's positions from the file, and reports them. To be called after `configure`.
  func start() {
    perform(.start)
    deliver()
  }

  /// Performs a decision of `VehicleAgent`. Resulting reports are delivered in a later iteration of the loop, because
  /// the agent is the caller.
  func handle(_ input: StoreAgent.Input) {
    perform(input)
    guard !isDelivering, !reports.isEmpty else { return }
    loop.defer { [weak self] in self?.deliver() }
  }

  /// Applies new settings. Must be called before `VehicleAgent` gets them; `start` follows after that.
  func configure(_ settings: StoreAgent.Configuration, vehicle: FleetEngineVehicle) {
    // Pending reports belong to the previous settings.
    deliver()
    perform(.configured(settings, vehicle))
    deliver()
  }

  /// Writes what is pending, and closes the file.
  func close() {
    perform(.close)
    deliver()
    store = nil
    timer?.close()
    timer = nil
  }

  private func perform(_ input: StoreAgent.Input) {
    var inputs = [input]
    var deadline: BootInstant?
    while let input = inputs.popLast() {
      let effects: [StoreAgent.Effect]
      (effects, deadline) = agent.step(input, at: loop.now.boot)
      for effect in effects {
        switch effect {
        case .perform(let operation): if let outcome = run(operation) { inputs.append(.ended(outcome)) }
        case .report(let report): reports.append(report)
        }
      }
    }
    arm(at: deadline)
  }

  private func arm(at deadline: BootInstant?) {
    guard deadline != armedFor else { return }
    armedFor = deadline
    if let deadline { timer?.arm(at: deadline) } else { timer?.disarm() }
  }

  private func deliver() {
    guard !isDelivering else { return }
    isDelivering = true
    while !reports.isEmpty { report(reports.removeFirst()) }
    isDelivering = false
  }

  // MARK: - The file

  /// - Returns: nil for an operation without an outcome.
  private func run(_ operation: StoreAgent.Operation) -> StoreAgent.Outcome? {
    do throws(BacklogStoreError) {
      switch operation {
      case .open(let directory, let maxSize):
        let (opened, setAside) = try BacklogStore.open(directory: directory, maxSize: maxSize)
        let isAnother = isAnother(opened, in: directory)
        use(opened, in: directory)
        return isAnother && setAside == nil ? .openedAnother : .opened(setAside)
      case .replace(let directory, let maxSize, let why):
        store = nil
        let (opened, setAside) = try BacklogStore.replace(directory: directory, maxSize: maxSize, why: why)
        use(opened, in: directory)
        return .opened(setAside)
      case .commit(let writes):
        try opened.commit(writes)
        return .committed
      case .makeRoom(let writes, let vehicle):
        return .madeRoom(dropped: try opened.makeRoom(for: writes, than: vehicle))
      case .read(let vehicle):
        let content = try opened.content(of: vehicle)
        return .read(
          content.records, damaged: content.damaged, ownerless: content.ownerless, excess: content.excess)
      case .forgetOthers(let vehicle, let time):
        try opened.forgetOthers(than: vehicle, before: time)
        return .forgotten
      case .close:
        store = nil
        return nil
      }
    } catch {
      let kind: StoreAgent.Failure.Kind =
        switch error.code {
        case .full: .full
        case .replaced: .replaced
        default: error.isUnusable ? .unusable : .other
        }
      return .failed(StoreAgent.Failure(kind, error.message))
    }
  }

  /// Whether it is a new file, or another than the last one in this directory.
  private func isAnother(_ opened: BacklogStore, in directory: String) -> Bool {
    guard let lastFile, lastFile.directory == directory else { return false }
    return opened.isNew || !opened.identity.isSameFile(as: lastFile.identity)
  }

  private func use(_ opened: BacklogStore, in directory: String) {
    store = opened
    lastFile = (directory, opened.identity)
  }

  private var opened: BacklogStore {
    get throws(BacklogStoreError) {
      guard let store else { throw BacklogStoreError(.failed, "the backlog's file is not open") }
      return store
    }
  }
}

extension StoreAgent {
  /// Handles an input, and returns the effects and the next deadline: in one method, for the reason given at
  /// `VehicleAgent.step`.
  fileprivate mutating func step(_ input: Input, at now: BootInstant) -> (effects: [Effect], deadline: BootInstant?) {
    let effects = handle(input, at: now)
    return (effects, nextDeadline)
  }
}
