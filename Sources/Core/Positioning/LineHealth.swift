// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import Timekeeping

/// What came over the line of one source since it was made, whole and damaged, whichever decoder counted it.
package struct LineHealth: Equatable, Sendable {
  /// What the lines travel over: it decides what a person checks when they are damaged.
  package enum Medium: Equatable, Sendable {
    case serial
    case network
  }

  /// Who sends from the network.
  package struct Sender: Equatable, Sendable {
    /// Without the port.
    package var address: IPAddress
    /// Whether the fixes are from it.
    package var isUsed: Bool

    /// - Parameter isUsed: whether the fixes are from it.
    package init(_ address: IPAddress, isUsed: Bool) {
      self.address = address
      self.isUsed = isUsed
    }
  }

  /// Who sends and may not: nothing of it was read.
  package struct Refused: Equatable, Sendable {
    /// Without the port.
    package var address: IPAddress
    /// Connections or datagrams.
    package var count: UInt64
    /// When the last of them came.
    package var last: BootInstant
  }

  /// Lines of which the share of wrong checksums is taken at least, and at most twice as many.
  package static let window: UInt64 = 500
  /// A greater share than this of lines with wrong checksums, 0 to 1, is reported.
  package static let mostWrong = 0.02
  private static let mostRefused = 4
  /// Of fewer lines no share is taken.
  private static let fewest: UInt64 = 50

  /// What the lines travel over.
  package let medium: Medium
  /// Who sends from the network now; empty for a serial line, and where this program has connected itself.
  package internal(set) var senders: [Sender] = []
  /// The last four senders that were refused, the latest one at the end.
  package private(set) var refused: [Refused] = []
  /// Connections and datagrams of all senders that were refused.
  package private(set) var refusals: UInt64 = 0
  /// Since the source was made.
  package private(set) var counters = NMEADecoder.Counters()
  /// Of the decoders before the present one.
  private var before = NMEADecoder.Counters()
  /// Where the window before the present one began.
  private var older = Mark()
  /// Where the present window began.
  private var newer = Mark()

  private struct Mark: Equatable {
    var lines: UInt64 = 0
    var wrong: UInt64 = 0
  }

  package init(_ medium: Medium) {
    self.medium = medium
  }

  /// Notes what the decoder has counted since it was made.
  package mutating func observe(_ decoder: NMEADecoder.Counters) {
    counters = before + decoder
    let now = Mark(lines: counters.lines, wrong: counters.wrongChecksum)
    if now.lines &- newer.lines >= LineHealth.window { (older, newer) = (newer, now) }
  }

  /// Notes a connection or datagram of a sender that is not allowed.
  package mutating func refuse(_ address: IPAddress, at now: BootInstant) {
    refusals &+= 1
    var latest = Refused(address: address, count: 0, last: now)
    if let index = refused.firstIndex(where: { $0.address == address }) {
      latest.count = refused.remove(at: index).count
    } else if refused.count == LineHealth.mostRefused {
      refused.removeFirst()
    }
    latest.count &+= 1
    refused.append(latest)
  }

  /// The next counters are those of a new decoder.
  package mutating func decoderReplaced() { before = counters }

  /// Share of the last 500 to 1,000 lines whose checksum is wrong, 0 to 1; nil before 50 lines.
  package var wrongShare: Double? {
    let lines = counters.lines &- older.lines
    guard lines >= LineHealth.fewest else { return nil }
    return Double(counters.wrongChecksum &- older.wrong) / Double(lines)
  }

  /// The damage and where to look for its cause, as in `4 % of lines have wrong checksums: cable or baud rate`; nil while
  /// there is little.
  package var trouble: String? {
    guard let wrongShare, wrongShare > LineHealth.mostWrong else { return nil }
    let cause = medium == .serial ? "cable or baud rate" : "the sender's receiver or its cable"
    return "\(Int((wrongShare * 100).rounded())) % of lines have wrong checksums: \(cause)"
  }
}

extension NMEADecoder.Counters {
  /// Sentences, whole and damaged.
  package var lines: UInt64 { sentences &+ wrongChecksum &+ unchecked &+ overlong }

  static func + (one: Self, other: Self) -> Self {
    var sum = Self()
    sum.sentences = one.sentences &+ other.sentences
    sum.wrongChecksum = one.wrongChecksum &+ other.wrongChecksum
    sum.unchecked = one.unchecked &+ other.unchecked
    sum.overlong = one.overlong &+ other.overlong
    sum.unknown = one.unknown &+ other.unknown
    sum.unusable = one.unusable &+ other.unusable
    sum.late = one.late &+ other.late
    sum.foreign = one.foreign &+ other.foreign
    sum.fixes = one.fixes &+ other.fixes
    return sum
  }
}
