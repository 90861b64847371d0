// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The access of this process to a file, by access(2).
package enum FileAccess {
  /// - Parameter mode: F_OK for existence, or a combination of R_OK, W_OK and X_OK.
  /// - Returns: the error, as ENOENT or EACCES; nil if access is granted.
  package static func refusal(_ path: String, _ mode: Int32) -> Errno? {
    do throws(Errno) {
      _ = try Errno.retrying { unsafe access(path, mode) }
      return nil
    } catch {
      return error
    }
  }
}
