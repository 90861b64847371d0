// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// The life of a source of fixes, as a value: it opens, reads and reopens what it reads, and reports.
///
/// All sessions have the same words for it. Inputs: `start`, `opened`, `openFailed`, `ended`, `deadline`; effects:
/// `open`, `close`, `pause`, `report`. Each has those of them that its source can need, and others of its own.
package protocol SourceSession {
  associatedtype Input: SourceSessionInput
  associatedtype Effect

  /// When to handle `deadline`; nil while waiting for something else.
  var nextDeadline: BootInstant? { get }

  /// Handles an input, and returns the effects in order.
  mutating func handle(_ input: Input, at now: Moment) -> [Effect]
}

/// What happens to every source.
package protocol SourceSessionInput {
  /// Begins to open it.
  static var start: Self { get }
  /// `nextDeadline` has passed.
  static var deadline: Self { get }
}

/// A session for which only elapsed time counts.
package protocol ElapsedTimeSession: SourceSession {
  /// The same.
  mutating func handle(_ input: Input, at now: BootInstant) -> [Effect]
}

extension ElapsedTimeSession {
  package mutating func handle(_ input: Input, at now: Moment) -> [Effect] { handle(input, at: now.boot) }
}
