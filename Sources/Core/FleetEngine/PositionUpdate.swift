// SPDX-License-Identifier: Apache-2.0

/// What one update says of a vehicle, whichever service it goes to.
package struct PositionUpdate: Equatable, Sendable {
  /// The position that becomes `lastLocation`.
  package var live: VehicleLocation
  /// Whole seconds since the place of `live` was first sent; nil the first time.
  package var timeSinceUpdate: Int?
  /// What becomes `pastLocations`: oldest first, none newer than `live`.
  package var past: [VehicleLocation]

  package init(live: VehicleLocation, timeSinceUpdate: Int? = nil, past: [VehicleLocation] = []) {
    self.live = live
    self.timeSinceUpdate = timeSinceUpdate
    self.past = past
  }
}
