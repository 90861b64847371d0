// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import NMEA
package import Timekeeping

/// Counters of the sentences of one source, valid and damaged, over the lifetimes of its decoders.
package struct LineStatistics: Equatable, Sendable {
  /// The kind of line, which determines what to check if sentences are damaged.
  package enum Kind: Equatable, Sendable {
    case serial
    case network
  }

  /// A sender in the network.
  package struct Sender: Equatable, Sendable {
    /// The address, without the port.
    package var address: IPAddress
    /// Whether its fixes are used.
    package var isUsed: Bool
    /// The earliest time at which it is used, if its fixes are too far from the last position; otherwise nil.
    package var heldUntil: BootInstant?

    /// - Parameters:
    ///   - isUsed: whether its fixes are used.
    ///   - heldUntil: the earliest time at which it is used; nil if its fixes are not too far from the last position.
    package init(_ address: IPAddress, isUsed: Bool, heldUntil: BootInstant? = nil) {
      self.address = address
      self.isUsed = isUsed
      self.heldUntil = heldUntil
    }
  }

  /// Why the data of a sender was not read.
  package enum RefusalReason: String, Sendable, CaseIterable {
    /// Its address is not in `source.allow`.
    case notAllowed
    /// The maximum number of senders is reached, and all of them are sending.
    case noRoom
    /// Another port of its address reports fixes.
    case portInUse
  }

  /// A sender whose data was not read.
  package struct RefusedSender: Equatable, Sendable {
    /// The address, without the port.
    package var address: IPAddress
    /// Why it was refused.
    package var reason: RefusalReason
    /// The number of connections or datagrams.
    package var count: UInt64
    /// The arrival of the last one.
    package var lastArrival: BootInstant
  }

  /// Once there are enough lines, the share of wrong checksums is computed over at least this number of lines, and at
  /// most twice as many.
  package static let window: UInt64 = 500
  /// A larger share of wrong checksums, 0 to 1, is reported.
  package static let maximumWrongChecksumShare = 0.02
  private static let maximumRefused = 4
  /// No share is computed for fewer lines.
  private static let minimumLines: UInt64 = 50

  /// The kind of line.
  package let kind: Kind
  /// The current senders in the network; empty for a serial line, and for an outgoing connection.
  package internal(set) var senders: [Sender] = []
  /// The last four senders that were refused, with their reasons, the latest at the end.
  package private(set) var refusedSenders: [RefusedSender] = []
  /// The number of refused connections and datagrams of all senders.
  package private(set) var refusals: UInt64 = 0
  /// The counters since the source was created.
  package private(set) var counters = NMEADecoder.Counters()
  /// The counters of previous decoders.
  private var previousCounters = NMEADecoder.Counters()
  /// The start of the previous window.
  private var previousWindowStart = Checkpoint()
  /// The start of the current window.
  private var windowStart = Checkpoint()

  private struct Checkpoint: Equatable {
    var lines: UInt64 = 0
    var wrong: UInt64 = 0
  }

  package init(_ kind: Kind) {
    self.kind = kind
  }

  /// Updates the counters of the current decoder.
  package mutating func observe(_ decoder: NMEADecoder.Counters) {
    counters = previousCounters + decoder
    let now = Checkpoint(lines: counters.lines, wrong: counters.wrongChecksum)
    if now.lines &- windowStart.lines >= LineStatistics.window {
      (previousWindowStart, windowStart) = (windowStart, now)
    }
  }

  /// Counts a connection or datagram that was not read.
  package mutating func refuse(_ address: IPAddress, _ reason: RefusalReason, at now: BootInstant) {
    refusals &+= 1
    var latest = RefusedSender(address: address, reason: reason, count: 0, lastArrival: now)
    if let index = refusedSenders.firstIndex(where: { $0.address == address && $0.reason == reason }) {
      latest.count = refusedSenders.remove(at: index).count
    } else if refusedSenders.count == LineStatistics.maximumRefused {
      refusedSenders.removeFirst()
    }
    latest.count &+= 1
    refusedSenders.append(latest)
  }

  /// The next counters are those of a new decoder.
  package mutating func decoderReplaced() { previousCounters = counters }

  /// The share of the last 500 to 1,000 lines with a wrong checksum, 0 to 1; nil for fewer than 50 lines.
  package var wrongChecksumShare: Double? {
    let lines = counters.lines &- previousWindowStart.lines
    guard lines >= LineStatistics.minimumLines else { return nil }
    return Double(counters.wrongChecksum &- previousWindowStart.wrong) / Double(lines)
  }

  /// The damage and its possible cause, as in `4 % of lines have wrong checksums: cable or baud rate`; nil if there is
  /// little damage.
  package var problem: String? {
    guard let wrongChecksumShare, wrongChecksumShare > LineStatistics.maximumWrongChecksumShare else { return nil }
    let cause = kind == .serial ? "cable or baud rate" : "the sender's receiver or its cable"
    return "\(Int((wrongChecksumShare * 100).rounded())) % of lines have wrong checksums: \(cause)"
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
