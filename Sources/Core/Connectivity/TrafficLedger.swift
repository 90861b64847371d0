// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Keeps the account of what the daemon's connections carry: since its start, today and this month (UTC), also across restarts.
///
/// Readings are counters since the start. What they add counts for the day once the date is known; until then it waits, so
/// that a machine without a clock counts for no day of 1970. What is read first after midnight belongs to the day before.
package struct TrafficLedger: Equatable, Sendable {
  /// What was carried in a time.
  package struct Counts: Equatable, Sendable {
    /// Over connections to Fleet Engine.
    package var fleetEngine = TCPTraffic()
    /// Over connections to the token provider.
    package var tokenProvider = TCPTraffic()
    /// Updates that Fleet Engine accepted.
    package var updates: UInt64 = 0

    /// Nothing.
    package init() {}

    /// - Parameter updates: that Fleet Engine accepted.
    package init(fleetEngine: TCPTraffic, tokenProvider: TCPTraffic, updates: UInt64) {
      self.fleetEngine = fleetEngine
      self.tokenProvider = tokenProvider
      self.updates = updates
    }

    /// Of both parties.
    package var traffic: TCPTraffic { fleetEngine + tokenProvider }

    /// Bytes both ways to and from Fleet Engine for each accepted update, headers, handshakes and all; nil without any.
    package var perUpdate: UInt64? { updates > 0 ? fleetEngine.all / updates : nil }

    fileprivate static func += (left: inout Counts, right: Counts) {
      left.fleetEngine += right.fleetEngine
      left.tokenProvider += right.tokenProvider
      left.updates &+= right.updates
    }

    fileprivate func since(_ earlier: Counts) -> Counts {
      Counts(
        fleetEngine: fleetEngine.since(earlier.fleetEngine), tokenProvider: tokenProvider.since(earlier.tokenProvider),
        updates: updates >= earlier.updates ? updates - earlier.updates : updates)
    }

    fileprivate var values: [UInt64] {
      [fleetEngine, tokenProvider].flatMap { traffic in TCPTraffic.fields.map { traffic[keyPath: $0] } } + [updates]
    }

    fileprivate init?(_ values: [UInt64]) {
      let count = TCPTraffic.fields.count
      guard values.count == 2 * count + 1 else { return nil }
      for (index, field) in TCPTraffic.fields.enumerated() {
        fleetEngine[keyPath: field] = values[index]
        tokenProvider[keyPath: field] = values[count + index]
      }
      updates = values[2 * count]
    }
  }

  /// A day, and its month as far as it has come.
  package struct Day: Equatable, Sendable {
    /// In UTC.
    package var date: CivilDate
    /// Of the day.
    package var counts = Counts()
    /// Of the month up to and with this day.
    package var month = Counts()

    package init(date: CivilDate, counts: Counts = Counts(), month: Counts = Counts()) {
      self.date = date
      self.counts = counts
      self.month = month
    }
  }

  /// What comes of a reading.
  package enum Effect: Equatable, Sendable {
    /// A day on which something was carried is over.
    case ended(Day)
    /// Keep this for the next run: less than 600 bytes.
    case keep(String)
  }

  /// How far apart the readings are that no client asks for; a power cut costs what was counted since the last.
  package static let interval = Duration.seconds(900)
  /// Bytes that `init` reads at most.
  package static let longestText = 1024
  private static let firstReading = Duration.seconds(60)
  private static let title = "fleet-locationd traffic 1"

  /// Since the start, as of the last reading.
  package private(set) var sinceStart = Counts()
  /// The day that is counted for; nil as long as no date is known, and nothing is kept of an earlier run.
  private var day: Day?
  /// Read, and not counted for a day: this run has not known the date yet.
  private var undated = Counts()
  private var isDated = false
  private var lastKept = ""
  private var keepAt: BootInstant
  /// When the next reading is due that no client asks for.
  package private(set) var nextReading: BootInstant

  /// - Parameters:
  ///   - kept: what the previous run has kept; what this program does not write counts as nothing.
  ///   - now: the start.
  package init(_ kept: String? = nil, at now: BootInstant) {
    nextReading = now + TrafficLedger.firstReading
    keepAt = nextReading
    day = kept.flatMap(TrafficLedger.day(in:))
    lastKept = day.map(TrafficLedger.text(of:)) ?? ""
  }

  /// Today so far, as of the last reading; nil as long as the date is not known.
  package var today: Day? { isDated ? day : nil }

  /// Takes a reading.
  ///
  /// - Parameters:
  ///   - counted: since the start.
  ///   - time: the civil time; nil when it is not known.
  ///   - isLast: of this run.
  package mutating func record(
    _ counted: Counts, at now: BootInstant, time: Timestamp?, isLast: Bool = false
  ) -> [Effect] {
    undated += counted.since(sinceStart)
    sinceStart = counted
    nextReading = now + (time == nil ? TrafficLedger.firstReading : TrafficLedger.interval)
    guard let time else { return [] }
    if isDated { date() }
    var effects = begin(time.date)
    isDated = true
    date()
    nextReading = min(nextReading, now + .milliseconds(86_400_000 - time.millisecondsOfDay))
    // The end of a day is kept at once, so that no other run reports it again.
    guard now >= keepAt || isLast || !effects.isEmpty, let day, case let text = TrafficLedger.text(of: day),
      text != lastKept
    else { return effects }
    keepAt = now + TrafficLedger.interval
    lastKept = text
    effects.append(.keep(text))
    return effects
  }

  /// Counts what waits for the day.
  private mutating func date() {
    day?.counts += undated
    day?.month += undated
    undated = Counts()
  }

  private mutating func begin(_ date: CivilDate) -> [Effect] {
    guard let before = day else {
      day = Day(date: date)
      return []
    }
    let days = date.daysSince1970 - before.date.daysSince1970
    // A clock that is set back over midnight makes no second end of a day.
    if days == 0 || days == -1 { return [] }
    // Time does not go back: the date before was wrong, and what counts for it is of now.
    if days < 0 {
      day?.date = date
      return []
    }
    let isSameMonth = (date.year, date.month) == (before.date.year, before.date.month)
    day = Day(date: date, month: isSameMonth ? before.month : Counts())
    return before.counts == Counts() ? [] : [.ended(before)]
  }

  // MARK: - For the next run

  private static func text(of day: Day) -> String {
    func line(_ key: String, _ values: [UInt64]) -> String {
      "\(key) \(values.map(String.init).joined(separator: " "))\n"
    }
    return
      "\(title)\ndate \(day.date.daysSince1970)\n\(line("day", day.counts.values))\(line("month", day.month.values))end\n"
  }

  private static func day(in text: String) -> Day? {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count == 6, lines[0] == title, lines[4] == "end", lines[5].isEmpty else { return nil }
    func words(_ line: Substring, _ key: String) -> [Substring]? {
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      return words.first.map { $0 == key } == true ? Array(words.dropFirst()) : nil
    }
    func counts(_ line: Substring, _ key: String) -> Counts? {
      guard let words = words(line, key) else { return nil }
      let values = words.compactMap { UInt64($0) }
      return values.count == words.count ? Counts(values) : nil
    }
    guard let date = words(lines[1], "date"), date.count == 1, let days = Int64(date[0]),
      // Up to the year 9999.
      (1..<2_932_897).contains(days), let ofDay = counts(lines[2], "day"), let ofMonth = counts(lines[3], "month")
    else { return nil }
    return Day(date: CivilDate(daysSince1970: days), counts: ofDay, month: ofMonth)
  }
}
