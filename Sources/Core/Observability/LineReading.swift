// SPDX-License-Identifier: Apache-2.0
package import Positioning
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

extension StatusReport.Line {
  /// Maximum age in seconds of a sender that is not permitted, for a warning.
  private static let refusalWindow: Int64 = 3600

  /// A warning about the latest sender of the last hour that is not permitted; nil if there is none.
  package var refusal: String? {
    guard let latest = refused?.last, latest.age < Self.refusalWindow else { return nil }
    let times = latest.count == 1 ? "once" : "\(latest.count) times, the last time"
    return "\(latest.address) is not allowed and has sent \(times) \(Duration.seconds(latest.age).humanReadable) ago"
  }

  /// - Parameter reading: the current counters.
  package init(_ reading: LineReading, at now: BootInstant) {
    let counters = reading.statistics.counters
    self.init(
      source: reading.source, sentences: Int(clamping: counters.sentences),
      wrongChecksums: Int(clamping: counters.wrongChecksum), cut: Int(clamping: counters.unchecked),
      overlong: Int(clamping: counters.overlong), late: Int(clamping: counters.late),
      foreign: Int(clamping: counters.foreign), trouble: reading.statistics.trouble)
    let statistics = reading.statistics
    if !statistics.senders.isEmpty {
      senders = statistics.senders.map { StatusReport.Sender(address: "\($0.address)", isUsed: $0.isUsed) }
    }
    if !statistics.refused.isEmpty {
      refused = statistics.refused.map {
        StatusReport.Refused(
          address: "\($0.address)", count: Int(clamping: $0.count), age: max(now - $0.last, .zero).wholeSeconds)
      }
    }
  }
}
