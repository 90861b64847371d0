// SPDX-License-Identifier: Apache-2.0
import Glibc

/// What the kernel said when it refused a call.
package struct Errno: Error, Equatable, Sendable, CustomStringConvertible {
  /// As in errno(3), positive.
  package let code: Int32

  package init(_ code: Int32) {
    self.code = code
  }

  /// The words of strerror(3), as in `Permission denied`.
  package var description: String {
    guard let text = unsafe strerror(code) else { return "error \(code)" }
    return unsafe String(cString: text)
  }

  /// Makes a call until no signal interrupts it, and reads errno before anything else can change it.
  ///
  /// - Parameter call: returns a negative number when it failed.
  /// - Throws: what errno was.
  package static func retrying<Result: SignedInteger>(_ call: () -> Result) throws(Errno) -> Result {
    while true {
      let result = call()
      if result >= 0 { return result }
      let code = errno
      if code != EINTR { throw Errno(code) }
    }
  }
}
