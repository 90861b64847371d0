// SPDX-License-Identifier: Apache-2.0
import NMEA

/// Extracts new epochs from ModemManager's responses.
///
/// ModemManager stores the last sentence of each kind, without their order and time of arrival, and returns all of
/// them. A response may contain sentences of two epochs, and sentences of a kind that the receiver no longer sends,
/// such as `$GPRMC` after a second constellation came into view and the receiver changed to `$GNRMC`. While the
/// receiver is silent, the response remains the same. Only the times within the sentences can be relied on.
struct ModemSentences: Equatable, Sendable {
  /// The content of a response.
  enum Finding: Equatable {
    /// The first sentences with times: their age is unknown.
    case first
    /// Nothing new that counts.
    case repeated
    /// An epoch that is incomplete compared with previous ones.
    case partial
    /// The sentences of a newer epoch.
    case epoch([UInt8])
    /// Sentences without a time, without any new time: the receiver has no fix.
    case untimed([UInt8])
    /// No sentences.
    case empty
  }

  private struct Entry {
    var range: Range<Int>
    var address: UInt64
    /// Milliseconds since midnight UTC; nil if the sentence has no time.
    var time: Int64?
    /// Whether a sentence of this kind belongs to the epoch of its time, and to no epoch if it has no time.
    var needsTime = false
    var isDate = false
    var isMotion = false
    var isSatellites = false

    /// The first two letters of the address.
    var talker: UInt64 { address >> 24 }
  }

  /// A kind of sentence and a time. A response may have two sentences of one kind: one may be the rest of a garbled
  /// line.
  private struct Sighting: Hashable {
    var address: UInt64
    var time: Int64
  }

  /// Maximum number of sentences per response. A receiver has fewer than twenty kinds.
  private static let maximumEntries = 256
  private static let millisecondsPerDay: Int64 = 86_400_000

  /// The kinds and times in the last response.
  private var known: Set<Sighting> = []
  /// The kinds with a time in the last epoch.
  private var expectedKinds: Set<UInt64> = []
  /// The time of the last epoch.
  private var lastEpochTime: Int64?
  /// A hash of the sentences without a time, and of the dates, in the last response.
  private var otherContent: Int?

  /// Examines a response.
  ///
  /// - Parameters:
  ///   - acceptsPartial: whether to accept an incomplete epoch.
  ///   - acceptsUntimed: whether new sentences without a time mean that there is no fix. Those of an epoch may arrive
  ///     after its time.
  mutating func examine(_ bytes: Span<UInt8>, acceptsPartial: Bool, acceptsUntimed: Bool) -> Finding {
    let entries = ModemSentences.entries(in: bytes)
    guard !entries.isEmpty else { return .empty }
    let timed = entries.filter { $0.time != nil && !$0.isDate }
    let others = entries.filter { $0.time == nil || $0.isDate }
    let content = ModemSentences.content(of: others, in: bytes)
    let hasNewContent = content != otherContent
    otherContent = content
    guard !timed.isEmpty else { return .untimed(ModemSentences.copy(others, of: bytes)) }
    let fresh = timed.filter { !isKnown($0) }
    guard var newest = fresh.first?.time else {
      // The times may be those of kinds that are no longer sent.
      return acceptsUntimed && hasNewContent ? .untimed(ModemSentences.copy(others, of: bytes)) : .repeated
    }
    for case let time? in fresh.map(\.time) where ModemSentences.isLater(time, than: newest) { newest = time }
    let epoch = timed.filter { $0.time == newest }
    let kinds = Set(epoch.map(\.address))
    if let lastEpochTime, !ModemSentences.isLater(newest, than: lastEpochTime),
      timed.contains(where: { $0.time == lastEpochTime })
    {
      // A late sentence of the last epoch, or of an earlier one. If the receiver's clock had gone back, all sentences
      // of the last epoch would have been replaced.
      if newest == lastEpochTime { expectedKinds.formUnion(kinds) }
      remember(entries)
      return .repeated
    }
    let isFirst = known.isEmpty
    // If a kind has a new sentence of an earlier epoch, the receiver still sends it: its sentence of this epoch will
    // follow.
    let isWhole = fresh.allSatisfy { kinds.contains($0.address) } && expectedKinds.isSubset(of: kinds)
    guard isFirst || acceptsPartial || isWhole else { return .partial }
    let dates = entries.filter { $0.isDate && !isKnown($0) }
    remember(entries)
    guard !isFirst else {
      // Whatever its age, this epoch shows which kinds the receiver sends.
      if expectedKinds.isEmpty { expectedKinds = kinds }
      return .first
    }
    (expectedKinds, lastEpochTime) = (kinds, newest)
    return .epoch(ModemSentences.copy(dates + epoch + untimed(of: entries, beside: epoch), of: bytes))
  }

  /// The next response counts as the first.
  mutating func forgetTimes() { (known, lastEpochTime) = ([], nil) }

  private mutating func remember(_ entries: [Entry]) {
    known = []
    for case (let address, let time?) in entries.map({ ($0.address, $0.time) }) {
      known.insert(Sighting(address: address, time: time))
    }
  }

  private func isKnown(_ entry: Entry) -> Bool {
    entry.time.map { known.contains(Sighting(address: entry.address, time: $0)) } ?? false
  }

  /// Sentences without a time that may belong to an epoch. ModemManager keeps those of a kind that is no longer sent.
  private func untimed(of entries: [Entry], beside epoch: [Entry]) -> [Entry] {
    let talkers = Set(epoch.map(\.talker))
    let untimed = entries.filter { !$0.needsTime && !$0.isDate }
    let hasOwnSatellites = untimed.contains { $0.isSatellites && talkers.contains($0.talker) }
    return untimed.filter { entry in
      if entry.isMotion { return talkers.contains(entry.talker) }
      return entry.isSatellites && hasOwnSatellites ? talkers.contains(entry.talker) : true
    }
  }

  /// Whether a time of day is later than another, even across midnight.
  private static func isLater(_ time: Int64, than other: Int64) -> Bool {
    let ahead = (time - other + 2 * millisecondsPerDay) % millisecondsPerDay
    return ahead > 0 && ahead < millisecondsPerDay / 2
  }

  private static func entries(in bytes: Span<UInt8>) -> [Entry] {
    var entries: [Entry] = []
    var index = 0
    while index < bytes.count, entries.count < maximumEntries {
      guard bytes[index] == UInt8(ascii: "$"), case .sentence(let end) = NMEAFraming.examine(bytes, from: index) else {
        index += 1
        continue
      }
      let line = bytes.extracting(index..<end)
      var entry = Entry(range: index..<end, address: NMEASentence.address(line))
      switch NMEASentence.read(line) {
      case .position(let report): (entry.time, entry.needsTime) = (report.time, true)
      case .errors(let report): (entry.time, entry.needsTime) = (report.time, true)
      case .date(_, let time): (entry.time, entry.isDate) = (time, true)
      case .motion: entry.isMotion = true
      case .satellites: entry.isSatellites = true
      case .sky, .unknown, .unusable: break
      }
      entries.append(entry)
      index = end
    }
    return entries
  }

  /// A hash that does not depend on the order, which is arbitrary.
  private static func content(of entries: [Entry], in bytes: Span<UInt8>) -> Int {
    var sentences: Set<[UInt8]> = []
    for entry in entries { sentences.insert(copy([entry], of: bytes)) }
    return sentences.hashValue
  }

  private static func copy(_ entries: [Entry], of bytes: Span<UInt8>) -> [UInt8] {
    var copy: [UInt8] = []
    for entry in entries {
      for index in entry.range { copy.append(bytes[index]) }
      copy += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
    }
    return copy
  }
}
