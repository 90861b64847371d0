// SPDX-License-Identifier: Apache-2.0
package import PositionBacklog
package import FleetEngine
package import Timekeeping

/// Maintains a persistent copy of the backlog: decides when to open the store, what to write and when, and how to
/// recover from failures.
///
/// Changes are collected for the commit interval and written together (group commit), to limit wear of flash memory;
/// thousands of changes are written in several commits with short pauses. In a long outage each position is a change,
/// so they are collected for longer, unless the settings have an interval. After a failure the rest remains pending,
/// with a backoff. An unusable file is set aside, and its replacement is filled from memory. If `max_size` is reached,
/// positions of other vehicles are dropped, oldest first.
///
/// The shell performs one operation at a time, and passes its outcome as `ended`; other inputs may come in between.
/// Reports go to the vehicle's agent in order, before the next settings.
package struct StoreAgent: Sendable {
  /// Where the file is, its maximum size and the commit interval.
  package struct Configuration: Equatable, Sendable {
    /// The file's directory. Nil: the backlog is in memory only.
    package var directory: String?
    /// The maximum size of the file and its write-ahead log, in bytes.
    package var maxSize: Int64 = 16_000_000
    /// Maximum time that a change stays in memory before it is committed: what a power cut can lose. Zero or more; nil:
    /// `defaultInterval`, and `outageInterval` in a long outage.
    package var commitInterval: Duration?

    package init() {}

    /// The part of `maxSize` for positions, with or without a file; the rest is for the log.
    package var maxBytes: Int { Int(clamping: max(maxSize - 1_048_576, 0)) }
  }

  /// What happened: changes of the backlog, outcomes of operations, new settings.
  package enum Input: Equatable, Sendable {
    /// The vehicle's agent is ready for `restored`: `VehicleAgent.Effect.readStore`. Skips the backoff.
    case start
    /// The backlog has changed: `VehicleAgent.Effect.backlog`.
    case changed(Backlog.Change)
    /// All records in memory: `VehicleAgent.Effect.backlogSnapshot`, in response to `storeStartsOver`.
    case snapshot([Backlog.Record])
    /// Whether there is a long outage, during which changes are collected for longer:
    /// `VehicleAgent.Effect.collectChanges`.
    case outage(Bool)
    /// Commit what is pending at once, unless the settings have an interval.
    case commit
    /// Delete positions of other vehicles from before this time. Skipped if no file is open, or another operation is in
    /// progress.
    case forgetOthers(before: Timestamp)
    /// `nextDeadline` has passed.
    case deadline
    /// The current operation has ended.
    case ended(Outcome)
    /// New settings, which the vehicle's agent does not have yet. Until `settingsInUse` its changes belong to the
    /// previous vehicle, and no stored positions are reported.
    case configured(Configuration, FleetEngineVehicle)
    /// The vehicle's agent is about to get the settings of `configured`, and is then ready for `restored`. To be passed
    /// once `isSettled`, without a report that was not passed on. Skips the backoff.
    case settingsInUse
    /// Write what is pending, and close the file. No effects follow.
    case close
  }

  /// What the shell has to do with the file, or what the vehicle's agent has to know.
  package enum Effect: Equatable, Sendable {
    /// Perform this operation on the file.
    case perform(Operation)
    /// An input for the vehicle's agent.
    case report(VehicleAgent.Input)
  }

  /// An operation on the file.
  package enum Operation: Equatable, Sendable {
    /// Open or create the file; an unusable one is set aside, and an empty one created. Ends in `opened`.
    case open(directory: String, maxSize: Int64)
    /// Close the file, set it aside for this reason, and create an empty one. Ends in `opened`.
    case replace(directory: String, maxSize: Int64, why: String)
    /// Verify that the file is still in place and undamaged, and write these, all or none. Ends in `committed` when
    /// they are on disk.
    case commit([Write])
    /// Drop the oldest positions of other vehicles to make room for this number of writes. Ends in `madeRoom`.
    case makeRoom(writes: Int, sparing: FleetEngineVehicle)
    /// Read the positions of a vehicle, oldest first. If there are many more than `Backlog.maximumRecords`, the oldest
    /// ones are deleted. Ends in `read`.
    case read(FleetEngineVehicle)
    /// Delete positions of other vehicles from before a time. Ends in `forgotten`.
    case forgetOthers(sparing: FleetEngineVehicle, before: Timestamp)
    /// Close the file, if it is open. Has no outcome.
    case close
  }

  /// The outcome of an operation. All but `close` can end in `failed`.
  package enum Outcome: Equatable, Sendable {
    /// The file that was set aside, if any; the new file is then empty.
    case opened(SetAside?)
    /// The file is not the one that this run had open in this directory before, which was deleted or replaced.
    case openedAnother
    case committed
    /// The number of dropped positions. 0: there are none, or the lack of room has another cause.
    case madeRoom(dropped: Int)
    /// - Parameters:
    ///   - damaged: keys of rows that are not valid positions.
    ///   - orphaned: the number of rows without a vehicle, which were deleted.
    ///   - excess: the number of older rows that were deleted.
    case read([Backlog.Record], damaged: [Backlog.ID] = [], orphaned: Int = 0, excess: Int = 0)
    case forgotten
    /// The file is unchanged.
    case failed(Failure)
  }

  /// Why an operation on the file failed.
  package struct Failure: Equatable, Sendable {
    /// Decides how to recover.
    package enum Kind: Sendable {
      /// There is no room: on the disk, or within `maxSize`.
      case full
      /// The file is unusable.
      case unusable
      /// The open file, or its write-ahead log, was deleted or replaced.
      case replaced
      /// Possibly temporary.
      case other
    }

    package var kind: Kind
    /// The cause and the remedy.
    package var message: String

    package init(_ kind: Kind, _ message: String) {
      self.kind = kind
      self.message = message
    }
  }

  /// An unusable file that was renamed.
  package struct SetAside: Equatable, Sendable {
    /// Its new file name, without the directory.
    package var name: String
    /// Why it was unusable.
    package var why: String

    package init(name: String, why: String) {
      self.name = name
      self.why = why
    }
  }

  /// Identifies a position of a vehicle.
  package struct Key: Hashable, Sendable {
    /// The vehicle.
    package var vehicle: FleetEngineVehicle
    /// The position.
    package var id: Backlog.ID

    package init(vehicle: FleetEngineVehicle, id: Backlog.ID) {
      self.vehicle = vehicle
      self.id = id
    }
  }

  /// A change of one key in the store.
  package struct Write: Equatable, Sendable {
    /// The key.
    package var key: Key
    /// Nil: delete.
    package var record: Backlog.Record?

    package init(key: Key, record: Backlog.Record?) {
      self.key = key
      self.record = record
    }
  }

  /// One attempt to write what is pending.
  private struct Attempt: Equatable {
    /// The file was replaced in this attempt, which is done only once.
    var hasReplaced = false
    /// Dropped positions of other vehicles that were not reported yet.
    var dropped = 0
  }

  private enum State: Equatable {
    /// No file is open: before the start, after a failure, or without a directory.
    case closed
    /// The file is open, and no operation is in progress.
    case open
    case opening(Attempt)
    /// The file is empty, and is filled when the snapshot of the memory arrives.
    case refilling(Attempt)
    case committing(Attempt)
    case makingRoom(Attempt, after: Failure)
    case reading(Attempt)
    case forgetting
    /// The directory changes: the old file is closed, and the snapshot of the memory is awaited.
    case moving
    /// What is in memory is pending, for the file in the directory of the next settings.
    case moved
    case ended
  }

  /// The commit interval, unless the settings have one.
  package static let defaultInterval = Duration.seconds(5)
  /// The same in a long outage.
  package static let outageInterval = Duration.seconds(60)
  /// The pause between two commits of changes that were pending together: the disk blocks the event loop during each.
  private static let batchPause = Duration.milliseconds(10)
  /// The backoff after a failure.
  private static let retryBackoff = Backoff.Bounds.equalJitter(.seconds(5), cap: .seconds(300))

  private var configuration: Configuration
  private var vehicle: FleetEngineVehicle
  /// The settings of `configured`, until they are in use.
  private var nextSettings: (configuration: Configuration, vehicle: FleetEngineVehicle)?
  private var state = State.closed
  private var pending = PendingWrites()
  private var isInOutage = false
  /// When the first pending change will have waited for the commit interval; nil if nothing is due.
  private var dueAt: BootInstant?
  private var gate: RetryGate
  /// The last attempt failed.
  private var isFailing = false
  /// An attempt is requested, whatever the deadline.
  private var isAttemptRequested = false
  /// The file was opened with another `maxSize` than the configured one, and is opened again by the next attempt.
  private var isLimitOutdated = false
  private var isClosing = false
  /// A commit has found the file in place since `close`. If nothing is pending, an empty commit verifies this.
  private var isFileVerified = false
  /// The stored positions of the vehicle have not been reported yet.
  private var isRestorePending = true
  /// The vehicle's agent is ready for the stored positions.
  private var isReady = false
  private var reported: BacklogStoreState?

  /// - Parameter seed: the seed of the backoff's jitter.
  package init(_ configuration: Configuration, vehicle: FleetEngineVehicle, seed: UInt64) {
    self.configuration = configuration
    self.vehicle = vehicle
    gate = RetryGate(seed: seed)
  }

  /// When to handle `deadline`; nil if there is nothing to do, or an operation is in progress.
  package var nextDeadline: BootInstant? {
    guard state == .open || state == .closed, configuration.directory != nil else { return nil }
    return isFailing ? gate.notBefore : dueAt
  }

  /// Whether no operation is in progress, and nothing is left to write with the settings before `configured`.
  package var isSettled: Bool {
    switch state {
    case .open, .closed: !isMoveDue
    case .moved, .ended: true
    case .opening, .refilling, .committing, .makingRoom, .reading, .forgetting, .moving: false
    }
  }

  /// The directory of the next settings is another one.
  private var isMoveDue: Bool { nextSettings.map { $0.configuration.directory != configuration.directory } ?? false }

  /// Whether the file is closed after `close`.
  package var hasEnded: Bool { state == .ended }

  /// Whether the file is closed after `close`, and has all that is in memory.
  package var hasStoredAll: Bool { hasEnded && isFileVerified && pending.isEmpty }

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    let effects = receive(input, at: now)
    return effects + proceed(at: now)
  }

  private mutating func receive(_ input: Input, at now: BootInstant) -> [Effect] {
    switch input {
    case .start:
      isAttemptRequested = true
      isReady = true
    case .changed(let change): enqueue(change, at: now)
    case .outage(let isInOutage):
      self.isInOutage = isInOutage
      dueAt = dueAt.map { min($0, now + commitInterval) }
    case .commit: if configuration.commitInterval == nil { dueAt = dueAt.map { min($0, now) } }
    case .snapshot(let records): return startOver(records, at: now)
    case .forgetOthers(let time):
      guard state == .open else { break }
      state = .forgetting
      return [.perform(.forgetOthers(sparing: vehicle, before: time))]
    case .deadline: break
    case .ended(let outcome): return ended(outcome, at: now)
    case .configured(let new, let vehicle): nextSettings = (new, vehicle)
    case .settingsInUse: useSettings()
    case .close:
      isClosing = true
      resetBackoff()
    }
    return []
  }

  private mutating func enqueue(_ change: Backlog.Change, at now: BootInstant) {
    guard configuration.directory != nil || state == .moved else { return }
    pending.add(change, of: vehicle)
    dueAt = pending.isEmpty ? nil : dueAt ?? now + commitInterval
  }

  private var commitInterval: Duration {
    configuration.commitInterval ?? (isInOutage ? StoreAgent.outageInterval : StoreAgent.defaultInterval)
  }

  /// Begins the next operation, unless one is in progress.
  private mutating func proceed(at now: BootInstant) -> [Effect] {
    guard state == .open || state == .closed else { return [] }
    if isMoveDue {
      // Write what is pending to the old file, if possible.
      if state == .open, !pending.isEmpty { return commit(Attempt(), at: now) }
      state = .moving
      return [.perform(.close), .report(.storeStartsOver)]
    }
    if isClosing {
      if configuration.directory != nil, !pending.isEmpty, !isFailing { return attempt(at: now) }
      if state == .open, !isFileVerified {
        state = .committing(Attempt())
        return [.perform(.commit([]))]
      }
      state = .ended
      return [.perform(.close)]
    }
    return isAttemptRequested || nextDeadline.map { now >= $0 } ?? false ? attempt(at: now) : []
  }

  // MARK: - Attempts

  /// Opens the file if needed, and writes what is pending.
  private mutating func attempt(at now: BootInstant) -> [Effect] {
    isAttemptRequested = false
    guard let directory = configuration.directory else { return report(.off) }
    guard state == .closed || isLimitOutdated else { return commit(Attempt(), at: now) }
    isLimitOutdated = false
    let closing: [Effect] = state == .open ? [.perform(.close)] : []
    state = .opening(Attempt())
    return closing + [.perform(.open(directory: directory, maxSize: configuration.maxSize))]
  }

  private mutating func commit(_ attempt: Attempt, at now: BootInstant) -> [Effect] {
    dueAt = nil
    let batch = pending.beginBatch()
    guard !batch.isEmpty else { return committed(attempt, at: now) }
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
      isRestorePending = true
      state = .refilling(attempt)
      return [.report(.storeReplaced(directory: configuration.directory ?? "")), .report(.storeStartsOver)]
    case (.committing(let attempt), .committed): return committed(attempt, at: now)
    case (.committing(let attempt), .failed(let failure)):
      pending.notWritten()
      guard failure.kind == .full else { return recover(attempt, from: failure, at: now) }
      state = .makingRoom(attempt, after: failure)
      return [.perform(.makeRoom(writes: pending.count, sparing: vehicle))]
    case (.makingRoom(var attempt, let full), .madeRoom(let dropped)):
      guard dropped > 0 else { return recover(attempt, from: full, at: now) }
      attempt.dropped += dropped
      return commit(attempt, at: now)
    case (.makingRoom(let attempt, _), .failed(let failure)), (.reading(let attempt), .failed(let failure)):
      return recover(attempt, from: failure, at: now)
    case (.reading, .read(let records, let damaged, let orphaned, let excess)):
      state = .open
      // If the next settings name another vehicle, this one's positions stay in the file, damaged ones included. The
      // others that are lost have been deleted.
      let isRestored = nextSettings.map { $0.vehicle == vehicle } ?? true
      let lost = orphaned + (isRestored ? damaged.count : 0)
      let losses: [Effect] = [(lost, .damaged), (excess, .full)].compactMap { count, reason in
        count > 0 ? .report(.storeRowsDropped(count, reason)) : nil
      }
      guard isRestored else { return losses }
      isRestorePending = false
      if !damaged.isEmpty { enqueue(.removed(damaged, .damaged), at: now) }
      return losses + [.report(.restored(records))] + report(.healthy)
    case (.forgetting, .forgotten):
      state = .open
      return []
    case (.opening, .failed(let failure)), (.forgetting, .failed(let failure)): return fail(failure, at: now)
    default: return []
    }
  }

  private mutating func committed(_ attempt: Attempt, at now: BootInstant) -> [Effect] {
    pending.written()
    resetBackoff()
    isFileVerified = isClosing
    let dropped = reportDropped(attempt)
    if pending.isPartialBatch {
      (state, dueAt) = (.open, now + StoreAgent.batchPause)
      return dropped
    }
    // At the end of the run the stored positions remain in the file for the next run. New settings may name another
    // vehicle.
    guard isRestorePending, isReady, nextSettings == nil, !isClosing else {
      state = .open
      return dropped + report(.healthy)
    }
    state = .reading(Attempt(hasReplaced: attempt.hasReplaced))
    return dropped + [.perform(.read(vehicle))]
  }

  /// Replaces an unusable file, or reopens a file that was replaced; any other failure ends the attempt.
  private mutating func recover(_ attempt: Attempt, from failure: Failure, at now: BootInstant) -> [Effect] {
    let dropped = reportDropped(attempt)
    guard !attempt.hasReplaced, let directory = configuration.directory else {
      return dropped + fail(failure, at: now)
    }
    switch failure.kind {
    case .unusable:
      state = .opening(Attempt(hasReplaced: true))
      return dropped + [.perform(.replace(directory: directory, maxSize: configuration.maxSize, why: failure.message))]
    case .replaced:
      state = .opening(Attempt(hasReplaced: true))
      return dropped + [.perform(.close), .perform(.open(directory: directory, maxSize: configuration.maxSize))]
    case .full, .other: return dropped + fail(failure, at: now)
    }
  }

  /// Retries after a backoff, with a new connection: after an I/O error the old one may be unusable.
  private mutating func fail(_ failure: Failure, at now: BootInstant) -> [Effect] {
    isFailing = true
    _ = gate.failed(StoreAgent.retryBackoff, at: now)
    state = .closed
    return [.perform(.close)] + report(.memoryOnly(failure.message))
  }

  private mutating func resetBackoff() {
    isFailing = false
    gate.reset()
  }

  // MARK: - Empty files

  /// Fills the file from memory.
  private mutating func startOver(_ records: [Backlog.Record], at now: BootInstant) -> [Effect] {
    switch state {
    case .refilling(let attempt):
      pending.startOver(records, of: vehicle)
      return commit(attempt, at: now)
    case .moving:
      pending.startOver(records, of: vehicle)
      dueAt = pending.isEmpty ? nil : now + commitInterval
      resetBackoff()
      state = .moved
      return []
    default: return []
    }
  }

  private mutating func useSettings() {
    guard let (new, newVehicle) = nextSettings else { return }
    nextSettings = nil
    if state == .moved {
      state = .closed
      isRestorePending = true
    }
    if newVehicle != vehicle {
      isRestorePending = true
    } else if new.directory == nil {
      // Without a file, changes are not followed.
      pending.startOver([], of: vehicle)
    }
    if new.maxSize != configuration.maxSize { isLimitOutdated = true }
    (configuration, vehicle) = (new, newVehicle)
    isAttemptRequested = true
    isReady = true
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
