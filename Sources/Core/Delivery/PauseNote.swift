// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// What is kept of a pause, so that it outlives the process.
package struct PauseNote: Equatable, Sendable {
  /// When the pause began; nil when the time was not known then.
  package var since: Timestamp?
  /// The vehicle for which Fleet Engine has accepted OFFLINE in this pause: service, provider and vehicle, percent-encoded; nil
  /// when it has not, or vehicles of the service have no state.
  package var offline: String?

  package init(since: Timestamp?) {
    self.since = since
  }

  /// Reads what `text` has written. A file that is there is a pause, whatever it holds: a driver's rest does not depend on
  /// a disk that was full.
  package init(text: String) {
    let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
    since = lines.first.flatMap { line in Timestamp(rfc3339: String(line.prefix { !$0.isWhitespace })) }
    guard lines.count == 3, lines[1].hasPrefix(PauseNote.offlineKey) else { return }
    let vehicle = lines[1].dropFirst(PauseNote.offlineKey.count)
    if !vehicle.isEmpty, vehicle.utf8.allSatisfy({ (33...126).contains($0) }) { offline = String(vehicle) }
  }

  /// A line with the time as in RFC 3339, or `unknown`; a second one with the vehicle that is OFFLINE.
  package var text: String {
    "\(since?.canonicalJSON ?? "unknown")\n" + (offline.map { "\(PauseNote.offlineKey)\($0)\n" } ?? "")
  }

  private static let offlineKey = "offline "
}
