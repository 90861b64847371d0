// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Reports the position of the drive once a second, with a receiver's faults.
struct Receiver {
  /// A position that the receiver has reported.
  struct ReportedFix {
    var second: Int
    var coordinate: Coordinate
    var speed: Double
    /// Whether its time or position is wrong.
    var isFaulty: Bool

    /// Whether a decoded fix is this one, within the resolution of the sentences: 2 cm, and a thousandth of a knot.
    /// - Parameter isWhole: whether no sentence of its epoch was lost; otherwise, the speed may be another epoch's.
    func matches(_ fix: Fix, isWhole: Bool) -> Bool {
      abs(fix.coordinate.latitude - coordinate.latitude) < 1e-7
        && abs(fix.coordinate.longitude - coordinate.longitude) < 1e-7
        && (!isWhole || abs((fix.speed ?? -1) - speed) < 1e-3)
    }
  }

  /// The reports of one second.
  struct Output {
    var fixes: [Fix] = []
    /// The time at which it reports that it has no fix; nil if it does not.
    var voidAt: Timestamp?
    /// Whether the fix of this second is among `fixes`, and correct.
    var isSound = false
  }

  private static let year2080 = Timestamp(seconds: 3_471_292_800)
  /// Its index among the scenario's receivers.
  let index: Int
  private let scenario: Scenario
  private let faults: [Fault]
  private var random: SplitMix64
  private var held: [Fix] = []
  private var swapped: Fix?
  /// Every position that was ever reported, by its timestamp in milliseconds.
  private(set) var reported: [Int64: [ReportedFix]] = [:]
  /// The most recently reported positions: 16, and as many more as were held back recently.
  private var recent: [(stamp: Timestamp, reported: ReportedFix)] = []
  /// The place that was reported in each second.
  private var places: [Int: Coordinate] = [:]
  /// The time of day of the last epoch that was sent; nil if that epoch had none.
  private var lastTimeOfDay: Int64?
  /// Positions with a wrong time, fixes from corrupted sentences of the same epoch, and the error in seconds, by the
  /// true time in seconds since boot.
  private var misdated: [Int: (reported: ReportedFix, collided: [ReportedFix], error: Int)] = [:]
  /// All errors in seconds that the time of day has had: a timestamp may have been corrected by any of them.
  private var errors: Set<Int> = [0]
  /// The differences in seconds between two of `errors`: a timestamp that was corrected by an error other than its own
  /// deviates by such a difference. It may be late, or ahead within the daemon's tolerance.
  private var deviations: Set<Int> = [0]
  /// Positions without a time.
  private var untimed: [ReportedFix] = []
  /// The errors, in days, of the machine's clock when it supplied the date of fixes without one.
  private var wrongDays: Set<Int64> = []
  /// The errors, in seconds, of the plausible dates that were reported.
  private var datedErrors: Set<Int64> = []

  init(_ scenario: Scenario, index: Int) {
    self.scenario = scenario
    self.index = index
    faults = scenario.faults.filter { $0.place == .receiver && $0.source == index }
    random = SplitMix64(seed: scenario.seed &+ 77 &+ UInt64(index) &* 1009)
    reported.reserveCapacity(scenario.duration)
  }

  /// The reported positions that this timestamp may belong to. A position that was dated by a wrong clock is faulty.
  /// - Parameter late: the number of seconds by which a corrected timestamp may be late.
  func reported(at stamp: Timestamp, late: Int) -> [ReportedFix] {
    let found = corrected(at: stamp, late: late)
    if !found.isEmpty { return found + (reported[stamp.milliseconds] ?? []) }
    if let reported = reported[stamp.milliseconds] { return reported }
    return wrongDays.flatMap { days in
      let dated = stamp - .seconds(days * 86_400)
      return corrected(at: dated, late: late) + (reported[dated.milliseconds] ?? [])
    }.map { ReportedFix(second: $0.second, coordinate: $0.coordinate, speed: $0.speed, isFaulty: true) }
  }

  /// The positions whose wrong timestamp may have been corrected to this one, within three seconds, or late by up to
  /// `late` more. The correction may have used the error that the clock had at another time, because the daemon learns
  /// a changed error only after five fixes.
  private func corrected(at stamp: Timestamp, late: Int) -> [ReportedFix] {
    guard !misdated.isEmpty else { return [] }
    let second = Int(((stamp - Scenario.boot) - offset).wholeSeconds)
    return deviations.flatMap { deviation in
      (second - deviation - 3...second - deviation + 3 + late).compactMap { second in
        misdated[second].flatMap { errors.contains($0.error - deviation) ? [$0.reported] + $0.collided : nil }
      }.joined()
    }
  }

  /// Records a position whose time is wrong by this many seconds.
  private mutating func note(_ reported: ReportedFix, error: Int) {
    misdated[reported.second] = (reported, [], error)
    guard errors.insert(error).inserted else { return }
    deviations = Set(errors.flatMap { error in errors.map { error - $0 } }.filter { (-600...5).contains($0) })
  }

  /// The position that was reported in that second, with whatever time; nil if none was.
  func place(in second: Int) -> Coordinate? { places[second] }

  /// The offset of the receiver's clock from the true time; it ensures that no two receivers report the same timestamp.
  private var offset: Duration {
    index > 0 ? .milliseconds(200 - (scenario.secondReceiver?.lag ?? 0)) : .zero
  }

  /// The second in which this decoded fix was reported; nil if it never was.
  /// - Parameters:
  ///   - isWhole: whether no sentence of its epoch was lost. If the lost one had the date, the fix has a wrong date,
  ///     and is faulty.
  ///   - time: the true time.
  ///   - wallError: the error in seconds of the machine's clock, which may give the fix its date.
  mutating func second(of fix: Fix, isWhole: Bool, at time: Timestamp, wallError: Int64) -> Int? {
    let stamp: Timestamp
    switch fix.time {
    case nil: return untimed.first { $0.matches(fix, isWhole: isWhole) }?.second
    case .utc(let utc): stamp = utc
    case .ofDay(let milliseconds):
      note(wallError: wallError)
      stamp = time.nearest(millisecondsOfDay: milliseconds)
    }
    // A wrong clock may have given an earlier fix this timestamp.
    if let reported = reported[stamp.milliseconds]?.last(where: { $0.matches(fix, isWhole: isWhole) }) {
      return reported.second
    }
    guard !isWhole || fix.timestamp == nil else { return nil }
    let entry = recent.first {
      $0.stamp.millisecondsOfDay == stamp.millisecondsOfDay && $0.reported.matches(fix, isWhole: isWhole)
    }
    guard let entry else { return nil }
    note(fix, at: stamp, second: entry.reported.second)
    return entry.reported.second
  }

  /// The reported fixes that a timestamp may belong to, after it was corrected by a server's clock that is wrong by
  /// `error` seconds.
  func reported(at stamp: Timestamp, late: Int, wrongBy error: Int64) -> [ReportedFix] {
    let second = Int(((stamp - Scenario.boot) - offset - .seconds(error)).wholeSeconds)
    // The server's time also corrects the lag of a receiver.
    let seconds = offset == .zero ? [second] : [second, second + Int(offset.wholeSeconds)]
    let right = deviations.filter { errors.contains(-$0) }.flatMap { deviation in
      seconds.flatMap { second in
        (second - deviation - 3...second - deviation + 3 + late).flatMap {
          reported[(Scenario.boot + .seconds($0) + offset).milliseconds] ?? []
        }
      }
    }
    return (right + corrected(at: stamp - .seconds(error), late: late)).map {
      ReportedFix(second: $0.second, coordinate: $0.coordinate, speed: $0.speed, isFaulty: true)
    }
  }

  /// The date as it is read when the year has only two digits: from 80 on, it is in the 20th century.
  private static func shortened(_ stamp: Timestamp) -> Timestamp {
    let text = stamp.rfc3339
    guard let year = Int(text.prefix(4)).map({ $0 % 100 }) else { return stamp }
    return Timestamp(rfc3339: "\(year >= 80 ? 1900 + year : 2000 + year)\(text.dropFirst(4))") ?? stamp
  }

  /// Records a fix that comes from this receiver, but differs from what it reported.
  mutating func note(_ fix: Fix, at stamp: Timestamp, second: Int) {
    reported[stamp.milliseconds, default: []].append(
      ReportedFix(second: second, coordinate: fix.coordinate, speed: fix.speed ?? 0, isFaulty: true))
  }

  /// Records a fix from a corrupted sentence with a valid checksum, of about this second.
  mutating func noteCollision(_ fix: Fix, at stamp: Timestamp, second: Int) {
    note(fix, at: stamp, second: second)
    guard let misdatedSecond = (second - 2...second).last(where: { misdated[$0] != nil }) else { return }
    misdated[misdatedSecond]?.collided.append(
      ReportedFix(second: second, coordinate: fix.coordinate, speed: fix.speed ?? 0, isFaulty: true))
  }

  /// Records by how many days fixes without a date may be misdated by a machine's clock with this error in seconds.
  /// They get the date nearest to the clock's time, and a faulty time of day may be half a day from the true one.
  private mutating func note(wallError: Int64, isFaulty: Bool = false) {
    let days = wallError / 86_400
    for day in (days - 1)...(days + 1)
    where day != 0 && abs(day * 86_400 - wallError) <= (isFaulty ? 24 * 3600 - 1 : 14 * 3600) {
      wrongDays.insert(day)
    }
  }

  /// Delayed data is lost: the machine is off, or suspended.
  mutating func skip() {
    (held, swapped) = ([], nil)
  }

  /// The report of this second.
  /// - Parameter wallError: the error of the machine's clock in seconds.
  mutating func output(second: Int, of drive: PlannedDrive, wallError: Int64) -> Output {
    var stamp = Scenario.boot + .seconds(second) + offset
    var coordinate = drive.coordinate.stepped(
      by: Double.random(in: 0...scenario.noise, using: &random), heading: Double.random(in: 0..<360, using: &random))
    if index > 0, let metres = scenario.secondReceiver?.metresOff, metres > 0 {
      coordinate = coordinate.stepped(by: metres, heading: 200)
    }
    // Timestamps that lag by more than `filter.max_age` are overruled, and overrule others.
    var isFaulty = index > 0 && scenario.secondReceiver?.lag ?? 0 > 10_000
    var (isSilent, isTwice, isSwapped, isHeld, hasTime) = (false, false, false, false, true)
    for fault in faults where fault.isActive(at: Double(second)) {
      switch fault.kind {
      case .noFix: isSilent = true
      case .ahead(let seconds):
        stamp = stamp + .seconds(seconds)
        isFaulty = true
      case .behind(let seconds):
        stamp = stamp - .seconds(seconds)
        isFaulty = true
      case .undated:
        stamp = Timestamp(seconds: 315_964_800).nearest(millisecondsOfDay: stamp.millisecondsOfDay)
        isFaulty = true
        note(wallError: wallError)
      case .jump(let metres):
        coordinate = coordinate.stepped(by: metres, heading: 45)
        isFaulty = true
      case .twice: isTwice = true
      case .swapped: isSwapped = true
      case .heldBack: isHeld = true
      case .noTime: hasTime = false
      default: break
      }
    }
    var isDated = true
    if scenario.isDateless {
      note(wallError: wallError, isFaulty: isFaulty)
      // Only the time of day is reported, so an error of whole days has no effect.
      stamp = (Scenario.boot + .seconds(second)).nearest(millisecondsOfDay: stamp.millisecondsOfDay)
      isDated = Scenario.boot + .seconds(Int64(second) + wallError) > Scenario.buildDate
    }
    if stamp >= Receiver.year2080 { stamp = Receiver.shortened(stamp) }
    var output = Output()
    defer {
      if let last = output.fixes.last {
        lastTimeOfDay = last.timeOfDay
      } else if let stamp = output.voidAt {
        lastTimeOfDay = stamp.millisecondsOfDay
      }
    }
    if !isHeld, !held.isEmpty {
      output.fixes = held
      held = []
    }
    guard !isSilent else {
      if !isHeld { output.voidAt = stamp }
      return output
    }
    places[second] = coordinate
    // Sentences with the time of the previous epoch are part of that epoch.
    let isOwnEpoch = (output.fixes.last?.timeOfDay ?? lastTimeOfDay) != stamp.millisecondsOfDay
    output.isSound = !isFaulty && hasTime && isDated && !isHeld && !isSwapped && isOwnEpoch
    var fix = Fix(coordinate: coordinate, time: hasTime ? .utc(stamp) : nil)
    if hasTime, scenario.isDateless { fix.time = .ofDay(milliseconds: stamp.millisecondsOfDay) }
    fix.altitude = 515
    fix.altitudeHAE = 560
    fix.speed = max(0, drive.speed + (drive.speed > 0.5 ? Double.random(in: -0.2...0.2, using: &random) : 0))
    fix.heading = drive.heading
    fix.horizontalAccuracy = 4
    fix.hdop = 0.8
    fix.satellites = 11
    let reported = ReportedFix(second: second, coordinate: coordinate, speed: fix.speed ?? 0, isFaulty: isFaulty)
    let isMisdated = faults.contains { fault in
      guard fault.isActive(at: Double(second)) else { return false }
      return switch fault.kind {
      case .ahead, .behind, .undated: true
      default: false
      }
    }
    if isMisdated {
      let time = Scenario.boot + .seconds(second) + offset
      let error = stamp - time
      let isDate = error > .seconds(86_400) || error < .seconds(-86_400)
      let ofDay = isDate ? time.nearest(millisecondsOfDay: stamp.millisecondsOfDay) - time : error
      note(reported, error: Int(ofDay.wholeSeconds))
    }
    if hasTime {
      self.reported[stamp.milliseconds, default: []].append(reported)
      if stamp.isPlausible(after: Scenario.buildDate) {
        datedErrors.insert((stamp - Scenario.boot - offset).wholeSeconds - Int64(second))
      } else {
        // An impossible date is replaced by the date of the machine's clock, or of a time that a receiver or server
        // gave before, whatever else is wrong with the time.
        for error in datedErrors.union([0, wallError]) {
          let known = Scenario.boot + .seconds(Int64(second) + error)
          self.reported[known.nearest(millisecondsOfDay: stamp.millisecondsOfDay).milliseconds, default: []].append(
            reported)
        }
      }
      if stamp < Scenario.buildDate {
        // Without any other clock, the daemon assumes a week rollover.
        let repaired = stamp.afterRollover(notBefore: Scenario.buildDate)
        self.reported[repaired.milliseconds, default: []].append(reported)
      }
      if recent.count >= 16, !isHeld { recent.removeFirst(recent.count > 16 ? 2 : 1) }
      recent.append((stamp, reported))
    } else {
      untimed.append(reported)
    }
    if isHeld {
      held.append(fix)
      return output
    }
    if isSwapped, swapped == nil {
      swapped = fix
      return output
    }
    output.fixes.append(fix)
    if let late = swapped {
      output.fixes.append(late)
      swapped = nil
    }
    if isTwice { output.fixes.append(fix) }
    return output
  }
}

extension Fix {
  /// Milliseconds since midnight UTC; nil without a time.
  fileprivate var timeOfDay: Int64? {
    switch time {
    case nil: nil
    case .utc(let stamp): stamp.millisecondsOfDay
    case .ofDay(let milliseconds): milliseconds
    }
  }
}

enum ScenarioError: Error { case noStart, noContext }
