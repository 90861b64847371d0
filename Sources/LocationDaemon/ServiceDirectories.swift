// SPDX-License-Identifier: Apache-2.0
import SystemCalls

/// The directories that systemd has made for the service. Once deleted, one cannot be made again by the service, whose
/// sandbox contains only the one that was there at the start.
nonisolated struct ServiceDirectories {
  private let directories: [(path: String, identity: Inode)]

  /// The directories of this process; none without systemd, which would not start it again.
  init(isService: Bool) {
    directories =
      (isService ? ["RUNTIME_DIRECTORY", "STATE_DIRECTORY"] : [])
      .flatMap { Environment.value(of: $0)?.split(separator: ":").map(String.init) ?? [] }
      .compactMap { path in Inode(of: path).map { (path, $0) } }
  }

  /// The first one that was deleted, or replaced by another one, since this was made; nil: none.
  var deleted: String? { directories.first { Inode(of: $0.path) != $0.identity }?.path }
}
