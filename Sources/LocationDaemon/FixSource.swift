// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// Where fixes come from: a receiver, a route, a recording.
///
/// A source opens itself and keeps itself open. It never reports from within `start`.
package protocol FixSource: AnyObject {
  func start()
  /// Lets go of everything; no report comes after it.
  func stop()
  /// Whether each fix but the first waits for `readyForNextFix`; sources that run by a clock do not.
  var waits: Bool { get }
  /// The daemon has done all that it will do with the last fix: a source that waits for this gives the next.
  func readyForNextFix()
  /// When something is due that the source does by itself: what the watchdog asks. Nil while it waits for something else.
  var nextDeadline: BootInstant? { get }
  /// What has come over its line; nil of one that reads no NMEA 0183 from a line of its own.
  var lineHealth: LineHealth? { get }
}

extension FixSource {
  package var waits: Bool { false }
  package func readyForNextFix() {}
  package var lineHealth: LineHealth? { nil }
}
