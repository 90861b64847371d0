// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// The persistent record of a pause.
package struct PauseRecord: Equatable, Sendable {
  /// When the pause began; nil if the time was unknown then.
  package var since: Timestamp?
  /// The vehicle for which Fleet Engine has accepted OFFLINE in this pause: service, provider and vehicle,
  /// percent-encoded; nil if it has not, or if vehicles of the service have no state.
  package var offlineVehicle: String?

  package init(since: Timestamp?) {
    self.since = since
  }

  /// Parses `text`. If the file exists, there is a pause, whatever the content, so that a pause also works on a full
  /// disk.
  package init(text: String) {
    let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
    since = lines.first.flatMap { line in Timestamp(rfc3339: String(line.prefix { !$0.isWhitespace })) }
    guard lines.count == 3, lines[1].hasPrefix(PauseRecord.offlineKey) else { return }
    let vehicle = lines[1].dropFirst(PauseRecord.offlineKey.count)
    if !vehicle.isEmpty, vehicle.utf8.allSatisfy({ (33...126).contains($0) }) { offlineVehicle = String(vehicle) }
  }

  /// A line with the time in RFC 3339, or `unknown`, and optionally a line with the vehicle that is OFFLINE.
  package var text: String {
    "\(since?.canonicalJSON ?? "unknown")\n" + (offlineVehicle.map { "\(PauseRecord.offlineKey)\($0)\n" } ?? "")
  }

  private static let offlineKey = "offline "
}
