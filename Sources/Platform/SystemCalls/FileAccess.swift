// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The access that this process has to a file, by access(2).
package enum FileAccess {
  /// - Parameter mode: F_OK for existence, or a combination of R_OK, W_OK and X_OK.
  /// - Returns: the error, such as ENOENT or EACCES; nil if access is granted.
  package static func error(_ path: String, _ mode: Int32) -> Errno? {
    do throws(Errno) {
      _ = try Errno.retrying { unsafe access(path, mode) }
      return nil
    } catch {
      return error
    }
  }

  /// What is in place of a regular file, as in `a FIFO`; nil if it is a regular file, or nothing is there.
  package static func nonRegularKind(of path: String) -> String? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    switch status.kind {
    case S_IFREG: return nil
    case S_IFDIR: return "a directory"
    case S_IFLNK: return "a symbolic link"
    case S_IFIFO: return "a FIFO"
    case S_IFSOCK: return "a socket"
    default: return "a device"
    }
  }
}
