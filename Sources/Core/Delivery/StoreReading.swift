// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// When the store is read: after the first request, so that the live position does not wait for a large backlog, or soon after
/// the start where none is made.
struct StoreReading: Equatable, Sendable {
  /// How long the first request has to itself.
  static let holdOff = Duration.seconds(3)

  private enum State: Equatable {
    /// There is no store, or it has been read.
    case done
    /// The store was found; it is read at `due`.
    case held(since: BootInstant, due: BootInstant)
    /// The store is read, and has not answered.
    case asked(since: BootInstant)
  }

  private var state = State.done

  /// When to ask for it; nil when there is nothing to ask for.
  var dueAt: BootInstant? { if case .held(_, let due) = state { due } else { nil } }
  /// More positions of earlier runs may come.
  var isPending: Bool { state != .done }

  /// There is a store, which has not been read.
  mutating func found(at now: BootInstant) {
    state = .held(since: now, due: now + StoreReading.holdOff)
  }

  /// A request has ended, however it did.
  mutating func requestEnded() {
    if case .held(let since, _) = state { state = .held(since: since, due: .boot) }
  }

  /// The store is asked.
  mutating func ask() {
    if case .held(let since, _) = state { state = .asked(since: since) }
  }

  /// The store cannot answer for now.
  mutating func failed() {
    if case .asked = state { state = .done }
  }

  /// The store has answered.
  ///
  /// - Returns: since when the answer was pending; nil if it was not.
  mutating func ended() -> BootInstant? {
    defer { state = .done }
    switch state {
    case .done: return nil
    case .held(let since, _), .asked(let since): return since
    }
  }
}
