// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// The control socket cannot be made, or nobody answers at it.
package typealias ControlSocketError = PlatformError<ControlServer>

nonisolated extension PlatformError.Code where Owner == ControlServer {
  /// There is no socket, or nobody listens at it: the daemon does not run.
  package static var absent: Self { Self(rawValue: "absent") }
  /// This user may not use it.
  package static var denied: Self { Self(rawValue: "denied") }
  /// The daemon did not answer in time, or broke off.
  package static var silent: Self { Self(rawValue: "silent") }
  /// The system refuses.
  package static var failed: Self { Self(rawValue: "failed") }
}
