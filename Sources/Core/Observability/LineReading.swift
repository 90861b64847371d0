// SPDX-License-Identifier: Apache-2.0
package import FixSources
package import ExternalInput
import NMEA
package import Timekeeping

/// The line counters of one source at one moment, for status and metrics.
package struct LineReading: Equatable, Sendable {
  /// The device or address of the settings.
  package var source: String
  /// Its counters and problems.
  package var statistics: LineStatistics

  /// - Parameter source: the device or address of the settings.
  package init(source: String, statistics: LineStatistics) {
    self.source = source
    self.statistics = statistics
  }
}

/// A warning about a network sender.
package struct SenderWarning: ReportedProblem {
  package let sentence: Sentence
  package let advice: String?
}

extension StatusReport.Line {
  /// A sender whose last refusal was this many seconds ago, or more, causes no warning.
  private static let refusalWindow: Int64 = 3600

  /// Warnings about the senders: for each reason the latest one that was refused in the last hour, and those whose
  /// fixes are too far from the last position.
  package var senderWarnings: [SenderWarning] {
    LineStatistics.RefusalReason.allCases.compactMap { reason in
      refused?.last { refused in
        let why = refused.reason ?? LineStatistics.RefusalReason.notAllowed.rawValue
        return why == reason.rawValue && refused.age < Self.refusalWindow
      }.map { refusalWarning(of: $0, reason) }
    }
      + (senders ?? []).compactMap { sender in
        sender.heldFor.map {
          SenderWarning(
            sentence:
              "\(sender.address) is further from the last position than a vehicle can have driven; it is used in \(Duration.seconds($0).humanReadable) unless a nearer sender has a fix",
            advice: "if it is not a device of this vehicle, remove it from source.allow")
        }
      }
  }

  private func refusalWarning(
    of sender: StatusReport.Refused, _ reason: LineStatistics.RefusalReason
  ) -> SenderWarning {
    let times = sender.count == 1 ? "once" : "\(sender.count) times, the last time"
    let sent = "\(times) \(Duration.seconds(sender.age).humanReadable) ago"
    switch reason {
    case .notAllowed:
      return SenderWarning(
        sentence: "\(sender.address) is not allowed and has sent \(sent)",
        advice:
          "if it is a device of this vehicle, add it to source.allow; otherwise find out which device sends forged positions"
      )
    case .noRoom:
      return SenderWarning(
        sentence:
          "\(sender.address) is allowed but was refused \(sent): all places are taken",
        advice:
          "list only the vehicle's receivers in source.allow, or raise source.connections (for nmea-tcp)")
    case .portInUse:
      return SenderWarning(
        sentence: "\(sender.address) sends from two ports; the one that is not used has sent \(sent)",
        advice: "find out which programs of this device send positions, and stop all but one")
    }
  }

  /// - Parameter reading: the current counters.
  package init(_ reading: LineReading, at now: BootInstant) {
    let counters = reading.statistics.counters
    self.init(
      source: reading.source, sentences: Int(clamping: counters.sentences),
      wrongChecksums: Int(clamping: counters.wrongChecksum), cut: Int(clamping: counters.unchecked),
      overlong: Int(clamping: counters.overlong), late: Int(clamping: counters.late),
      foreign: Int(clamping: counters.foreign), trouble: reading.statistics.problem)
    let statistics = reading.statistics
    if !statistics.senders.isEmpty {
      senders = statistics.senders.map { sender in
        StatusReport.Sender(
          address: "\(sender.address)", isUsed: sender.isUsed,
          heldFor: sender.heldUntil.map { max($0 - now, .zero).wholeSeconds })
      }
    }
    if !statistics.refusedSenders.isEmpty {
      refused = statistics.refusedSenders.map {
        StatusReport.Refused(
          address: "\($0.address)", reason: $0.reason.rawValue, count: Int(clamping: $0.count),
          age: max(now - $0.lastArrival, .zero).wholeSeconds)
      }
    }
  }
}
