// SPDX-License-Identifier: Apache-2.0
import Glibc

/// What this process may do with a file, by access(2).
package enum FileAccess {
  /// - Parameter mode: F_OK for its existence, or R_OK, W_OK and X_OK together.
  /// - Returns: why not, as ENOENT or EACCES; nil when it may.
  package static func refusal(_ path: String, _ mode: Int32) -> Errno? {
    do throws(Errno) {
      _ = try Errno.retrying { unsafe access(path, mode) }
      return nil
    } catch {
      return error
    }
  }
}
