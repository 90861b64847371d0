// SPDX-License-Identifier: Apache-2.0

/// A limit of the request rate.
package enum RequestLimit: String, Equatable, Sendable {
  /// Fleet Engine's minimum time between updates of a vehicle.
  case floor
  /// The daemon's own rate limit.
  case attempts
  /// The machine has just resumed, and the daemon waits for the receiver.
  case waking
}
