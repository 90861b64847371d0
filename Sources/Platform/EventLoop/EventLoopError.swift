// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// An error of the event loop.
package typealias EventLoopError = PlatformError<EventLoop>

nonisolated extension PlatformError.Code where Owner == EventLoop {
  /// The loop itself could not be created or run.
  package static var loop: Self { Self(rawValue: "loop") }
  /// A descriptor, timer, signal, child or path could not be watched.
  package static var source: Self { Self(rawValue: "source") }
}

nonisolated extension PlatformError where Owner == EventLoop {
  /// - Parameter result: what libsystemd returned: a negative errno.
  init(_ code: Code, _ what: String, result: Int32) {
    self.init(code, what: what, cause: Errno(result == .min ? .max : abs(result)))
  }

  init(_ code: Code, what: String, cause: Errno) {
    self.init(code, "cannot \(what): \(cause)", cause: cause)
  }
}
