// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
package import Positioning

/// What has happened since the start, counted by its reason.
package struct Statistics: Equatable, Sendable {
  /// Fixes that the source gave.
  package var fixes = 0
  /// Fixes that the filter rejected, by reason.
  package var rejected: [FixRejection: Int] = [:]
  /// Accepted fixes that came too early: of a source whose clock is behind that of the source before.
  package var held = 0
  /// Fixes that the filter accepted.
  package var acceptedFixes: Int { fixes - rejected.values.reduce(0, +) }
  /// Fixes that were rejected and did not only repeat another.
  package var contradictingFixes: Int { rejected.reduce(0) { $0 + ($1.key == .duplicate ? 0 : $1.value) } }
  /// Requests to Fleet Engine.
  package var attempts = 0
  /// Requests that Fleet Engine accepted.
  package var accepted = 0
  /// Requests given up because the network changed under them.
  package var abandoned = 0
  /// Requests that failed, by category.
  package var failed: [UpdateFailure.Category: Int] = [:]
  /// Positions that arrived as `pastLocations`.
  package var backfilled = 0
  /// Positions that left the backlog.
  package var removed: [Backlog.Removal: Int] = [:]
  /// Requests to the token provider.
  package var tokenFetches = 0
  /// Tokens that the provider gave.
  package var tokens = 0
  /// Requests to the token provider that gave no token, by `TokenFailure.Reason.name`.
  package var tokenFailures: [String: Int] = [:]

  /// Nothing has happened yet.
  package init() {}
}
