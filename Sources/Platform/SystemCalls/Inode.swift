// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The device and inode of a file or directory: another file in its place has different ones.
package struct Inode: Equatable, Sendable {
  private let device: UInt64
  private let number: UInt64

  /// Nil if nothing is there, or this user cannot find it. A symbolic link is not followed.
  package init?(of path: String) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    device = UInt64(status.st_dev)
    number = UInt64(status.st_ino)
  }
}
