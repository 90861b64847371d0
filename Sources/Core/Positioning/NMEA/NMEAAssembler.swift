// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Puts sentences together into epochs and epochs into fixes.
///
/// An epoch ends when a sentence of another time comes, when it has all the sentences that the receiver sends (which is
/// learnt), when the line has been silent, when a sentence comes that is known to begin the next, or with the input. Never
/// does one epoch give two fixes.
struct NMEAAssembler {
  /// How long after its last sentence an epoch is waited for at first. Receivers send an epoch in one go.
  private static let shortestPatience = Duration.milliseconds(80)
  private static let longestPatience = Duration.milliseconds(640)
  /// How long the mode that a receiver told holds for its epochs that show none: some send GSA or GGA at every fifth only.
  private static let modeLife: Int64 = 10_000

  /// GST among the kinds with a time, whose others are those of position reports.
  private static let errorsKind: UInt8 = 1 << 7

  /// Sentences that came this much after later ones, in milliseconds, were overtaken; a time that goes back further is the
  /// receiver's.
  private static let longestOvertaking: Int64 = 2000
  private static let millisecondsPerDay: Int64 = 86_400_000

  private let isReordered: Bool
  private var epoch = NMEAEpoch()
  private var cadence = NMEACadence()
  private var order = NMEAOrder()
  /// What began the open epoch although no silence and no time came before it.
  private var beginner: NMEAOrder.Untimed?
  private var calendar = NMEACalendar()
  private var patience = shortestPatience
  /// When the last sentence, or a part of one, came.
  private var lastSentence: BootInstant?
  /// When the open epoch's last sentence came.
  private var arrival = BootInstant.boot
  private var closedTime: Int64?
  /// Whether what ended the last epoch leaves open that sentences without a time still belong to it.
  private var mayTrail = false
  private var closedBySilence = false
  private var knownMode: (mode: Fix.Mode, time: Int64)?

  /// - Parameter isReordered: whether sentences may overtake each other on the path.
  init(isReordered: Bool = false) {
    self.isReordered = isReordered
  }

  /// Takes over the order of sentences that another has learnt from the same receiver.
  mutating func adoptOrder(of other: NMEAAssembler) {
    order = other.order
    order.close()
  }

  /// When silence ends the open epoch.
  var deadline: BootInstant? {
    guard epoch.hasPosition, let lastSentence else { return nil }
    return lastSentence + patience
  }

  /// A part of a sentence came: on a slow line a whole one takes longer than any silence.
  mutating func hear(at now: BootInstant) {
    guard let lastSentence, now - lastSentence < patience else { return }
    self.lastSentence = now
  }

  /// The line has not been silent until now.
  mutating func goOn(at now: BootInstant) {
    if lastSentence != nil { lastSentence = now }
  }

  /// Takes a sentence.
  ///
  /// - Parameter address: its talker and type.
  /// - Returns: whether it came in time for its epoch.
  mutating func add(
    _ sentence: NMEASentence, address: UInt64, at now: BootInstant, into emit: (Fix) -> Void
  ) -> Bool {
    if let lastSentence, now - lastSentence >= patience { silence(into: emit) }
    lastSentence = now
    switch sentence {
    case .unknown, .unusable, .sky: return true
    case .date(let date, let time):
      // ZDA is of no epoch: some receivers send it with the time of the next second.
      calendar.note(date, timeOfDay: time, at: now)
      return true
    case .position(let report):
      // Without a time a second sentence of a kind is the sign of the next epoch.
      if report.time == nil, report.validity == .valid, epoch.holds(report.kind) { close(into: emit) }
      // The epoch that this may end need not be of this date; but any date is better than none.
      if calendar.isBlank { note(report, at: now) }
      let isInTime = open(report.time, into: emit)
      note(report, at: now)
      guard isInTime else { return false }
      if report.time != nil { order.note(timed: report.kind.rawValue) }
      epoch.add(report)
    case .errors(let report):
      guard open(report.time, into: emit) else { return false }
      if report.time != nil { order.note(timed: NMEAAssembler.errorsKind) }
      epoch.add(report)
    case .motion(let report):
      guard open(.motion, into: emit) else { return false }
      epoch.add(report)
    case .satellites(let report):
      guard open(.satellites, into: emit) else { return false }
      epoch.add(report)
    }
    arrival = now
    cadence.note(address)
    if cadence.isComplete {
      close(into: emit)
      mayTrail = true
    }
    return true
  }

  /// The date of a position that the receiver stands by: before it has one it may guess.
  private mutating func note(_ report: NMEASentence.PositionReport, at now: BootInstant) {
    guard report.validity == .valid, let date = report.date, let time = report.time else { return }
    calendar.note(date, timeOfDay: time, at: now)
  }

  /// The line has been silent until now.
  mutating func expire(at now: BootInstant, into emit: (Fix) -> Void) {
    if let deadline, now >= deadline { silence(into: emit) }
  }

  /// Ends the open epoch.
  mutating func finish(into emit: (Fix) -> Void) {
    close(into: emit)
  }

  private mutating func silence(into emit: (Fix) -> Void) {
    // It was the last of its burst and not the first of the next.
    if let beginner, epoch.time == nil { order.contradict(beginner) }
    beginner = nil
    // Sentences without a time may come before the one that tells it: they wait.
    if epoch.time != nil || epoch.hasPosition {
      close(into: emit)
      closedBySilence = true
    }
    mayTrail = false
  }

  /// Makes the epoch of a sentence without a time the open one.
  ///
  /// - Returns: false when that epoch has ended.
  private mutating func open(_ untimed: NMEAOrder.Untimed, into emit: (Fix) -> Void) -> Bool {
    if order.begins(untimed), !epoch.isEmpty || mayTrail {
      close(into: emit)
      mayTrail = false
      beginner = untimed
    }
    guard open(nil, into: emit) else { return false }
    order.note(untimed)
    return true
  }

  /// Makes the epoch of that time the open one, and ends the one before if it is another.
  ///
  /// - Returns: false when that epoch has ended.
  private mutating func open(_ time: Int64?, into emit: (Fix) -> Void) -> Bool {
    if let time {
      if isReordered, let newest = epoch.time ?? closedTime, NMEAAssembler.isOvertaken(time, by: newest) {
        return false
      }
      if let openTime = epoch.time, openTime != time { close(into: emit) }
      if epoch.time == nil, time == closedTime {
        if closedBySilence { patience = min(patience + patience, Self.longestPatience) }
        cadence.contradict()
        if let beginner { order.contradict(beginner) }
        beginner = nil
        return false
      }
    } else if epoch.isEmpty, mayTrail {
      cadence.contradict()
      return false
    }
    mayTrail = false
    return true
  }

  /// Whether the one time of day is shortly before the other, across midnight as well.
  private static func isOvertaken(_ time: Int64, by newest: Int64) -> Bool {
    let lead = newest - time
    return (1...longestOvertaking).contains(lead < 0 ? lead + millisecondsPerDay : lead)
  }

  private mutating func close(into emit: (Fix) -> Void) {
    guard !epoch.isEmpty else { return }
    cadence.close(at: epoch.time)
    order.close()
    beginner = nil
    if epoch.hasPosition {
      let mode = mode(at: epoch.time)
      let time = epoch.time.map { calendar.time(ofDay: $0, at: arrival) }
      if let fix = epoch.fix(time: time, modeOtherwise: mode) { emit(fix) }
    }
    closedTime = epoch.time
    closedBySilence = false
    epoch = NMEAEpoch()
  }

  /// The open epoch's mode, or the last that was told if that was not long ago.
  private mutating func mode(at time: Int64?) -> Fix.Mode {
    if let mode = epoch.mode {
      knownMode = time.map { (mode, $0) }
      return mode
    }
    guard let knownMode, let time, (0...Self.modeLife).contains(time - knownMode.time) else { return .twoD }
    return knownMode.mode
  }
}
