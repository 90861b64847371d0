// SPDX-License-Identifier: Apache-2.0

/// Another process on this machine that reports the same vehicle.
package struct VehicleHolder: Equatable, Sendable {
  /// Its systemd unit, such as `fleet-locationd@van.service`; nil if it is not a service.
  package var unit: String?
  /// Its process ID; nil if unknown.
  package var processID: Int32?

  package init(unit: String?, processID: Int32?) {
    self.unit = unit
    self.processID = processID
  }
}
