// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// The persistent record that the driver is off duty and takes no new trips: a vehicle of on-demand trips is OFFLINE.
package struct DutyRecord: Equatable, Sendable {
  /// When the driver went off duty; nil if the time was unknown then.
  package var since: Timestamp?
  /// The vehicle of the driver who went off duty: service, provider and vehicle, percent-encoded. Nil if the file could
  /// not be written or read: the record then applies to the vehicle of the settings, until the driver chooses again.
  package var vehicle: String?
  /// Whether Fleet Engine has accepted OFFLINE for this vehicle.
  package var isOfflineAccepted = false

  package init(since: Timestamp?, vehicle: String? = nil) {
    self.since = since
    self.vehicle = vehicle
  }

  /// Parses `text`. The existence of the file counts, whatever its content, so that the record also works on a full
  /// disk.
  package init(text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    since = lines.first.flatMap { line in Timestamp(rfc3339: String(line)) }
    guard lines.count >= 3, lines[1].hasPrefix(DutyRecord.vehicleKey) else { return }
    let name = lines[1].dropFirst(DutyRecord.vehicleKey.count)
    guard !name.isEmpty, name.utf8.allSatisfy({ (33...126).contains($0) }) else { return }
    vehicle = String(name)
    isOfflineAccepted = lines.count >= 4 && lines[2] == DutyRecord.acceptedLine
  }

  /// A line with the time in RFC 3339, or `unknown`; a line with the vehicle, if it is known; and a line if OFFLINE was
  /// accepted for it.
  package var text: String {
    "\(since?.canonicalJSON ?? "unknown")\n"
      + (vehicle.map { name in
        "\(DutyRecord.vehicleKey)\(name)\n" + (isOfflineAccepted ? "\(DutyRecord.acceptedLine)\n" : "")
      } ?? "")
  }

  private static let vehicleKey = "vehicle "
  private static let acceptedLine = "accepted"
}

/// Why the newest position cannot be sent on request. The names are values on the control socket.
package enum SendRefusal: String, Sendable, CaseIterable {
  /// A pause is in force.
  case paused
  /// There has been no fix since the start or the last pause, or none with a credible time.
  case noFix
  /// Another process on this machine has locked the vehicle.
  case vehicleInUse
}

/// Why the driver's duty cannot be chosen. The names are values on the control socket.
package enum DutyRefusal: String, Sendable, CaseIterable {
  /// Vehicles of this Fleet Engine service have no state.
  case noState
  /// Another program sets the state.
  case setElsewhere
}
