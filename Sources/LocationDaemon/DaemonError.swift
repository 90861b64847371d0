// SPDX-License-Identifier: Apache-2.0
import Configuration
import EventLoop
import ServiceManager
import SystemCalls

/// Why the daemon cannot begin, or cannot take new settings.
package nonisolated struct DaemonError: Error, Sendable {
  /// What the line of `systemctl status` begins with when the daemon has ended with an error.
  package static let statusPrefix = "Ended: "

  /// One of `ExitCode`.
  package let code: Int32
  /// One line or more for a person: file, key or device, and what to do.
  package let message: String
  /// What a wrapper or the core threw; nil when the daemon itself found the fault.
  package let cause: (any Error)?

  package init(_ code: Int32, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// Whether nothing is wrong but that a file or credential which the settings name cannot be used yet: it is not there, or
  /// not whole, or closed to this user.
  package var isAbsence: Bool {
    switch cause {
    case let error as ConfigurationError: error.isAbsence
    case let error as KeptSettings.Refusal: error.isAbsence
    case is ServiceManagerError: true
    default: false
    }
  }

  /// Whether this user may not read a settings file or a secret.
  var isDenied: Bool {
    switch cause {
    case let error as ConfigurationError: error.isDenial
    case let error as ServiceManagerError: error.code == .denied
    default: false
    }
  }

  /// Whatever ended a run; what is not the daemon's own word for it is the system's doing.
  init(stoppedBy error: any Error) {
    switch error {
    case let error as DaemonError: self = error
    case let error as EventLoopError: self.init(ExitCode.system, error.message, cause: error)
    default: self.init(ExitCode.system, "\(error)", cause: error)
    }
  }
}
