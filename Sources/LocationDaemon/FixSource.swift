// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Where fixes come from: a receiver, a route, a recording.
///
/// A source opens itself and keeps itself open. It reports on the loop's thread, never from within `start`.
package protocol FixSource: AnyObject {
  func start()
  /// Lets go of everything; no report comes after it.
  func stop()
  /// Whether the next fix waits for `settled`; sources that run by a clock wait for nobody.
  var awaitsSettling: Bool { get }
  /// The daemon has done all it will do with the last fix.
  func settled()
  /// Whether what the source waits for has a deadline still to come: what the watchdog asks.
  func isProgressing(at now: BootInstant) -> Bool
}

extension FixSource {
  package var awaitsSettling: Bool { false }
}
