// SPDX-License-Identifier: Apache-2.0
import SystemCalls

/// The service's runtime directory in /run, which does not survive a reboot.
nonisolated enum RuntimeDirectory {
  /// Nil if the program runs without systemd.
  static var path: String? { Environment.serviceDirectory(in: Environment.value(of: "RUNTIME_DIRECTORY")) }
}
