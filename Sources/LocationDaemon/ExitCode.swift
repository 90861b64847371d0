// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls
import Delivery

/// How the program ends, by the numbers of sysexits(3). `docs/architecture.md` and `--help` say the same.
package nonisolated enum ExitCode {
  /// It was asked to stop, or its recording was delivered.
  package static let done: Int32 = 0
  /// The command line cannot be understood.
  package static let usage: Int32 = 64
  /// A recording ended, and most of its positions were rejected, or it had none.
  package static let rejected: Int32 = 65
  /// A file or credential that the settings name did not come in time: a new start may get it.
  package static let unavailable: Int32 = 69
  /// The system denied what no program can do without, such as an event loop.
  package static let system: Int32 = 71
  /// Another daemon uses the same directories.
  package static let occupied: Int32 = 73
  /// A recording ended, and some of it could not be delivered.
  package static let undelivered: Int32 = 75
  /// This user may not read the settings or a secret that they name.
  package static let denied: Int32 = 77
  /// The settings, or a file or credential that they name, are at fault.
  package static let configuration: Int32 = 78

  /// Of a file that cannot be read: one that is not there may yet come.
  static func ofFile(_ path: String) -> Int32 {
    FileAccess.refusal(path, F_OK)?.code == ENOENT ? unavailable : configuration
  }

  /// Of a run that has come to this.
  static func of(_ result: Lifecycle.Ending.Result) -> Int32 {
    switch result {
    case .stopped, .delivered: done
    case .undelivered: undelivered
    case .rejected: rejected
    }
  }
}
