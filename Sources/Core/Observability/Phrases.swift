// SPDX-License-Identifier: Apache-2.0
import ClockEstimation
import SourceSelection
package import Vehicle
package import ExternalInput
import Positioning
package import Timekeeping

// Parts of sentences that the journal and the status share.

extension Fix {
  /// Quality in a few words, without coordinates.
  var summary: String {
    var words = [mode == .threeD ? "3D" : "2D"]
    if quality != .gnss { words.append(quality.rawValue) }
    if let accuracy = horizontalAccuracy { words.append("±\(Int(min(accuracy, 9999).rounded(.up))) m") }
    if let satellites { words.append(satellites.counted("satellite")) }
    return words.joined(separator: ", ")
  }
}

extension Timestamp? {
  /// As in ` since 2026-11-21T08:30:00Z`; empty if it is not known.
  var phrase: String {
    map { " since \(Timestamp(seconds: $0.milliseconds / 1000).canonicalJSON)" } ?? ""
  }
}

extension DutyRefusal: ReportedProblem {
  package var sentence: Sentence {
    switch self {
    case .noState: "a vehicle of scheduled tasks (vehicle.service = \"deliveries\") has no ONLINE and OFFLINE"
    case .setElsewhere: "the daemon does not set this vehicle's state (vehicle.report_state = false)"
    }
  }

  package var advice: String? {
    switch self {
    case .noState: "fleet-locationctl pause stops its positions"
    case .setElsewhere: "set it where that setting says, in the backend or the driver's app"
    }
  }
}

extension SendRefusal: ReportedProblem {
  package var sentence: Sentence {
    switch self {
    case .paused: "a pause is in force"
    case .noFix: "there is no fix to send"
    case .vehicleInUse: "another process on this machine reports this vehicle"
    }
  }

  package var advice: String? {
    switch self {
    case .paused: "fleet-locationctl resume ends it"
    case .noFix, .vehicleInUse: "fleet-locationctl explain says more"
    }
  }
}

extension VehicleHolder {
  /// As in `fleet-locationd@van.service (process 812)`.
  var phrase: String {
    switch (unit, processID) {
    case (let unit?, let process?): "\(unit) (process \(process))"
    case (let unit?, nil): unit
    case (nil, let process?): "process \(process)"
    case (nil, nil): "another process"
    }
  }

  /// What to do about it.
  static let advice = "correct vehicle.vehicle_id in the settings of one of the two, or stop one"
}

extension SourceNumber {
  /// As in `1 of 2`.
  var phrase: String { "\(number) of \(count)" }
}

extension SourceOverview {
  /// Why this source is used.
  ///
  /// - Parameter problems: why no source of higher priority is used.
  func reasonForUse(problems: String) -> String {
    switch reason {
    case .failback(let time): "it has been good for \(time.humanReadable)\(problems.isEmpty ? "" : "; \(problems)")"
    case .best: problems.isEmpty ? "the first in the list" : problems
    }
  }
}

extension SourceOverview.Hold {
  /// Why fixes of the used source are held.
  var phrase: String {
    switch self {
    case .behind(let age):
      "its clock is behind: its positions are \(age.humanReadable) older than the last one reported"
    case .contradicted(let offset):
      "its clock differs from that of the previous source: it is \(max(offset, .zero - offset).humanReadable) "
        + "\(offset < .zero ? "behind" : "ahead"), and is accepted after \(FixFilter.agreementCount) fixes in a row"
    }
  }
}

extension TimeEstimator.Reference {
  /// Its name in a sentence.
  var name: String {
    switch self {
    case .gnss: "the receiver"
    case .tokenProvider: "the token provider"
    case .fleetEngine: "Fleet Engine"
    }
  }
}

extension TimeEstimator.ClockError {
  /// As in `56 s behind, according to Fleet Engine`.
  var phrase: String {
    let size = offset < .zero ? Duration.zero - offset : offset
    return "\(size.humanReadable) \(offset < .zero ? "behind" : "ahead"), according to \(reference.name)"
  }
}

extension Duration {
  /// To the nearest second: clocks are read one after the other, so a difference of two is off by some milliseconds.
  var toTheSecond: Duration { .seconds((self + .milliseconds(500)).wholeSeconds) }

  /// Seconds with one decimal.
  var secondsWithTenths: String {
    let tenths = nanoseconds / 100_000_000
    return "\(tenths / 10).\(tenths % 10)"
  }
}

extension UInt64 {
  /// A number of bytes, rounded to the nearest unit, as data plans count them: `912 B`, `1.4 kB`, `31.2 MB`.
  package var dataVolumeText: String {
    guard self >= 1000 else { return "\(self) B" }
    var (unit, divisor) = (0, UInt64(1000))
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
    // Otherwise 999,950 would be written as 1000.0 kB.
    while unit + 1 < units.count, self >= divisor * 1000 - divisor / 20 { (unit, divisor) = (unit + 1, divisor * 1000) }
    let rounded = self &+ divisor / 20 < self ? self : self + divisor / 20
    return "\(rounded / divisor).\(rounded % divisor / (divisor / 10)) \(units[unit])"
  }
}

extension CivilDate {
  /// As in `2026-11-21`.
  package var text: String { String(Timestamp(self, millisecondsOfDay: 0).canonicalJSON.prefix(10)) }
}

extension Int? {
  /// A number of satellites, as in `, 3 satellites in view`; empty if the receiver does not report it.
  var satellitesPhrase: String {
    map { ", \($0.counted("satellite")) in view" } ?? ""
  }
}

/// What to do without a fix.
package enum SkyAdvice {
  /// - Parameter count: the satellites in view; nil if the receiver does not report them.
  package static func text(inView count: Int?) -> String {
    count == 0
      ? "Check the antenna, its plug and its cable, and that it is not under a roof: it receives no satellite"
      : "The antenna needs a view of the sky, and a cold start takes some minutes"
  }
}
