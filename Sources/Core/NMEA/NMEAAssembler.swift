// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Assembles sentences into epochs and epochs into fixes.
///
/// An epoch ends with a sentence that has a different time, with the last of the sentences that the receiver sends for
/// an epoch (which is learnt, unless the ends are marked), with silence, with a sentence that is known to begin the
/// next epoch, or with the end of the input. One epoch never results in two fixes.
struct NMEAAssembler {
  /// The initial silence after which an epoch ends. Receivers send an epoch in one burst.
  private static let minimumEpochTimeout = Duration.milliseconds(80)
  private static let maximumEpochTimeout = Duration.milliseconds(640)
  /// How long a mode is valid for epochs without one, in milliseconds: some receivers send GSA or GGA only with every
  /// fifth epoch.
  private static let modeLifetime: Int64 = 10_000
  /// How long an altitude is valid for epochs without one, in milliseconds: in this time, a vehicle's altitude changes
  /// by a few metres at most.
  private static let altitudeLifetime: Int64 = 5000

  /// The bit of GST among the kinds with a time; the other bits are those of position reports.
  private static let errorsKind: UInt8 = 1 << 7

  /// A sentence whose time is at most this much older, in milliseconds, was reordered in the network; a larger step
  /// back is a step of the receiver's clock.
  private static let maximumReordering: Int64 = 2000
  private static let millisecondsPerDay: Int64 = 86_400_000

  private let mayBeReordered: Bool
  private let hasMarkedEnds: Bool
  private var epoch = NMEAEpoch()
  private var cadence = NMEACadence()
  private var order = NMEAOrder()
  /// The kind that began the open epoch only according to the learnt order; nil if the epoch began after a silence or
  /// with a time.
  private var inferredStart: NMEAOrder.Untimed?
  private var calendar = NMEACalendar()
  private var epochTimeout = minimumEpochTimeout
  /// The arrival of the last sentence, or a part of one.
  private var lastSentenceAt: BootInstant?
  /// The arrival of the open epoch's last sentence.
  private var arrival = BootInstant.boot
  private var closedTime: Int64?
  /// Whether sentences without a time may still belong to the epoch that ended last.
  private var acceptsTrailing = false
  private var wasClosedBySilence = false
  /// Whether the open epoch is discarded unless it is completed, or another sentence with its time follows.
  private var isAbandoned = false
  private var knownMode: (mode: Fix.Mode, time: Int64)?
  private var knownAltitude: (altitude: Double, separation: Double?, time: Int64)?

  /// - Parameters:
  ///   - mayBeReordered: whether sentences may be reordered in the network.
  ///   - hasMarkedEnds: whether `finish` follows each epoch.
  init(mayBeReordered: Bool = false, hasMarkedEnds: Bool = false) {
    (self.mayBeReordered, self.hasMarkedEnds) = (mayBeReordered, hasMarkedEnds)
  }

  /// Copies the order of sentences that was learnt from the same receiver.
  mutating func adoptOrder(of other: NMEAAssembler) {
    order = other.order
    order.close()
  }

  /// When silence ends the open epoch.
  var deadline: BootInstant? {
    guard epoch.hasPosition, let lastSentenceAt else { return nil }
    return lastSentenceAt + epochTimeout
  }

  /// A part of a sentence was received: on a slow line, a whole sentence takes longer than the silence that ends an
  /// epoch.
  mutating func partReceived(at now: BootInstant) {
    guard let lastSentenceAt, now - lastSentenceAt < epochTimeout else {
      // It comes after a silence, which `noteActivity` would otherwise hide.
      acceptsTrailing = false
      return
    }
    self.lastSentenceAt = now
  }

  /// A line was damaged, which may have been a sentence of the open epoch.
  mutating func noteDamage() { cadence.noteDamage() }

  /// The line was active until now.
  mutating func noteActivity(at now: BootInstant) {
    if lastSentenceAt != nil { lastSentenceAt = now }
  }

  /// Processes a sentence.
  ///
  /// - Parameter address: its talker and type.
  /// - Returns: whether it was in time for its epoch.
  mutating func add(
    _ sentence: NMEASentence, address: UInt64, at now: BootInstant, into emit: (Fix) -> Void
  ) -> Bool {
    if let lastSentenceAt, now - lastSentenceAt >= epochTimeout { closeAfterSilence(into: emit) }
    lastSentenceAt = now
    switch sentence {
    case .unknown, .unusable, .sky: return true
    case .date(let date, let time):
      // ZDA belongs to no epoch: some receivers send it with the time of the next second.
      calendar.note(date, timeOfDay: time, at: now)
      return true
    case .position(let report):
      // A second sentence of a kind begins the next epoch if one of the two has no time.
      if report.time == nil ? report.validity == .valid : epoch.time == nil, epoch.contains(report.kind) {
        close(into: emit)
      }
      // The epoch that ends here may be of another date, but any date is better than none.
      if calendar.isBlank { noteDate(of: report, at: now) }
      let isInTime = open(report.time, into: emit)
      noteDate(of: report, at: now)
      guard isInTime else { return false }
      note(report.kind.rawValue, isTimed: report.time != nil)
      epoch.add(report)
    case .errors(let report):
      guard open(report.time, into: emit) else { return false }
      note(NMEAAssembler.errorsKind, isTimed: report.time != nil)
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
    if cadence.isComplete, !hasMarkedEnds {
      isAbandoned = false
      close(into: emit)
      acceptsTrailing = true
    }
    return true
  }

  /// A sentence of the open epoch was received, of a kind with a time. `kind` is its bit.
  private mutating func note(_ kind: UInt8, isTimed: Bool) {
    guard isTimed else { return order.begin() }
    order.note(timed: kind)
    isAbandoned = false
  }

  /// Uses the date of a valid position only: without a valid position, the receiver may guess the date.
  private mutating func noteDate(of report: NMEASentence.PositionReport, at now: BootInstant) {
    guard report.validity == .valid, let date = report.date, let time = report.time else { return }
    calendar.note(date, timeOfDay: time, at: now)
  }

  /// Ends the open epoch if the line was silent long enough.
  mutating func expire(at now: BootInstant, into emit: (Fix) -> Void) {
    if let deadline, now >= deadline { closeAfterSilence(into: emit) }
  }

  /// Ends the open epoch.
  mutating func finish(into emit: (Fix) -> Void) {
    close(into: emit)
  }

  /// Discards the open epoch: at once if it is not known which sentence the receiver sends last in an epoch; otherwise
  /// unless the epoch is completed, or another sentence with its time follows.
  mutating func discardUnlessContinued() {
    isAbandoned = !epoch.isEmpty
    if !cadence.isTrusted { close { _ in } }
  }

  private mutating func closeAfterSilence(into emit: (Fix) -> Void) {
    // The sentence was the last of its burst, not the first of the next.
    if let inferredStart, epoch.time == nil { order.contradict(inferredStart) }
    inferredStart = nil
    // Sentences without a time may come before the one with a time, so they are kept.
    if epoch.time != nil || epoch.hasPosition {
      close(into: emit)
      wasClosedBySilence = true
    }
    acceptsTrailing = false
  }

  /// Continues or begins an epoch with a sentence without a time.
  ///
  /// - Returns: false if the sentence's epoch has ended.
  private mutating func open(_ untimed: NMEAOrder.Untimed, into emit: (Fix) -> Void) -> Bool {
    if order.begins(untimed), !epoch.isEmpty || acceptsTrailing {
      close(into: emit)
      acceptsTrailing = false
      inferredStart = untimed
    }
    guard open(nil, into: emit) else { return false }
    order.note(untimed)
    return true
  }

  /// Opens the epoch of this time, and ends the open epoch if it has a different time.
  ///
  /// - Returns: false if the epoch of this time has already ended.
  private mutating func open(_ time: Int64?, into emit: (Fix) -> Void) -> Bool {
    if let time {
      if mayBeReordered, let newest = epoch.time ?? closedTime, NMEAAssembler.isOvertaken(time, by: newest) {
        return false
      }
      if let openTime = epoch.time, openTime != time { close(into: emit) }
      if epoch.time == nil, time == closedTime {
        if wasClosedBySilence { epochTimeout = min(epochTimeout + epochTimeout, Self.maximumEpochTimeout) }
        cadence.contradict()
        if let inferredStart { order.contradict(inferredStart) }
        inferredStart = nil
        return false
      }
    } else if epoch.isEmpty, acceptsTrailing {
      cadence.contradict()
      return false
    }
    acceptsTrailing = false
    return true
  }

  /// Whether a time of day is shortly before another, even across midnight.
  private static func isOvertaken(_ time: Int64, by newest: Int64) -> Bool {
    let difference = newest - time
    return (1...maximumReordering).contains(difference < 0 ? difference + millisecondsPerDay : difference)
  }

  private mutating func close(into emit: (Fix) -> Void) {
    guard !epoch.isEmpty else { return }
    cadence.close(at: epoch.time)
    order.close()
    inferredStart = nil
    if epoch.hasPosition {
      let mode = mode(at: epoch.time)
      let time = epoch.time.map { calendar.time(ofDay: $0, at: arrival) }
      let altitude = altitude(at: epoch.time)
      if !isAbandoned, let fix = epoch.fix(time: time, fallbackMode: mode, fallbackAltitude: altitude) { emit(fix) }
    }
    closedTime = epoch.time
    (wasClosedBySilence, isAbandoned) = (false, false)
    epoch = NMEAEpoch()
  }

  /// The open epoch's mode, or the last one if it is recent.
  private mutating func mode(at time: Int64?) -> Fix.Mode {
    if let mode = epoch.mode {
      knownMode = time.map { (mode, $0) }
      return mode
    }
    guard let knownMode, let time, (0...Self.modeLifetime).contains(time - knownMode.time) else { return .twoD }
    return knownMode.mode
  }

  /// The last altitude if it is recent; nil if the open epoch has its own, which is stored.
  private mutating func altitude(at time: Int64?) -> (altitude: Double, separation: Double?)? {
    if let altitude = epoch.altitude {
      knownAltitude = time.map { (altitude, epoch.geoidSeparation, $0) }
      return nil
    }
    guard let knownAltitude, let time, (0...Self.altitudeLifetime).contains(time - knownAltitude.time) else {
      return nil
    }
    return (knownAltitude.altitude, knownAltitude.separation)
  }
}
