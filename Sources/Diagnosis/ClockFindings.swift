// SPDX-License-Identifier: Apache-2.0
import Positioning
package import Timekeeping

/// Compares the receiver's time with this machine's clock.
package enum ClockFindings {
  /// Sentences arrive up to a second after their time, and some receivers are slow.
  private static let tolerance = Duration.seconds(2)

  /// - Parameter buildDate: a receiver with an earlier time has a week number rollover.
  package static func findings(_ received: ReceiverProbe.ReceivedFix, buildDate: Timestamp) -> [Finding] {
    guard let stamp = received.fix.timestamp else {
      return [
        .warn(
          .clockWithoutDate, "the receiver reports the time of day but no date",
          "The date is taken from this machine's clock, once it is set: enable RMC or ZDA in the receiver")
      ]
    }
    var findings: [Finding] = []
    let corrected = stamp.afterRollover(notBefore: buildDate)
    if corrected != stamp {
      findings.append(
        .warn(
          .weekRollover,
          "the receiver reports the date \(stamp.rfc3339.prefix(10)): its GPS week number has rolled over",
          "The service corrects it to \(corrected.rfc3339.prefix(10)); a newer firmware would report the correct date"))
    }
    let ahead = received.at.wall - corrected
    let distance = ahead < .zero ? .zero - ahead : ahead
    guard distance > tolerance else {
      findings.append(.pass("this machine's clock and GNSS time are \(decimalSeconds(distance)) s apart"))
      return findings
    }
    findings.append(
      .warn(
        .clockOffset,
        "this machine's clock is \(distance.humanReadable) \(ahead < .zero ? "behind" : "ahead of") GNSS time",
        consequence))
    return findings
  }

  /// What a wrong clock of this machine means, and what to do. The text is the same whether the clock differs from the
  /// receiver's time or from Fleet Engine's.
  static let consequence =
    "Positions and tokens do not need this clock. The journal's times are wrong by this, and a certificate may seem "
    + "expired or not valid yet: timedatectl set-ntp true"

  private static func decimalSeconds(_ duration: Duration) -> String {
    let value = duration.nanoseconds / 100_000_000
    return "\(value / 10).\(value % 10)"
  }
}
