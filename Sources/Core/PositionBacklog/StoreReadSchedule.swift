// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// When to read the store: after the first request, so that the live position does not wait for a large backlog, or, if
/// there is no request, soon after the start.
package struct StoreReadSchedule: Equatable, Sendable {
  /// How long to wait for the first request.
  static let holdOff = Duration.seconds(3)

  private enum State: Equatable {
    /// There is no store, or it has been read.
    case done
    /// There is a store; it is read at `due`.
    case held(since: BootInstant, due: BootInstant)
    /// The store is being read; `since`: when reading became pending.
    case reading(since: BootInstant)
  }

  private var state = State.done

  package init() {}

  /// When to read the store; nil if there is nothing to read.
  package var dueAt: BootInstant? { if case .held(_, let due) = state { due } else { nil } }
  /// Positions of previous runs may still be restored.
  package var isPending: Bool { state != .done }

  /// There is a store that has not been read.
  package mutating func found(at now: BootInstant) {
    state = .held(since: now, due: now + StoreReadSchedule.holdOff)
  }

  /// A request has ended, successfully or not.
  package mutating func requestEnded() {
    if case .held(let since, _) = state { state = .held(since: since, due: .boot) }
  }

  /// Reading has begun.
  package mutating func begin() {
    if case .held(let since, _) = state { state = .reading(since: since) }
  }

  /// The store cannot be read for now.
  package mutating func failed() {
    if case .reading = state { state = .done }
  }

  /// Reading has ended.
  ///
  /// - Returns: when reading became pending; nil if it was not.
  package mutating func ended() -> BootInstant? {
    defer { state = .done }
    switch state {
    case .done: return nil
    case .held(let since, _), .reading(let since): return since
    }
  }
}
