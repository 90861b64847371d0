// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// An error of the event loop.
package typealias EventLoopError = PlatformError<EventLoopErrorCode>

/// What the event loop could not do.
package nonisolated enum EventLoopErrorCode: Sendable {
  /// The loop itself could not be created or run.
  case loop
  /// A descriptor, timer, signal, child or path could not be watched.
  case source
}

nonisolated extension PlatformError where Code == EventLoopErrorCode {
  /// - Parameter result: what libsystemd returned: a negative errno.
  init(_ code: Code, _ what: String, result: Int32) {
    self.init(code, what: what, cause: Errno(result == .min ? .max : abs(result)))
  }

  init(_ code: Code, what: String, cause: Errno) {
    self.init(code, "cannot \(what): \(cause)", cause: cause)
  }
}
