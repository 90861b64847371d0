// SPDX-License-Identifier: Apache-2.0
import Glibc

/// An error of a system call.
package struct Errno: Error, Equatable, Sendable, CustomStringConvertible {
  /// The error number, as in errno(3); positive.
  package let code: Int32

  package init(_ code: Int32) {
    self.code = code
  }

  /// The text of strerror(3), as in `Permission denied`.
  package var description: String {
    guard let text = unsafe strerror(code) else { return "error \(code)" }
    return unsafe String(cString: text)
  }

  /// Repeats a call while signals interrupt it (EINTR), and reads errno at once.
  ///
  /// - Parameter call: returns a negative number if it failed.
  /// - Throws: the error number.
  package static func retrying<Result: SignedInteger>(_ call: () -> Result) throws(Errno) -> Result {
    while true {
      let result = call()
      if result >= 0 { return result }
      let code = errno
      if code != EINTR { throw Errno(code) }
    }
  }
}
