// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Turns the drive into fixes, once a second, with the faults of receivers.
struct Receiver {
  /// What a stamp stands for.
  struct Told {
    var second: Int
    var coordinate: Coordinate
    /// Its time or place is wrong.
    var isFaulty: Bool
  }

  private let scenario: Scenario
  private var drive: Drive
  private var random: SplitMix64
  private var held: [Fix] = []
  private var swapped: Fix?
  /// Every position that was ever told, by its stamp in milliseconds.
  private(set) var told: [Int64: [Told]] = [:]
  /// By how many days a clock was wrong that dated the fixes of a receiver without a date.
  private var wrongDays: Set<Int64> = []
  /// Per second since boot: whether a sound fix came, and the speed.
  private(set) var track: [(hasFix: Bool, speed: Double)] = []

  init(_ scenario: Scenario) throws {
    self.scenario = scenario
    random = SplitMix64(seed: scenario.seed &+ 77)
    guard let start = Coordinate(latitude: 48.137, longitude: 11.575) else { throw SimulationError.noStart }
    drive = Drive(scenario.drive, from: start, seed: scenario.seed &+ 7)
    told.reserveCapacity(scenario.duration)
  }

  /// Nobody listens in this second.
  mutating func skip(second: Int) {
    drive.advance(second: second)
    track.append((false, drive.speed))
  }

  /// What that stamp stands for: empty when there was no such position. One that a wrong clock has dated is faulty.
  func told(at stamp: Timestamp) -> [Told] {
    if let told = told[stamp.milliseconds] { return told }
    return wrongDays.compactMap { told[stamp.milliseconds - $0 * 86_400_000] }.joined().map {
      Told(second: $0.second, coordinate: $0.coordinate, isFaulty: true)
    }
  }

  /// Notes which dates a clock that is wrong by so many seconds gives to fixes that have none.
  private mutating func note(wallError: Int64) {
    let days = wallError / 86_400
    for day in (days - 1)...(days + 1) where day != 0 && abs(day * 86_400 - wallError) <= 14 * 3600 {
      wrongDays.insert(day)
    }
  }

  /// The fixes that arrive for this second.
  ///
  /// - Parameters:
  ///   - isRead: false while the machine is off or asleep: what is told then nobody hears.
  ///   - wallError: seconds by which the machine's clock is wrong.
  mutating func fixes(second: Int, isRead: Bool, wallError: Int64) -> [Fix] {
    drive.advance(second: second)
    if scenario.isDateless { note(wallError: wallError) }
    guard isRead else {
      track.append((false, drive.speed))
      (held, swapped) = ([], nil)
      return []
    }
    var stamp = Scenario.boot + .seconds(second)
    var coordinate = drive.coordinate.stepped(
      by: Double.random(in: 0...scenario.noise, using: &random), heading: Double.random(in: 0..<360, using: &random))
    var isFaulty = false
    var (isSilent, isTwice, isSwapped, isHeld, hasTime) = (false, false, false, false, true)
    for fault in scenario.faults where fault.place == .receiver && fault.isActive(at: Double(second)) {
      switch fault.kind {
      case .noFix: isSilent = true
      case .ahead(let seconds):
        stamp = stamp + .seconds(seconds)
        isFaulty = true
      case .behind(let seconds):
        stamp = stamp - .seconds(seconds)
        isFaulty = true
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
    track.append((!isSilent && !isFaulty && hasTime && isDated && !isHeld && !isSwapped, drive.speed))
    var arriving: [Fix] = []
    if !isHeld, !held.isEmpty {
      arriving = held
      held = []
    }
    guard !isSilent else { return arriving }
    var fix = Fix(coordinate: coordinate, time: hasTime ? .utc(stamp) : nil)
    if hasTime, scenario.isDateless { fix.time = .ofDay(milliseconds: stamp.millisecondsOfDay) }
    fix.altitudeHAE = 560
    fix.speed = max(0, drive.speed + (drive.speed > 0.5 ? Double.random(in: -0.2...0.2, using: &random) : 0))
    fix.heading = drive.heading
    fix.horizontalAccuracy = 4
    fix.satellites = 11
    if hasTime {
      told[stamp.milliseconds, default: []].append(Told(second: second, coordinate: coordinate, isFaulty: isFaulty))
    }
    if isHeld {
      held.append(fix)
      return arriving
    }
    if isSwapped, swapped == nil {
      swapped = fix
      return arriving
    }
    arriving.append(fix)
    if let late = swapped {
      arriving.append(late)
      swapped = nil
    }
    if isTwice { arriving.append(fix) }
    return arriving
  }
}

enum SimulationError: Error { case noStart, noContext }
