// SPDX-License-Identifier: Apache-2.0

/// The state of the persistent store.
package enum BacklogStoreState: Equatable, Sendable {
  /// No directory is set.
  case off
  /// There is a store that has not been read yet: `VehicleAgent.Effect.readStore` requests that.
  case unread
  /// All changes are persisted.
  case healthy
  /// Changes are only in memory for now; the text has the cause and the remedy. They are written when possible.
  case memoryOnly(String)
}
