// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc
import SystemCalls

/// Reports the location of a crash: a trap in a release build prints nothing by itself.
///
/// The report contains the signal, the release, and code addresses relative to their files, but nothing from memory.
package enum CrashReporter {
  /// The maximum size of a report.
  private static let maximumReportSize = 4096

  /// Installs signal handlers that print one line to standard error before the process terminates.
  ///
  /// The handlers of signals that are handled already, for example by sanitizers, are left unchanged.
  ///
  /// - Parameters:
  ///   - program: the name of the program's own code in the report.
  ///   - reportPath: path of a file for the report, for the next run; nil for none.
  package static func install(program: String, version: String, reportPath: String?) {
    // journald takes the prefix `<2>` as the priority of the line; on a terminal it would only confuse.
    let writesToJournal = Environment.value(of: "JOURNAL_STREAM") != nil
    unsafe fleet_crash_report_install(program, version, reportPath, writesToJournal)
  }

  /// Returns and removes the report of a previous run; nil if there is none.
  package static func takeReport(_ path: String) -> String? {
    guard let bytes = try? AtomicFile.read(path, limit: maximumReportSize), !bytes.isEmpty else { return nil }
    _ = unsafe unlink(path)
    return String(decoding: bytes, as: UTF8.self)
  }
}
