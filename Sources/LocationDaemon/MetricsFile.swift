// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// Writes the file that `metrics.textfile` names.
struct MetricsFile {
  private var error = LastingError()
  /// The file that was written last.
  private var path: String?

  /// Deletes the file of earlier settings, whose values would be taken for current ones.
  ///
  /// - Parameter newPath: that of the settings in force; nil if they have none.
  /// - Returns: an error and its remedy; nil if it succeeded.
  mutating func use(_ newPath: String?) -> String? {
    guard let path, path != newPath else { return nil }
    self.path = nil
    do throws(Errno) {
      try AtomicFile.remove(path)
      return nil
    } catch {
      return "\(path), the metrics file of earlier settings, cannot be deleted (\(error)): delete it"
    }
  }

  /// Replaces the file, which every user can read.
  ///
  /// - Returns: a new error and its remedy; nil if it succeeded, or failed with the same error as last time.
  mutating func write(_ text: String, to path: String) -> String? {
    do throws(Errno) {
      try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644, isDurable: false)
      self.path = path
      return error.report(nil)
    } catch {
      let advice =
        error.code == ENOSPC || error.code == EDQUOT
        ? "" : "; the service may only write to its own directory, as with textfile = \"fleet_locationd.prom\""
      return self.error.report("metrics.textfile: \(path) cannot be written (\(error))\(advice)")
    }
  }
}
