// SPDX-License-Identifier: Apache-2.0
import CrashReports
import Release

extension LocationDaemon {
  /// The file in which a crash leaves its report for the next run; it survives a restart, but not a reboot.
  private static var crashReportPath: String? { RuntimeDirectory.path.map { "\($0)/crash" } }

  /// Installs the crash reporter; to be called early in the start of the daemon.
  package static func reportCrashes() {
    CrashReporter.install(program: "fleet-locationd", version: Release.version, reportPath: crashReportPath)
  }

  /// Returns the crash report of the previous run, and removes it; nil if it did not crash.
  static func takeCrashReport() -> String? {
    crashReportPath.flatMap { CrashReporter.takeReport($0) }
  }
}
