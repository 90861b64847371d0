// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// A source of fixes: a receiver, a simulated drive or a recording.
///
/// A source opens and reopens itself. It never reports from within `start`.
package protocol FixSource: AnyObject {
  /// Begins to open it.
  func start()
  /// Closes everything; no report follows.
  func stop()
  /// Whether the source reports each fix after the first only when `readyForNextFix` is called; false for sources that
  /// run in real time.
  var waits: Bool { get }
  /// The daemon has processed the last fix; a source that waits for this reports the next one.
  func readyForNextFix()
  /// The source's next deadline, which the watchdog checks; nil while it waits for something else.
  var nextDeadline: BootInstant? { get }
  /// Counters of its NMEA 0183 line; nil if it has none.
  var lineStatistics: LineStatistics? { get }
}
