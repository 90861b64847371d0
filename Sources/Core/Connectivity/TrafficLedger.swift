// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Accounts for the traffic of the daemon's connections: since its start, today and this month (UTC), also across
/// restarts.
///
/// Readings are counters since the start. Their increments are added to the current day once the date is known; until
/// then they are pending, so that a machine with an unset clock adds nothing to a day in 1970. The first reading after
/// midnight belongs to the day before.
package struct TrafficLedger: Equatable, Sendable {
  /// The traffic of a period.
  package struct Counts: Equatable, Sendable {
    /// Over connections to Fleet Engine.
    package var fleetEngine = TCPTraffic()
    /// Over connections to the token provider.
    package var tokenProvider = TCPTraffic()
    /// Updates that Fleet Engine accepted.
    package var updates: UInt64 = 0

    /// All zero.
    package init() {}

    /// - Parameter updates: updates that Fleet Engine accepted.
    package init(fleetEngine: TCPTraffic, tokenProvider: TCPTraffic, updates: UInt64) {
      self.fleetEngine = fleetEngine
      self.tokenProvider = tokenProvider
      self.updates = updates
    }

    /// To both servers.
    package var traffic: TCPTraffic { fleetEngine + tokenProvider }

    /// Bytes to and from Fleet Engine per accepted update, including headers and handshakes; nil without updates.
    package var bytesPerUpdate: UInt64? { updates > 0 ? fleetEngine.total / updates : nil }

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

  /// A day, and its month so far.
  package struct Day: Equatable, Sendable {
    /// In UTC.
    package var date: CivilDate
    /// Of the day.
    package var counts = Counts()
    /// Of the month up to and including this day.
    package var month = Counts()

    package init(date: CivilDate, counts: Counts = Counts(), month: Counts = Counts()) {
      self.date = date
      self.counts = counts
      self.month = month
    }
  }

  /// The effects of a reading.
  package enum Effect: Equatable, Sendable {
    /// A day with traffic has ended.
    case ended(Day)
    /// Store this for the next run: less than 600 bytes.
    case store(String)
  }

  /// The interval of regular readings; a power cut loses what was counted since the last one.
  package static let interval = Duration.seconds(900)
  /// The maximum size of text that `init` parses.
  package static let maxTextSize = 1024
  /// A change of the date by more days is suspect.
  private static let maxPlausibleDays = 31
  /// The delay before the first reading, and the interval while the date is unknown.
  private static let undatedInterval = Duration.seconds(60)
  private static let title = "fleet-locationd traffic 1"

  /// Since the start, up to the last reading.
  package private(set) var sinceStart = Counts()
  /// The current day; nil while no date is known, and nothing was stored by a previous run.
  private var day: Day?
  /// A change of the date by more than a day, which may be wrong.
  private struct Jump: Equatable {
    /// The day before it.
    let before: Day
    let at: BootInstant
    /// Whether it is backwards, or so great that only a wrong clock or a vehicle that was parked for long explains it.
    var isSuspect: Bool
    /// Counted since then.
    var countsSince = Counts()
  }

  /// The first jump since the date last advanced by one day; nil if there was none in this run.
  private var jump: Jump?
  /// Not added to a day yet, because the date is unknown.
  private var undated = Counts()
  private var isDateKnown = false
  private var lastStored = ""
  private var nextStore: BootInstant
  /// When the next reading is due.
  package private(set) var nextReading: BootInstant

  /// - Parameters:
  ///   - stored: what the previous run stored; invalid text is ignored.
  ///   - now: the start.
  package init(_ stored: String? = nil, at now: BootInstant) {
    nextReading = now + TrafficLedger.undatedInterval
    nextStore = nextReading
    day = stored.flatMap(TrafficLedger.day(in:))
    lastStored = day.map(TrafficLedger.text(of:)) ?? ""
  }

  /// Today so far, up to the last reading; nil while the date is unknown.
  package var today: Day? { isDateKnown ? day : nil }

  /// Processes a reading.
  ///
  /// - Parameters:
  ///   - counted: counters since the start.
  ///   - time: the current time; nil if unknown.
  ///   - isConfirmed: whether a server has confirmed it, so that it is right even if the last run was months ago.
  ///   - isLast: whether it is the last of this run.
  package mutating func record(
    _ counted: Counts, at now: BootInstant, time: Timestamp?, isConfirmed: Bool, isLast: Bool = false
  ) -> [Effect] {
    undated += counted.since(sinceStart)
    sinceStart = counted
    nextReading = now + (time == nil ? TrafficLedger.undatedInterval : TrafficLedger.interval)
    guard let time else { return [] }
    if isDateKnown { addUndatedToDay() }
    var effects = advance(to: time.date, isConfirmed: isConfirmed, at: now)
    isDateKnown = true
    addUndatedToDay()
    nextReading = min(nextReading, now + .milliseconds(86_400_000 - time.millisecondsOfDay))
    // The end of a day is stored at once, so that the next run does not report it again.
    guard now >= nextStore || isLast || !effects.isEmpty, !isSuspect(at: now), let day,
      case let text = TrafficLedger.text(of: day),
      text != lastStored
    else { return effects }
    nextStore = now + TrafficLedger.interval
    lastStored = text
    effects.append(.store(text))
    return effects
  }

  /// Adds what is pending to the day.
  private mutating func addUndatedToDay() {
    day?.counts += undated
    day?.month += undated
    jump?.countsSince += undated
    undated = Counts()
  }

  /// Whether the date has been suspect for less than an interval: until then it is not stored, so that a restart
  /// continues the month before the jump.
  private func isSuspect(at now: BootInstant) -> Bool {
    jump.map { $0.isSuspect && now - $0.at < TrafficLedger.interval } ?? false
  }

  private mutating func advance(to date: CivilDate, isConfirmed: Bool, at now: BootInstant) -> [Effect] {
    guard let before = day else {
      day = Day(date: date)
      return []
    }
    let days = date.daysSince1970 - before.date.daysSince1970
    if isConfirmed, days == 0, let earlier = jump?.before.date, before.date.daysSince1970 > earlier.daysSince1970 {
      jump?.isSuspect = false
    }
    // A clock that is set back across midnight does not end a day twice.
    if days == 0 || days == -1 { return [] }
    if days == 1 {
      jump = nil
    } else if let jump, days < 0 || jump.isSuspect, let day = TrafficLedger.day(on: date, after: jump) {
      self.jump = nil
      self.day = day
      return []
    } else if jump.map({ !$0.isSuspect && days > 0 }) ?? true {
      // After a weekend without a date, for instance, the next gap is no return to the day before it.
      let isPlausible = days > 0 && (days <= TrafficLedger.maxPlausibleDays || isConfirmed)
      jump = Jump(before: before, at: now, isSuspect: !isPlausible)
    }
    // An earlier date: the previous one was wrong, and its counts belong to the new one.
    if days < 0 {
      day?.date = date
      return []
    }
    let isSameMonth = (date.year, date.month) == (before.date.year, before.date.month)
    day = Day(date: date, month: isSameMonth ? before.month : Counts())
    return before.counts == Counts() ? [] : [.ended(before)]
  }

  /// The day, if the date returns from a wrong one to the month before the jump; nil if it does not.
  private static func day(on date: CivilDate, after jump: Jump) -> Day? {
    let before = jump.before
    let days = date.daysSince1970 - before.date.daysSince1970
    guard days >= -1, (date.year, date.month) == (before.date.year, before.date.month) else { return nil }
    var day = days <= 0 ? before : Day(date: date, month: before.month)
    day.counts += jump.countsSince
    day.month += jump.countsSince
    return day
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
