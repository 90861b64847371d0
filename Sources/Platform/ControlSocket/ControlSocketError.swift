// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// The control socket cannot be created, or the daemon does not respond.
package typealias ControlSocketError = PlatformError<ControlSocketErrorCode>

/// What is wrong with the control socket.
package nonisolated enum ControlSocketErrorCode: Sendable {
  /// There is no socket, or nothing listens on it: the daemon is not running.
  case absent
  /// Permission denied.
  case permissionDenied
  /// The daemon did not respond in time, or closed the connection.
  case silent
  /// Any other error.
  case failed
}
