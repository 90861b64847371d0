// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// The directories that systemd has made for the service. The service cannot make a deleted directory again, because
/// its sandbox contains only the directory that existed at the start.
nonisolated struct ServiceDirectories {
  private let directories: [(path: String, identity: Inode)]

  /// The directories of this process; none without systemd: nothing would start the process again.
  init(isService: Bool) {
    self.init(
      (isService ? ["RUNTIME_DIRECTORY", "STATE_DIRECTORY"] : [])
        .flatMap { Environment.value(of: $0)?.split(separator: ":").map(String.init) ?? [] })
  }

  init(_ paths: [String]) {
    directories = paths.compactMap { path in Inode(of: path).map { (path, $0) } }
  }

  /// The first directory that was deleted, or replaced by another one, since this value was made; nil if none was. One
  /// that cannot be examined, for example because of the mode of its parent, may still be there.
  var deleted: String? {
    directories.first { path, identity in
      guard let current = Inode(of: path) else {
        return FileAccess.error(path, F_OK).map { [ENOENT, ENOTDIR].contains($0.code) } ?? false
      }
      return current != identity
    }?.path
  }
}
