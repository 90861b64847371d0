// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls
import Timekeeping

/// Keeps the file of `metrics.textfile` up to date, only when the machine is awake anyway: once in a minute, and when the
/// vehicle has come online or gone offline.
struct MetricsFile {
  private static let interval = Duration.seconds(60)
  /// Between two files, however often the vehicle goes on- and offline.
  private static let floor = Duration.seconds(1)

  private let path: String?
  private var writtenAt: BootInstant?
  /// What the file says.
  private var wasOnline = false
  /// What the system said the last time, so that it is reported once.
  private var trouble: String?

  /// - Parameter path: nil writes nothing.
  init(path: String?) {
    self.path = path
  }

  /// Whether the same file is meant.
  func isAt(_ path: String?) -> Bool { self.path == path }

  func isDue(at now: BootInstant, isOnline: Bool) -> Bool {
    guard path != nil else { return false }
    guard let writtenAt else { return true }
    return now - writtenAt >= (isOnline == wasOnline ? MetricsFile.interval : MetricsFile.floor)
  }

  /// Replaces the file; others than the service's user read it.
  ///
  /// - Returns: what went wrong and what to do, when it is not the same as the last time.
  mutating func write(_ text: String, at now: BootInstant, isOnline: Bool) -> String? {
    guard let path else { return nil }
    writtenAt = now
    wasOnline = isOnline
    var new: String?
    do throws(Errno) {
      try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644, isDurable: false)
    } catch {
      new =
        "metrics.textfile: \(path) cannot be written (\(error)); the service may write to its own directory, as with "
        + "textfile = \"fleet_locationd.prom\""
    }
    defer { trouble = new }
    return new == trouble ? nil : new
  }
}
