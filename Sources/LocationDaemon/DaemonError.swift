// SPDX-License-Identifier: Apache-2.0
import Configuration
import EventLoop
import ServiceManager
import SystemCalls

/// Why the daemon cannot start, or cannot apply new settings.
package nonisolated struct DaemonError: Error, Sendable {
  /// Prefix of the status text of systemd after the daemon has ended with an error.
  package static let statusPrefix = "Ended: "

  /// One of `ExitCode`.
  package let code: Int32
  /// One line or more for a person: file, key or device, and what to do.
  package let message: String
  /// The underlying error; nil if there is none.
  package let cause: (any Error)?

  package init(_ code: Int32, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// Whether the only problem is a file or credential of the settings that cannot be used yet: missing, incomplete or not
  /// readable for this user.
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

  /// Converts the error that ended a run; other errors than the daemon's own count as errors of the system.
  init(stoppedBy error: any Error) {
    switch error {
    case let error as DaemonError: self = error
    case let error as EventLoopError: self.init(ExitCode.system, error.message, cause: error)
    default: self.init(ExitCode.system, "\(error)", cause: error)
    }
  }
}
