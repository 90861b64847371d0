// SPDX-License-Identifier: Apache-2.0

/// What the store on disk says of itself.
package enum BacklogStoreState: Equatable, Sendable {
  /// There is none: no directory is set.
  case off
  /// There is one, which is not read yet: `VehicleAgent.Effect.readStore` asks for it.
  case unread
  /// The file follows every change.
  case healthy
  /// It does not for now; the text says why and what to do. What it lacks is written when it can be.
  case memoryOnly(String)
}
