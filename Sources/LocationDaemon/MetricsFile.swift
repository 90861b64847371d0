// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls
import Timekeeping

/// Writes the file of `metrics.textfile`: once a minute, and when the vehicle goes online or offline. It never wakes
/// the machine.
struct MetricsFile {
  private static let interval = Duration.seconds(60)
  /// Minimum interval between two writes.
  private static let floor = Duration.seconds(1)

  private let path: String?
  private var writtenAt: BootInstant?
  /// The state in the file.
  private var wasOnline = false
  /// The last error, so that it is reported once.
  private var trouble: String?

  /// - Parameter path: nil writes nothing.
  init(path: String?) {
    self.path = path
  }

  /// Whether the file has this path.
  func isAt(_ path: String?) -> Bool { self.path == path }

  func isDue(at now: BootInstant, isOnline: Bool, isLast: Bool = false) -> Bool {
    guard path != nil else { return false }
    guard !isLast, let writtenAt else { return true }
    return now - writtenAt >= (isOnline == wasOnline ? MetricsFile.interval : MetricsFile.floor)
  }

  /// Replaces the file, readable for every user.
  ///
  /// - Returns: a new error and its remedy; nil if it succeeded, or failed as the last time.
  mutating func write(_ text: String, at now: BootInstant, isOnline: Bool) -> String? {
    guard let path else { return nil }
    writtenAt = now
    wasOnline = isOnline
    var new: String?
    do throws(Errno) {
      try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644, isDurable: false)
    } catch {
      new =
        "metrics.textfile: \(path) cannot be written (\(error)); the service may only write to its own directory, as with "
        + "textfile = \"fleet_locationd.prom\""
    }
    defer { trouble = new }
    return new == trouble ? nil : new
  }
}
