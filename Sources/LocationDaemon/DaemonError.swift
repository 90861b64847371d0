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
  /// What is wrong (with file, key or device) and what to do, in one or more lines.
  package let message: String
  /// The underlying error; nil if there is none.
  package let cause: (any Error)?

  package init(_ code: Int32, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// Whether the only problem is something outside the settings that may appear later: a missing file or host name, or
  /// a credential or secret file that cannot be used yet.
  package var mayAppearLater: Bool {
    switch cause {
    case let error as ConfigurationError: error.mayAppearLater
    case let error as KeptSettings.Refusal: error.mayAppearLater
    case is ServiceManagerError: true
    default: false
    }
  }

  /// Whether this user may not read a settings file, or a file that it names.
  var isPermissionDenied: Bool {
    switch cause {
    case let error as ConfigurationError: error.isPermissionDenied
    case let error as ServiceManagerError: error.code == .denied
    default: false
    }
  }

  /// Converts the error that ended a run. An error that is not a `DaemonError` has the exit code `system`.
  init(stoppedBy error: any Error) {
    switch error {
    case let error as DaemonError: self = error
    case let error as EventLoopError: self.init(ExitCode.system, error.message, cause: error)
    default: self.init(ExitCode.system, "\(error)", cause: error)
    }
  }
}
