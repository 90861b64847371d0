// SPDX-License-Identifier: Apache-2.0
package import PositionBacklog
package import FleetEngine
package import Positioning

/// Counters since the start, by reason.
package struct Statistics: Equatable, Sendable {
  /// Fixes that the source reported.
  package var fixes = 0
  /// Fixes that the filter rejected, by reason.
  package var rejected: [FixRejection: Int] = [:]
  /// Accepted fixes that were held because the clock of their source is behind that of the previous source, or differs
  /// too much from it.
  package var held = 0
  /// Fixes that the filter accepted.
  package var acceptedFixes: Int { fixes - rejected.values.reduce(0, +) }
  /// Rejected fixes except duplicates.
  package var nonDuplicateRejections: Int { rejected.reduce(0) { $0 + ($1.key == .duplicate ? 0 : $1.value) } }
  /// Requests to Fleet Engine.
  package var attempts = 0
  /// Requests that Fleet Engine accepted.
  package var accepted = 0
  /// Requests that were cancelled: the network changed, the machine resumed, a pause began, another process locked the
  /// vehicle, or the run set OFFLINE at its end.
  package var abandoned = 0
  /// Requests that failed, by category.
  package var failed: [UpdateFailure.Category: Int] = [:]
  /// Past positions that were delivered.
  package var backfilled = 0
  /// Positions that were removed from the backlog, by reason, delivered ones included.
  package var removed: [Backlog.Removal: Int] = [:]
  /// Requests to the token provider.
  package var tokenFetches = 0
  /// Tokens that the provider returned.
  package var tokens = 0
  /// Failed requests to the token provider, by `TokenFailure.Reason.name`.
  package var tokenFailures: [String: Int] = [:]

  /// All zero.
  package init() {}
}
