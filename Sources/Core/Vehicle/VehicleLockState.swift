// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Whether another process on this machine has locked the vehicle, and when to try again to lock it.
struct VehicleLockState: Equatable, Sendable {
  /// The time between two attempts. Each costs one system call, and is made only while another process has the vehicle.
  static let attemptInterval = Duration.seconds(5)

  /// The result of an attempt.
  enum Change: Equatable {
    case none
    /// Another process has the vehicle. `isNew`: false if a different process had it before.
    case begins(isNew: Bool)
    /// This process has it, after this time. `isTokenFileChanged`: whether the token file changed in that time.
    case ends(after: Duration, isTokenFileChanged: Bool)
  }

  private struct Wait: Equatable {
    var holder: VehicleHolder
    var since: BootInstant
    var nextAttempt: BootInstant
    var isTokenFileChanged = false
  }

  private var wait: Wait?

  /// The process that has locked the vehicle; nil if it is this one, or if the machine has no such locks.
  var holder: VehicleHolder? { wait?.holder }

  /// When another process was first found to have it; nil if none has.
  var since: BootInstant? { wait?.since }

  /// When to try again; nil if no other process has it.
  var nextAttempt: BootInstant? { wait?.nextAttempt }

  /// An attempt was made.
  ///
  /// - Parameter holder: the process that has locked the vehicle; nil if this one has, or if the machine has no such
  ///   locks.
  mutating func attemptEnded(_ holder: VehicleHolder?, at now: BootInstant) -> Change {
    guard let holder else {
      guard let ended = wait else { return .none }
      wait = nil
      return .ends(after: now - ended.since, isTokenFileChanged: ended.isTokenFileChanged)
    }
    guard let before = wait else {
      wait = Wait(holder: holder, since: now, nextAttempt: now + VehicleLockState.attemptInterval)
      return .begins(isNew: true)
    }
    wait?.holder = holder
    wait?.nextAttempt = now + VehicleLockState.attemptInterval
    return before.holder == holder ? .none : .begins(isNew: false)
  }

  /// An attempt is being made; its result follows.
  mutating func beginAttempt(at now: BootInstant) {
    wait?.nextAttempt = now + VehicleLockState.attemptInterval
  }

  /// The token file has changed.
  ///
  /// - Returns: whether to read it now; otherwise it is read when this process has the vehicle.
  mutating func admitTokenFileChange() -> Bool {
    guard wait != nil else { return true }
    wait?.isTokenFileChanged = true
    return false
  }

  /// The settings name another vehicle, so that the next result is the first one.
  mutating func vehicleChanged() {
    wait = nil
  }
}
