// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
package import Timekeeping

/// Keeps a copy of the backlog in a store that outlives the process: decides when it is opened, what is written and when, and
/// what follows a failure.
///
/// Changes are collected for the commit interval and written together, so that flash memory is not worn. After a failure the
/// rest stays pending, and the waits grow. A file that cannot be used is set aside, and the one in its place gets all that is
/// in memory. Where `max_size` denies the room, positions of other vehicles are dropped, the oldest first.
///
/// The shell performs one operation at a time, with `ended` as its outcome; other inputs may come in between, but `configured`
/// only when none is under way. What is reported goes to the vehicle's agent, in order, before anything else does.
package struct StoreAgent: Sendable {
  /// Where the file is, and how much and how often is written.
  package struct Configuration: Equatable, Sendable {
    /// The file's directory. Nil: the backlog is in memory only.
    package var directory: String?
    /// Bytes of the file and its log.
    package var maxSize: Int64 = 16_000_000
    /// Maximum time that a change waits to be written, which is what a power cut costs. Zero or more.
    package var commitInterval = Duration.seconds(5)

    package init() {}

    /// Bytes of `maxSize` for positions, whether there is a file or not; the rest is for its log.
    package var maxBytes: Int { Int(clamping: max(maxSize - 1_048_576, 0)) }
  }

  /// What happens to the store: changes of the backlog, outcomes of operations, other settings.
  package enum Input: Equatable, Sendable {
    /// The vehicle's agent is ready for `restored`: it asked with `readStore`, or has the settings of `configured`. Does not wait for a retry.
    case start
    /// The backlog has changed: `VehicleAgent.Effect.backlog`.
    case changed(Backlog.Change)
    /// All that is in memory: `VehicleAgent.Effect.backlogSnapshot`, the answer to `storeStartsOver`.
    case snapshot([Backlog.Record])
    /// Positions of other vehicles from before this time are of no use any more. Left undone while no file is open, or another
    /// operation is under way.
    case forgetOthers(before: Timestamp)
    /// `nextDeadline` has come.
    case deadline
    /// The operation under way has ended.
    case ended(Outcome)
    /// New settings, which the vehicle's agent does not have yet.
    case configured(Configuration, FleetEngineVehicle)
    /// Write what is pending, and close the file. Nothing happens after that.
    case close
  }

  /// What the shell is to do with the file, or the vehicle's agent to know.
  package enum Effect: Equatable, Sendable {
    /// Do this with the file.
    case perform(Operation)
    /// The vehicle's agent should know.
    case report(VehicleAgent.Input)
  }

  /// What is done with the file.
  package enum Operation: Equatable, Sendable {
    /// Open the file, or make it; one that is beyond use is set aside, and an empty one made. Ends in `opened`.
    case open(directory: String, maxSize: Int64)
    /// Close the file, set it aside for this reason, and make an empty one. Ends in `opened`.
    case replace(directory: String, maxSize: Int64, why: String)
    /// See that the file is still in its place, and write these, all or none. Ends in `committed` when they are on disk.
    case commit([Write])
    /// Drop positions of all vehicles but this one, the oldest first, for this number of writes. Ends in `madeRoom`.
    case makeRoom(writes: Int, sparing: FleetEngineVehicle)
    /// Read what the file holds of a vehicle, oldest first. Ends in `read`.
    case read(FleetEngineVehicle)
    /// Drop positions of all vehicles but this one from before a time. Ends in `forgotten`.
    case forgetOthers(sparing: FleetEngineVehicle, before: Timestamp)
    /// Close the file, if it is open. Has no outcome.
    case close
  }

  /// How an operation has ended. All but `close` can end in `failed`.
  package enum Outcome: Equatable, Sendable {
    /// What was set aside for it, if anything; then the file is empty.
    case opened(SetAside?)
    /// The file is not the one that this run had open in this directory before: that was deleted or replaced.
    case openedAnother
    case committed
    /// The number of positions that were dropped. 0: there are none, or something else denies the room.
    case madeRoom(dropped: Int)
    /// - Parameters:
    ///   - damaged: rows that are no positions, by their keys.
    ///   - ownerless: the number of rows of no vehicle, which are deleted already.
    case read([Backlog.Record], damaged: [Backlog.ID] = [], ownerless: Int = 0)
    case forgotten
    /// Nothing has changed in the file.
    case failed(Failure)
  }

  /// Why an operation on the file failed.
  package struct Failure: Equatable, Sendable {
    /// Decides what is done next.
    package enum Kind: Sendable {
      /// There is no room: on the disk, or up to `maxSize`.
      case full
      /// The file can never be used as it is.
      case beyondUse
      /// The file that is open is not the one in its place any more, or its log is not.
      case replaced
      /// It may go well another time.
      case other
    }

    package var kind: Kind
    /// Says why, and what to do.
    package var message: String

    package init(_ kind: Kind, _ message: String) {
      self.kind = kind
      self.message = message
    }
  }

  /// A file that could not be used.
  package struct SetAside: Equatable, Sendable {
    /// Its new name, without its directory.
    package var name: String
    /// What was wrong with it.
    package var why: String

    package init(name: String, why: String) {
      self.name = name
      self.why = why
    }
  }

  /// A position of a vehicle.
  package struct Key: Hashable, Sendable {
    /// Whose position it is.
    package var vehicle: FleetEngineVehicle
    /// Which of its positions.
    package var id: Backlog.ID

    package init(vehicle: FleetEngineVehicle, id: Backlog.ID) {
      self.vehicle = vehicle
      self.id = id
    }
  }

  /// What the store holds under a key from now on.
  package struct Write: Equatable, Sendable {
    /// Whose position, and which.
    package var key: Key
    /// Nil: nothing.
    package var record: Backlog.Record?

    package init(key: Key, record: Backlog.Record?) {
      self.key = key
      self.record = record
    }
  }

  /// One go at writing what is pending.
  private struct Attempt: Equatable {
    /// A file that was beyond use or gone has another in its place, which is done once.
    var hasReplaced = false
    /// Positions of other vehicles that were dropped for it and not reported yet.
    var dropped = 0
  }

  private enum State: Equatable {
    /// No file is open: before the start, after a failure, or without a directory.
    case closed
    /// The file is open, and nothing is under way.
    case open
    case opening(Attempt)
    /// The file is empty, and waits for what is in memory.
    case refilling(Attempt)
    case committing(Attempt)
    case makingRoom(Attempt, after: Failure)
    case reading(FleetEngineVehicle, Attempt)
    case forgetting
    /// The directory changes, and its file waits for what is in memory.
    case moving
    case ended
  }

  /// The waits after a failure.
  private static let retry = Backoff.Bounds.atLeastHalf(.seconds(5), cap: .seconds(300))

  private var configuration: Configuration
  private var vehicle: FleetEngineVehicle
  /// Those with another directory, as long as the file in the old one gets what it lacks.
  private var next: (configuration: Configuration, vehicle: FleetEngineVehicle)?
  private var state = State.closed
  private var pending = PendingWrites()
  /// When the first of the pending changes has waited for the interval.
  private var dueAt: BootInstant?
  private var gate: RetryGate
  /// The last attempt has failed.
  private var isFailing = false
  /// An attempt is to be made, whatever the deadline.
  private var isCalled = false
  private var isClosing = false
  /// Before the file is closed it is seen that it is still there.
  private var isVerified = false
  /// What the file holds of the vehicle has not been reported.
  private var owesRestoring = true
  /// The vehicle's agent is ready for what the file holds. Until `start` it still has the settings before.
  private var isReady = false
  private var reported: BacklogStoreState?

  /// - Parameter seed: of the jitter of the waits after a failure.
  package init(_ configuration: Configuration, vehicle: FleetEngineVehicle, seed: UInt64) {
    self.configuration = configuration
    self.vehicle = vehicle
    gate = RetryGate(seed: seed)
  }

  /// When to hand over `deadline`; nil while there is nothing to do, or an outcome is waited for.
  package var nextDeadline: BootInstant? {
    guard state == .open || state == .closed, configuration.directory != nil else { return nil }
    return isFailing ? gate.notBefore : dueAt
  }

  /// Takes what happened, and returns what is to be done, in this order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    let effects = receive(input, at: now)
    return effects + proceed(at: now)
  }

  private mutating func receive(_ input: Input, at now: BootInstant) -> [Effect] {
    switch input {
    case .start:
      isCalled = true
      isReady = true
    case .changed(let change): follow(change, at: now)
    case .snapshot(let records): return startOver(records, at: now)
    case .forgetOthers(let time):
      guard state == .open else { break }
      state = .forgetting
      return [.perform(.forgetOthers(sparing: vehicle, before: time))]
    case .deadline: break
    case .ended(let outcome): return ended(outcome, at: now)
    case .configured(let new, let vehicle): configure(new, vehicle)
    case .close:
      isClosing = true
      endWait()
    }
    return []
  }

  private mutating func follow(_ change: Backlog.Change, at now: BootInstant) {
    guard configuration.directory != nil else { return }
    pending.follow(change, of: vehicle)
    dueAt = pending.isEmpty ? nil : dueAt ?? now + configuration.commitInterval
  }

  /// Begins what is next, if nothing is under way.
  private mutating func proceed(at now: BootInstant) -> [Effect] {
    guard state == .open || state == .closed else { return [] }
    if next != nil {
      // The old file gets what it lacks, if it can.
      if state == .open, !pending.isEmpty { return commit(Attempt(), at: now) }
      state = .moving
      return [.perform(.close), .report(.storeStartsOver)]
    }
    if isClosing {
      if configuration.directory != nil, !pending.isEmpty, !isFailing { return attempt(at: now) }
      if state == .open, !isVerified {
        state = .committing(Attempt())
        return [.perform(.commit([]))]
      }
      state = .ended
      return [.perform(.close)]
    }
    return isCalled || nextDeadline.map { now >= $0 } ?? false ? attempt(at: now) : []
  }

  // MARK: - Attempts

  /// Opens the file if it is not, and writes what there is to write.
  private mutating func attempt(at now: BootInstant) -> [Effect] {
    isCalled = false
    guard let directory = configuration.directory else { return report(.off) }
    guard state == .closed else { return commit(Attempt(), at: now) }
    state = .opening(Attempt())
    return [.perform(.open(directory: directory, maxSize: configuration.maxSize))]
  }

  private mutating func commit(_ attempt: Attempt, at now: BootInstant) -> [Effect] {
    dueAt = nil
    let batch = pending.batch()
    guard !batch.isEmpty else { return committed(attempt) }
    state = .committing(attempt)
    return [.perform(.commit(batch))]
  }

  private mutating func ended(_ outcome: Outcome, at now: BootInstant) -> [Effect] {
    switch (state, outcome) {
    case (.opening(let attempt), .opened(let setAside)):
      guard let setAside else { return commit(attempt, at: now) }
      state = .refilling(attempt)
      return [.report(.storeSetAside(name: setAside.name, why: setAside.why)), .report(.storeStartsOver)]
    case (.opening(let attempt), .openedAnother):
      owesRestoring = true
      state = .refilling(attempt)
      return [.report(.storeReplaced(directory: configuration.directory ?? "")), .report(.storeStartsOver)]
    case (.committing(let attempt), .committed): return committed(attempt)
    case (.committing(let attempt), .failed(let failure)):
      pending.notWritten()
      guard failure.kind == .full else { return recover(attempt, from: failure, at: now) }
      state = .makingRoom(attempt, after: failure)
      return [.perform(.makeRoom(writes: pending.count, sparing: vehicle))]
    case (.makingRoom(var attempt, let full), .madeRoom(let dropped)):
      guard dropped > 0 else { return recover(attempt, from: full, at: now) }
      attempt.dropped += dropped
      return commit(attempt, at: now)
    case (.makingRoom(let attempt, _), .failed(let failure)), (.reading(_, let attempt), .failed(let failure)):
      return recover(attempt, from: failure, at: now)
    case (.reading(let subject, _), .read(let records, let damaged, let ownerless)):
      state = .open
      // Of a vehicle that has been replaced in the meantime, nothing is to be known.
      guard subject == vehicle else { return [] }
      owesRestoring = false
      let lost = damaged.count + ownerless
      if !damaged.isEmpty { follow(.removed(damaged, .damaged), at: now) }
      return (lost > 0 ? [.report(.storeRowsDamaged(lost))] : []) + [.report(.restored(records))] + report(.healthy)
    case (.forgetting, .forgotten):
      state = .open
      return []
    case (.opening, .failed(let failure)), (.forgetting, .failed(let failure)): return fail(failure, at: now)
    default: return []
    }
  }

  private mutating func committed(_ attempt: Attempt) -> [Effect] {
    pending.written()
    endWait()
    isVerified = isClosing
    let dropped = reportDropped(attempt)
    guard owesRestoring, isReady else {
      state = .open
      return dropped + report(.healthy)
    }
    state = .reading(vehicle, Attempt(hasReplaced: attempt.hasReplaced))
    return dropped + [.perform(.read(vehicle))]
  }

  /// Replaces a file that is beyond use, and opens what is in the place of one that is gone; any other failure is one of the
  /// attempt.
  private mutating func recover(_ attempt: Attempt, from failure: Failure, at now: BootInstant) -> [Effect] {
    let dropped = reportDropped(attempt)
    guard !attempt.hasReplaced, let directory = configuration.directory else {
      return dropped + fail(failure, at: now)
    }
    switch failure.kind {
    case .beyondUse:
      state = .opening(Attempt(hasReplaced: true))
      return dropped + [.perform(.replace(directory: directory, maxSize: configuration.maxSize, why: failure.message))]
    case .replaced:
      state = .opening(Attempt(hasReplaced: true))
      return dropped + [.perform(.close), .perform(.open(directory: directory, maxSize: configuration.maxSize))]
    case .full, .other: return dropped + fail(failure, at: now)
    }
  }

  /// Tries again after a wait, with a new connection: after an input or output error one may be of no use.
  private mutating func fail(_ failure: Failure, at now: BootInstant) -> [Effect] {
    isFailing = true
    _ = gate.failed(StoreAgent.retry, at: now)
    state = .closed
    return [.perform(.close)] + report(.memoryOnly(failure.message))
  }

  private mutating func endWait() {
    isFailing = false
    gate.reset()
  }

  // MARK: - Files that begin empty

  /// The file gets all that is in memory.
  private mutating func startOver(_ records: [Backlog.Record], at now: BootInstant) -> [Effect] {
    switch state {
    case .refilling(let attempt):
      pending.startOver(records, of: vehicle)
      return commit(attempt, at: now)
    case .moving:
      pending.startOver(records, of: vehicle)
      dueAt = pending.isEmpty ? nil : now + configuration.commitInterval
      endWait()
      owesRestoring = true
      if let next { (configuration, vehicle) = next }
      next = nil
      state = .closed
      return []
    default: return []
    }
  }

  private mutating func configure(_ new: Configuration, _ newVehicle: FleetEngineVehicle) {
    isReady = false
    guard new.directory == configuration.directory else { return next = (new, newVehicle) }
    if newVehicle != vehicle { owesRestoring = true }
    (configuration, vehicle) = (new, newVehicle)
  }

  // MARK: - Reports

  private mutating func report(_ state: BacklogStoreState) -> [Effect] {
    guard state != reported else { return [] }
    reported = state
    return [.report(.store(state))]
  }

  private func reportDropped(_ attempt: Attempt) -> [Effect] {
    attempt.dropped > 0 ? [.report(.othersDropped(attempt.dropped))] : []
  }
}
