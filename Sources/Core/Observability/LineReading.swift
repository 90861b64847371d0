// SPDX-License-Identifier: Apache-2.0
package import Positioning

/// The line of one source, read at one moment for status and metrics.
package struct LineReading: Equatable, Sendable {
  /// The device or address, as the settings have it.
  package var source: String
  /// What came over it.
  package var health: LineHealth

  /// - Parameter source: the device or address, as the settings have it.
  package init(source: String, health: LineHealth) {
    self.source = source
    self.health = health
  }
}

extension StatusReport.Line {
  /// Names the latest sender that is not allowed; nil while there is none.
  package var refusal: String? {
    refused?.last.map { "\($0.address) sends and is not allowed, \($0.count) times so far" }
  }

  /// - Parameter reading: of now.
  package init(_ reading: LineReading) {
    let counters = reading.health.counters
    self.init(
      source: reading.source, sentences: Int(clamping: counters.sentences),
      wrongChecksums: Int(clamping: counters.wrongChecksum), cut: Int(clamping: counters.unchecked),
      overlong: Int(clamping: counters.overlong), late: Int(clamping: counters.late),
      foreign: Int(clamping: counters.foreign), trouble: reading.health.trouble)
    let health = reading.health
    if !health.senders.isEmpty {
      senders = health.senders.map { StatusReport.Sender(address: "\($0.address)", isUsed: $0.isUsed) }
    }
    if !health.refused.isEmpty {
      refused = health.refused.map { StatusReport.Refused(address: "\($0.address)", count: Int(clamping: $0.count)) }
    }
  }
}
