// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// Writes the file that `metrics.textfile` names.
struct MetricsFile {
  /// The last error, kept so that it is reported only once.
  private var lastError: String?

  /// Replaces the file, which every user can read.
  ///
  /// - Returns: a new error and its remedy; nil if it succeeded, or failed with the same error as last time.
  mutating func write(_ text: String, to path: String) -> String? {
    var newError: String?
    do throws(Errno) {
      try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644, isDurable: false)
    } catch {
      newError =
        "metrics.textfile: \(path) cannot be written (\(error)); the service may only write to its own directory, as with "
        + "textfile = \"fleet_locationd.prom\""
    }
    defer { lastError = newError }
    return newError == lastError ? nil : newError
  }
}
