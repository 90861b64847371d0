// SPDX-License-Identifier: Apache-2.0
import CrashReports
import Release

extension LocationDaemon {
  /// Where a crash leaves its report for the next run. systemd keeps the directory across a restart, and no longer.
  private static var crashNote: String? { RuntimeDirectory.path.map { "\($0)/crash" } }

  /// From now on a crash says where it happened. Among the first acts of a process that is to become the daemon.
  package static func reportCrashes() {
    CrashReporter.install(program: "fleet-locationd", version: Release.version, note: crashNote)
  }

  /// What the run before has left, if it crashed; told once.
  static func crashOfRunBefore() -> String? {
    crashNote.flatMap { CrashReporter.takeNote($0) }
  }
}
