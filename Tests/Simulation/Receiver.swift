// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Says once a second where the drive is, with the faults of receivers.
struct Receiver {
  /// What a stamp stands for.
  struct ReportedFix {
    var second: Int
    var coordinate: Coordinate
    var speed: Double
    /// Its time or place is wrong.
    var isFaulty: Bool

    /// Whether a decoded fix is this one: to the last digit that is written, half of 2 cm and of a thousandth of a
    /// knot.
    ///
    /// - Parameter isWhole: whether no sentence of its epoch was lost; else the speed may be another epoch's.
    func matches(_ fix: Fix, isWhole: Bool) -> Bool {
      abs(fix.coordinate.latitude - coordinate.latitude) < 1e-7
        && abs(fix.coordinate.longitude - coordinate.longitude) < 1e-7
        && (!isWhole || abs((fix.speed ?? -1) - speed) < 1e-3)
    }
  }

  /// What it says in one second.
  struct Output {
    var fixes: [Fix] = []
    /// It says that it has no fix, at this time.
    var voidAt: Timestamp?
    /// The fix of this very second is among them, and right.
    var isSound = false
  }

  private static let year2080 = Timestamp(seconds: 3_471_292_800)
  /// Its number among the scenario's.
  let index: Int
  private let scenario: Scenario
  private let faults: [Fault]
  private var random: SplitMix64
  private var held: [Fix] = []
  private var swapped: Fix?
  /// Every position that was ever reported, by its stamp in milliseconds.
  private(set) var reported: [Int64: [ReportedFix]] = [:]
  /// The last of them.
  private var recent: [(stamp: Timestamp, reported: ReportedFix)] = []
  /// Those whose time was wrong, by their second, and by how many seconds.
  private var misdated: [Int: (reported: ReportedFix, error: Int)] = [:]
  /// By how many seconds the time of day was wrong at any time: what a stamp may have been corrected by.
  private var errors: Set<Int> = [0]
  /// By how many seconds positions are late, or ahead within the daemon's slack, whose correction is of another second.
  private var deviations: Set<Int> = [0]
  /// Those without a time.
  private var untimed: [ReportedFix] = []
  /// By how many days a clock was wrong that dated fixes without a date.
  private var wrongDays: Set<Int64> = []

  init(_ scenario: Scenario, index: Int) {
    self.scenario = scenario
    self.index = index
    faults = scenario.faults.filter { $0.place == .receiver && $0.source == index }
    random = SplitMix64(seed: scenario.seed &+ 77 &+ UInt64(index) &* 1009)
    reported.reserveCapacity(scenario.duration)
  }

  /// What that stamp stands for: empty when there was no such position. One that a wrong clock has dated is faulty.
  func reported(at stamp: Timestamp) -> [ReportedFix] {
    let found = corrected(at: stamp)
    if !found.isEmpty { return found + (reported[stamp.milliseconds] ?? []) }
    if let reported = reported[stamp.milliseconds] { return reported }
    return wrongDays.flatMap { days in
      let dated = stamp - .seconds(days * 86_400)
      return corrected(at: dated) + (reported[dated.milliseconds] ?? [])
    }.map { ReportedFix(second: $0.second, coordinate: $0.coordinate, speed: $0.speed, isFaulty: true) }
  }

  /// Those whose wrong stamp was corrected to this one, to three seconds: by what the clock was wrong by then, or at
  /// another time. The daemon learns the other error only after five fixes.
  private func corrected(at stamp: Timestamp) -> [ReportedFix] {
    guard !misdated.isEmpty else { return [] }
    let second = Int(((stamp - Scenario.boot) - offset).wholeSeconds)
    return deviations.flatMap { deviation in
      (second - deviation - 3...second - deviation + 3).compactMap { second in
        misdated[second].flatMap { errors.contains($0.error - deviation) ? $0.reported : nil }
      }
    }
  }

  /// Notes a position whose time is wrong by this many seconds.
  private mutating func note(_ reported: ReportedFix, error: Int) {
    misdated[reported.second] = (reported, error)
    guard errors.insert(error).inserted else { return }
    deviations = Set(errors.flatMap { error in errors.map { error - $0 } }.filter { (-600...3).contains($0) })
  }

  /// The place in that second, if it was reported with the right time.
  func place(in second: Int) -> Coordinate? {
    reported[(Scenario.boot + .seconds(second) + offset).milliseconds]?.first?.coordinate
  }

  /// What its clock adds to the true time; no stamp is of both receivers.
  private var offset: Duration {
    index > 0 ? .milliseconds(200 - (scenario.second?.lag ?? 0)) : .zero
  }

  /// Which second's position this is, as it came out of the decoder; nil when it was never reported.
  ///
  /// - Parameters:
  ///   - isWhole: whether no sentence of its epoch was lost. One that was may have held the date: then it is another,
  ///     and the position faulty.
  ///   - time: the true one.
  ///   - wallError: seconds by which the machine's clock is wrong, which may give the fix a date.
  mutating func second(of fix: Fix, isWhole: Bool, at time: Timestamp, wallError: Int64) -> Int? {
    let stamp: Timestamp
    switch fix.time {
    case nil: return untimed.first { $0.matches(fix, isWhole: isWhole) }?.second
    case .utc(let utc): stamp = utc
    case .ofDay(let milliseconds):
      note(wallError: wallError)
      stamp = time.nearest(millisecondsOfDay: milliseconds)
    }
    // A wrong clock may have given this stamp before.
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

  /// The true fixes for a timestamp that was corrected by a server whose clock has this error in seconds.
  func reported(at stamp: Timestamp, wrongBy error: Int64) -> [ReportedFix] {
    let second = Int(((stamp - Scenario.boot) - offset - .seconds(error)).wholeSeconds)
    let right = deviations.filter { errors.contains(-$0) }.flatMap { deviation in
      (second - deviation - 3...second - deviation + 3).flatMap {
        reported[(Scenario.boot + .seconds($0) + offset).milliseconds] ?? []
      }
    }
    return (right + corrected(at: stamp - .seconds(error))).map {
      ReportedFix(second: $0.second, coordinate: $0.coordinate, speed: $0.speed, isFaulty: true)
    }
  }

  /// What is read of a time whose year is written with two digits: those from 80 on are of the last century.
  private static func shortened(_ stamp: Timestamp) -> Timestamp {
    let text = stamp.rfc3339
    guard let year = Int(text.prefix(4)).map({ $0 % 100 }) else { return stamp }
    return Timestamp(rfc3339: "\(year >= 80 ? 1900 + year : 2000 + year)\(text.dropFirst(4))") ?? stamp
  }

  /// A position that comes from this receiver, and is not what it meant.
  mutating func note(_ fix: Fix, at stamp: Timestamp, second: Int) {
    reported[stamp.milliseconds, default: []].append(
      ReportedFix(second: second, coordinate: fix.coordinate, speed: fix.speed ?? 0, isFaulty: true))
  }

  /// Notes which dates a clock that is wrong by this number of seconds gives to fixes that have none.
  private mutating func note(wallError: Int64) {
    let days = wallError / 86_400
    for day in (days - 1)...(days + 1) where day != 0 && abs(day * 86_400 - wallError) <= 14 * 3600 {
      wrongDays.insert(day)
    }
  }

  /// What was delayed is lost: the machine is off, or sleeps.
  mutating func skip() {
    (held, swapped) = ([], nil)
  }

  /// What it says in this second.
  ///
  /// - Parameter wallError: seconds by which the machine's clock is wrong.
  mutating func output(second: Int, of drive: PlannedDrive, wallError: Int64) -> Output {
    if scenario.isDateless { note(wallError: wallError) }
    var stamp = Scenario.boot + .seconds(second) + offset
    var coordinate = drive.coordinate.stepped(
      by: Double.random(in: 0...scenario.noise, using: &random), heading: Double.random(in: 0..<360, using: &random))
    if index > 0, let metres = scenario.second?.metresOff, metres > 0 {
      coordinate = coordinate.stepped(by: metres, heading: 200)
    }
    // More than `filter.max_age` is no lag any more: what it says is overruled, and overrules.
    var isFaulty = index > 0 && scenario.second?.lag ?? 0 > 10_000
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
      // It does not report whole days, wrong or not.
      stamp = (Scenario.boot + .seconds(second)).nearest(millisecondsOfDay: stamp.millisecondsOfDay)
      isDated = Scenario.boot + .seconds(Int64(second) + wallError) > Scenario.buildDate
    }
    if stamp >= Receiver.year2080 { stamp = Receiver.shortened(stamp) }
    var output = Output()
    if !isHeld, !held.isEmpty {
      output.fixes = held
      held = []
    }
    guard !isSilent else {
      if !isHeld { output.voidAt = stamp }
      return output
    }
    output.isSound = !isFaulty && hasTime && isDated && !isHeld && !isSwapped
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
      if stamp > Scenario.boot, !stamp.isPlausible(after: Scenario.buildDate) {
        // A date that cannot be is replaced by that of the machine's clock.
        let wall = Scenario.boot + .seconds(Int64(second) + wallError)
        self.reported[wall.nearest(millisecondsOfDay: stamp.millisecondsOfDay).milliseconds, default: []].append(
          reported)
      }
      if recent.count >= 4 { recent.removeFirst() }
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

enum ScenarioError: Error { case noStart, noContext }
