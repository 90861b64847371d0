// SPDX-License-Identifier: Apache-2.0

/// The content of one update, independent of the service.
package struct PositionUpdate: Equatable, Sendable {
  /// The position for `lastLocation`.
  package var live: VehicleLocation
  /// Whole seconds since the position of `live` was first sent; nil the first time.
  package var timeSinceUpdate: Int?
  /// The positions for `pastLocations`: oldest first, none newer than `live`.
  package var past: [VehicleLocation]

  package init(live: VehicleLocation, timeSinceUpdate: Int? = nil, past: [VehicleLocation] = []) {
    self.live = live
    self.timeSinceUpdate = timeSinceUpdate
    self.past = past
  }
}
