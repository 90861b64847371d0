// SPDX-License-Identifier: Apache-2.0
import SystemCalls

/// The directory that systemd makes for the service, in memory; it is gone at the latest with the next boot.
nonisolated enum RuntimeDirectory {
  /// Nil when the program runs without systemd.
  static var path: String? {
    guard let directory = Environment.value(of: "RUNTIME_DIRECTORY"), !directory.isEmpty else { return nil }
    return directory
  }
}
