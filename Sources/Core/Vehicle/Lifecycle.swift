// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// The stages of a run: it runs, then delivers what is pending, then has finished. It never returns to an earlier
/// stage.
package struct Lifecycle: Equatable, Sendable {
  /// Why a run ends.
  package enum StopReason: Equatable, Sendable {
    /// By a signal, such as `SIGTERM`.
    case signal(String)
    /// Every source has ended, as recordings do.
    case sourcesEnded
    /// This directory of the service was deleted, and only a new start recreates it.
    case directoryDeleted(String)
  }

  /// The result of a run.
  package struct Ending: Equatable, Sendable {
    /// Determines the exit status.
    package enum Result: Equatable, Sendable {
      /// A stop was requested, and everything possible was done in the given time.
      case stopped
      /// The service must be started again.
      case restarting
      /// The recording has ended, and all accepted positions were delivered.
      case delivered
      /// The recording has ended, and some positions were not delivered.
      case undelivered
      /// The recording has ended, and most of its positions were rejected, or it had none.
      case rejected
    }

    /// How it ended.
    package var result: Result
    /// The number of positions that were not delivered.
    package var undelivered: Int
    /// Whether the store has all of these for the next run. The vehicle's agent determines whether the backlog has
    /// them; when the store has ended, the run determines whether the store's file has them.
    package var isStored: Bool
    /// Statistics of the run; nil if a stop was requested.
    package var statistics: Statistics?

    /// - Parameters:
    ///   - statistics: nil if a stop was requested.
    ///   - isRestart: whether the stop was requested for a new start.
    package init(undelivered: Int, isStored: Bool = false, statistics: Statistics?, isRestart: Bool = false) {
      self.undelivered = undelivered
      self.isStored = isStored
      self.statistics = statistics
      guard let statistics else {
        result = isRestart ? .restarting : .stopped
        return
      }
      if statistics.acceptedFixes <= statistics.nonDuplicateRejections {
        result = .rejected
      } else {
        result = undelivered == 0 ? .delivered : .undelivered
      }
    }
  }

  enum State: Equatable {
    case running
    /// Every source has ended; delivery ends at `until`.
    case draining(until: BootInstant)
    /// A stop was requested; delivery ends at `until`. `attempted`: whether the final attempt was made.
    case stopping(until: BootInstant, attempted: Bool)
    /// The last position was sent, and OFFLINE is pending until `until`. `attempted`: whether its final attempt was
    /// made.
    case settingOffline(until: BootInstant, attempted: Bool, isStopRequested: Bool)
    case finished
  }

  private(set) var state = State.running
  /// The run ends so that the next one can begin.
  private(set) var isRestart = false
  /// The part of the remaining time that is reserved for OFFLINE.
  private var offlineReserve = Duration.zero

  /// Neither stopping nor draining.
  package var isRunning: Bool { state == .running }
  /// There is nothing more to do.
  package var isFinished: Bool { state == .finished }
  /// The final attempt for a position was made, or none will be.
  var isFinalAttemptMade: Bool {
    switch state {
    case .stopping(_, attempted: true), .settingOffline: true
    default: false
    }
  }
  /// Only OFFLINE is pending.
  var isSettingOffline: Bool { if case .settingOffline = state { true } else { false } }

  /// The part of the time for the end of a run that is reserved for OFFLINE: half of it, at most 5 s.
  static func offlineReserve(of time: Duration) -> Duration { min(time / 2, .seconds(5)) }

  /// Every source has ended.
  ///
  /// - Parameters:
  ///   - deadline: when the last attempt ends.
  ///   - reserve: the part of the time until then that is reserved for OFFLINE.
  /// - Returns: whether this begins the end of the run.
  mutating func drain(until deadline: BootInstant, reserving reserve: Duration = .zero) -> Bool {
    guard isRunning else { return false }
    offlineReserve = reserve
    state = .draining(until: deadline - reserve)
    return true
  }

  /// A stop was requested; only the first request counts.
  ///
  /// - Parameters:
  ///   - deadline: when the final attempt ends.
  ///   - reserve: the part of the time until then that is reserved for OFFLINE.
  ///   - isRestart: whether the run ends so that the next one begins.
  /// - Returns: whether this begins the end of the run.
  mutating func stop(
    until deadline: BootInstant, reserving reserve: Duration = .zero, isRestart: Bool = false
  ) -> Bool {
    let begins = isRunning
    switch state {
    case .running, .draining:
      self.isRestart = isRestart
      offlineReserve = reserve
      state = .stopping(until: deadline - reserve, attempted: false)
    case .settingOffline(let until, let attempted, _):
      state = .settingOffline(until: min(until, deadline), attempted: attempted, isStopRequested: true)
    case .stopping, .finished: break
    }
    return begins
  }

  /// An attempt is made: if a stop was requested, it is the final one of its kind.
  mutating func beginAttempt() {
    switch state {
    case .stopping(let until, _): state = .stopping(until: until, attempted: true)
    case .settingOffline(let until, _, let isStopRequested):
      state = .settingOffline(until: until, attempted: true, isStopRequested: isStopRequested)
    case .running, .draining, .finished: break
    }
  }

  /// No more positions are sent, only OFFLINE, once.
  mutating func beginSettingOffline() {
    switch state {
    case .draining(let until):
      state = .settingOffline(until: until + offlineReserve, attempted: false, isStopRequested: false)
    case .stopping(let until, _):
      state = .settingOffline(until: until + offlineReserve, attempted: false, isStopRequested: true)
    case .running, .settingOffline, .finished: break
    }
  }

  /// The run has ended.
  mutating func finish(undelivered: Int, isStored: Bool = false, _ statistics: Statistics) -> Ending {
    let isStopRequested =
      switch state {
      case .stopping, .settingOffline(_, _, isStopRequested: true): true
      default: false
      }
    state = .finished
    return Ending(
      undelivered: undelivered, isStored: isStored, statistics: isStopRequested ? nil : statistics,
      isRestart: isRestart)
  }
}
