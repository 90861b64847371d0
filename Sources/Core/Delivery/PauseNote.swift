// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// What is kept of a pause, so that it outlives the process.
package struct PauseNote: Equatable, Sendable {
  /// When the pause began; nil when the time was not known then.
  package var since: Timestamp?

  package init(since: Timestamp?) {
    self.since = since
  }

  /// Reads what `text` has written. A file that is there is a pause, whatever it holds: a driver's rest does not depend on
  /// a disk that was full.
  package init(text: String) {
    since = Timestamp(rfc3339: String(text.prefix { !$0.isWhitespace }))
  }

  /// One line: the time as in RFC 3339, or `unknown`.
  package var text: String { "\(since?.canonicalJSON ?? "unknown")\n" }
}
