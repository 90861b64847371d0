// SPDX-License-Identifier: Apache-2.0
import Positioning
package import Timekeeping

/// The time that a receiver tells, beside this machine's clock.
package enum ClockFindings {
  /// Sentences come up to a second after their time, and some receivers are slow.
  private static let tolerance = Duration.seconds(2)

  /// - Parameter buildDate: a receiver that tells less counts its weeks wrongly.
  package static func findings(_ told: ReceiverHearing.Told, buildDate: Timestamp) -> [Finding] {
    guard let stamp = told.fix.timestamp else {
      return [
        .warn(
          "the receiver tells the time of day and no date",
          "The date is taken from this machine's clock, once it is right: let the receiver send RMC or ZDA")
      ]
    }
    var findings: [Finding] = []
    let mended = stamp.afterRollover(notBefore: buildDate)
    if mended != stamp {
      findings.append(
        .warn(
          "the receiver tells a date of \(stamp.rfc3339.prefix(10)): its count of weeks has run over",
          "The service takes it for \(mended.rfc3339.prefix(10)); a newer firmware would tell it right"))
    }
    let ahead = told.at.wall - mended
    let distance = ahead < .zero ? .zero - ahead : ahead
    guard distance > tolerance else {
      findings.append(.pass("this machine's clock and GNSS time are \(tenths(distance)) s apart"))
      return findings
    }
    findings.append(
      .warn(
        "this machine's clock is \(distance.spoken) \(ahead < .zero ? "behind" : "ahead of") GNSS time",
        "Positions carry GNSS time; tokens and certificates are judged by the clock: timedatectl set-ntp true"))
    return findings
  }

  private static func tenths(_ duration: Duration) -> String {
    let value = duration.nanoseconds / 100_000_000
    return "\(value / 10).\(value % 10)"
  }
}
