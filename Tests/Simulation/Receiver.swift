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

  /// The fixes that arrive for this second.
  ///
  /// - Parameter isRead: false while the machine is off or asleep: what is told then nobody hears.
  mutating func fixes(second: Int, isRead: Bool) -> [Fix] {
    drive.advance(second: second)
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
    track.append((!isSilent && !isFaulty && hasTime && !isHeld && !isSwapped, drive.speed))
    var arriving: [Fix] = []
    if !isHeld, !held.isEmpty {
      arriving = held
      held = []
    }
    guard !isSilent else { return arriving }
    var fix = Fix(coordinate: coordinate, time: hasTime ? .utc(stamp) : nil)
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
