// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// The control socket cannot be created, or the daemon does not respond.
package typealias ControlSocketError = PlatformError<ControlServer>

nonisolated extension PlatformError.Code where Owner == ControlServer {
  /// There is no socket, or nothing listens on it: the daemon is not running.
  package static var absent: Self { Self(rawValue: "absent") }
  /// Permission denied.
  package static var denied: Self { Self(rawValue: "denied") }
  /// The daemon did not respond in time, or closed the connection.
  package static var silent: Self { Self(rawValue: "silent") }
  /// Any other error.
  package static var failed: Self { Self(rawValue: "failed") }
}
