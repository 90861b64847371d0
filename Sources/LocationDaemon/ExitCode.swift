// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls
import Vehicle

/// Exit statuses of the daemon, after sysexits.h; also in `docs/architecture.md` and `--help`.
package nonisolated enum ExitCode {
  /// The daemon was stopped, or its recording was delivered.
  package static let done: Int32 = 0
  /// The command line is invalid.
  package static let usage: Int32 = 64
  /// A recording ended, and most of its positions were rejected, or it had none.
  package static let rejected: Int32 = 65
  /// A file or credential that the settings name was missing for too long; a new start may find it.
  package static let unavailable: Int32 = 69
  /// The system denied a required resource, such as an event loop; or a directory of the service was deleted.
  package static let system: Int32 = 71
  /// Another daemon uses the same directories, or the runtime and the state directory are the same one; or the daemon
  /// was started by hand with the settings of an installed service that is running or paused.
  package static let inUse: Int32 = 73
  /// Standard output could not be written, for example to a full disk.
  package static let output: Int32 = 74
  /// A recording ended, and some of it could not be delivered.
  package static let undelivered: Int32 = 75
  /// This user may not read the settings or a secret that they name.
  package static let permissionDenied: Int32 = 77
  /// The settings, or a file or credential that they name, are invalid.
  package static let configuration: Int32 = 78

  /// For a file that cannot be read: `unavailable` if it does not exist, because it may appear later.
  static func ofFile(_ path: String) -> Int32 {
    FileAccess.error(path, F_OK)?.code == ENOENT ? unavailable : configuration
  }

  /// For the result of a run.
  static func of(_ result: Lifecycle.Ending.Result) -> Int32 {
    switch result {
    case .stopped, .delivered: done
    case .restarting: system
    case .undelivered: undelivered
    case .rejected: rejected
    }
  }
}
