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
    case finished
  }

  private(set) var state = State.running

  /// Neither stopping nor delivering what a recording has left.
  package var isRunning: Bool { state == .running }
  /// There is nothing more to do.
  package var isFinished: Bool { state == .finished }
  /// The last attempt of a run that was asked to stop has been made.
  var isLastAttemptMade: Bool { if case .stopping(_, attempted: true) = state { true } else { false } }

  /// Every source has ended.
  ///
  /// - Parameter deadline: until when what is pending is delivered.
  /// - Returns: whether the end of the run begins with it.
  mutating func drain(until deadline: BootInstant) -> Bool {
    guard isRunning else { return false }
    state = .draining(until: deadline)
    return true
  }

  /// The process was asked to stop; the first request counts.
  ///
  /// - Parameter deadline: until when one last attempt may take.
  /// - Returns: whether the end of the run begins with it.
  mutating func stop(until deadline: BootInstant) -> Bool {
    let begins = isRunning
    switch state {
    case .running, .draining: state = .stopping(until: deadline, attempted: false)
    case .stopping, .finished: break
    }
    return begins
  }

  /// An attempt is made: when the run was asked to stop, it is the last.
  mutating func attempt() {
    if case .stopping(let until, _) = state { state = .stopping(until: until, attempted: true) }
  }

  /// Nothing more is done.
  mutating func finish(undelivered: Int, _ statistics: Statistics) -> Ending {
    let isAsked = if case .stopping = state { true } else { false }
    state = .finished
    return Ending(undelivered: undelivered, recording: isAsked ? nil : statistics)
  }
}
