// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// The course of a run: it runs, then delivers what is pending, then has finished. Nothing leads back.
package struct Lifecycle: Equatable, Sendable {
  /// Why a run comes to its end.
  package enum StopReason: Equatable, Sendable {
    /// The process was asked to, by this signal, as in `SIGTERM`.
    case signal(String)
    /// Every source has ended, as a recording does.
    case sourcesEnded
  }

  /// What a run has come to.
  package struct Ending: Equatable, Sendable {
    /// From which the exit status follows.
    package enum Result: Equatable, Sendable {
      /// It was asked to stop, and has done what could be done in the time.
      case stopped
      /// The recording has ended, and Fleet Engine has all of it that was accepted.
      case delivered
      /// The recording has ended, and some of it did not reach Fleet Engine.
      case undelivered
      /// The recording has ended, and most of its positions were rejected, or it had none.
      case rejected
    }

    /// How it ended.
    package var result: Result
    /// Positions that did not reach Fleet Engine.
    package var undelivered: Int
    /// Counts of the run; nil when it was asked to stop.
    package var recording: Statistics?

    /// - Parameter recording: nil when the run was asked to stop.
    package init(undelivered: Int, recording: Statistics?) {
      self.undelivered = undelivered
      self.recording = recording
      guard let recording else {
        result = .stopped
        return
      }
      if recording.acceptedFixes <= recording.contradictingFixes {
        result = .rejected
      } else {
        result = undelivered == 0 ? .delivered : .undelivered
      }
    }
  }

  enum State: Equatable {
    case running
    /// Every source has ended; until when to try.
    case draining(until: BootInstant)
    /// Asked to stop; until when to try, and whether the last attempt has been made.
    case stopping(until: BootInstant, attempted: Bool)
    /// The last position has been sent, and OFFLINE is due; until when to try, and whether that attempt has been made.
    /// `isAsked`: whether the process was asked to stop.
    case leaving(until: BootInstant, attempted: Bool, isAsked: Bool)
    case finished
  }

  private(set) var state = State.running
  /// What is kept free for OFFLINE of the time until the end.
  private var reserve = Duration.zero

  /// Neither stopping nor delivering what a recording has left.
  package var isRunning: Bool { state == .running }
  /// There is nothing more to do.
  package var isFinished: Bool { state == .finished }
  /// The last position of a run that ends has been sent, or never will be.
  var isLastAttemptMade: Bool {
    switch state {
    case .stopping(_, attempted: true), .leaving: true
    default: false
    }
  }
  /// Only OFFLINE is left to be sent.
  var isLeaving: Bool { if case .leaving = state { true } else { false } }

  /// Of the time that a run has for its end, so much is kept free for OFFLINE: half of it, and 5 s at most.
  static func reserve(of time: Duration) -> Duration { min(time / 2, .seconds(5)) }

  /// Every source has ended.
  ///
  /// - Parameters:
  ///   - deadline: until when what is pending is delivered.
  ///   - reserve: what is kept free of it for OFFLINE.
  /// - Returns: whether the end of the run begins with it.
  mutating func drain(until deadline: BootInstant, reserving reserve: Duration = .zero) -> Bool {
    guard isRunning else { return false }
    self.reserve = reserve
    state = .draining(until: deadline - reserve)
    return true
  }

  /// The process was asked to stop; the first request counts.
  ///
  /// - Parameters:
  ///   - deadline: until when one last attempt may take.
  ///   - reserve: what is kept free of it for OFFLINE.
  /// - Returns: whether the end of the run begins with it.
  mutating func stop(until deadline: BootInstant, reserving reserve: Duration = .zero) -> Bool {
    let begins = isRunning
    switch state {
    case .running, .draining:
      self.reserve = reserve
      state = .stopping(until: deadline - reserve, attempted: false)
    case .leaving(let until, let attempted, _):
      state = .leaving(until: min(until, deadline), attempted: attempted, isAsked: true)
    case .stopping, .finished: break
    }
    return begins
  }

  /// An attempt is made: when the run was asked to stop, it is the last of its kind.
  mutating func attempt() {
    switch state {
    case .stopping(let until, _): state = .stopping(until: until, attempted: true)
    case .leaving(let until, _, let isAsked): state = .leaving(until: until, attempted: true, isAsked: isAsked)
    case .running, .draining, .finished: break
    }
  }

  /// No position is sent any more; OFFLINE is, once.
  mutating func leave() {
    switch state {
    case .draining(let until): state = .leaving(until: until + reserve, attempted: false, isAsked: false)
    case .stopping(let until, _): state = .leaving(until: until + reserve, attempted: false, isAsked: true)
    case .running, .leaving, .finished: break
    }
  }

  /// Nothing more is done.
  mutating func finish(undelivered: Int, _ statistics: Statistics) -> Ending {
    let isAsked =
      switch state {
      case .stopping, .leaving(_, _, isAsked: true): true
      default: false
      }
    state = .finished
    return Ending(undelivered: undelivered, recording: isAsked ? nil : statistics)
  }
}
