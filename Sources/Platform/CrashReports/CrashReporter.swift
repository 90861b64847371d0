// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc
import SystemCalls

/// Has a crash say where it happened: a trap of a release build prints nothing by itself.
///
/// The report names the signal, the release, and addresses of code relative to the files they are in. It tells nothing of what
/// was in memory.
package enum CrashReporter {
  /// As long as a report can become.
  private static let longestReport = 4096

  /// From now on a crash is told on standard error, in one line, before the process ends of it all the same.
  ///
  /// A signal that somebody takes already, as sanitizers do, is left alone.
  ///
  /// - Parameters:
  ///   - program: what its own code is called in the report.
  ///   - note: path of a file that gets the report too, for the next run; nil writes none.
  package static func install(program: String, version: String, note: String?) {
    // journald takes the number for the priority; a person would only wonder.
    let leadsToJournal = Environment.value(of: "JOURNAL_STREAM") != nil
    unsafe fleet_crash_report_install(program, version, note, leadsToJournal)
  }

  /// The report that an earlier run has left, which is taken away; nil when there is none.
  package static func takeNote(_ path: String) -> String? {
    guard let bytes = try? AtomicFile.read(path, limit: longestReport), !bytes.isEmpty else { return nil }
    _ = unsafe unlink(path)
    return String(decoding: bytes, as: UTF8.self)
  }
}
