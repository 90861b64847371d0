// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// The true position of the vehicle at each time of a drive, without receiver errors.
struct Drive: Sendable {
  /// The maximum distance between an arc and its corner, for a drawn line and for a recorded one, in metres.
  private static let drawnCornerTolerance = 3.0
  private static let recordedCornerTolerance = 0.5
  /// Maximum distance of a waypoint from the route, in metres.
  private static let maximumOffset = 200.0
  private static let maximumStops = 1000

  struct State: Equatable {
    /// Metres along the route, within a lap.
    var distance: Double
    /// Metres per second; 0 at a stop.
    var speed: Double
    /// Counts from 0.
    var lap: Int
    /// Seconds since the lap began.
    var time: Double
  }

  private enum Motion: Sendable {
    case planned(SpeedProfile)
    case recorded(RecordedSpeedProfile)

    var duration: Double {
      switch self {
      case .planned(let profile): profile.duration
      case .recorded(let profile): profile.duration
      }
    }

    func state(at time: Double) -> (distance: Double, speed: Double) {
      switch self {
      case .planned(let profile): return profile.state(at: time)
      case .recorded(let profile):
        // A receiver reports a standstill at such a low speed.
        let state = profile.state(at: time)
        return (state.distance, state.speed < 0.05 ? 0 : state.speed)
      }
    }
  }

  let path: RoutePath
  private let firstLap: Motion
  /// Every lap but the first; nil if the drive ends.
  private let laterLap: Motion?

  /// - Parameter settings: sanitized settings.
  init(_ route: Route, _ settings: SimulationSettings) throws(SimulationError) {
    if settings.speed == nil, RecordedSpeedProfile.hasUsableTimes(route.points) {
      let path = RoutePath(route.points, closed: settings.loops, cornerTolerance: Drive.recordedCornerTolerance)
      // The recorded times already contain the stops that the route marks.
      let requestedStops = try Drive.stops(settings.stops, route, path)
      if let profile = RecordedSpeedProfile(route.points, along: path, closed: settings.loops, stops: requestedStops) {
        self.path = path
        firstLap = .recorded(profile)
        laterLap = settings.loops ? .recorded(profile) : nil
        return
      }
    }
    path = RoutePath(route.points, closed: settings.loops, cornerTolerance: Drive.drawnCornerTolerance)
    let limits = SpeedProfile.Limits(
      speed: settings.speed ?? SimulationSettings.defaultSpeed, acceleration: settings.acceleration,
      braking: settings.braking, lateralAcceleration: settings.lateralAcceleration)
    let marked = route.waypoints.filter { $0.dwell != nil }
    // Each stop requires a search along the whole route.
    guard marked.count <= Drive.maximumStops else {
      throw SimulationError(
        .waypoint, "the route marks \(marked.count) stops; at most \(Drive.maximumStops) are expected")
    }
    var stops: [SpeedProfile.Stop] = []
    for waypoint in marked {
      let dwell = Drive.seconds(waypoint.dwell ?? .zero)
      stops.append(SpeedProfile.Stop(distance: try Drive.distance(of: waypoint, path), dwell: dwell))
    }
    stops += try Drive.stops(settings.stops, route, path)
    // With a speed of 0, or on a route without length, the vehicle stays at the start forever.
    guard limits.speed > 0, path.length > 0 else {
      firstLap = .planned(SpeedProfile())
      laterLap = nil
      return
    }
    if settings.loops {
      let laps = SpeedProfile.laps(path, stops: stops, limits: limits)
      (firstLap, laterLap) = (.planned(laps.first), .planned(laps.next))
    } else {
      (firstLap, laterLap) = (.planned(SpeedProfile.singleDrive(path, stops: stops, limits: limits)), nil)
    }
  }

  /// Whether the vehicle stays in one place forever.
  var isStanding: Bool { firstLap.duration <= 0 }

  /// The duration in seconds; nil if the drive has no end.
  var duration: Double? { laterLap == nil && !isStanding ? firstLap.duration : nil }

  /// The state at a time; nil if the drive has ended.
  ///
  /// - Parameter time: seconds since the start, 0 or more.
  func state(at time: Double) -> State? {
    guard !isStanding else { return State(distance: 0, speed: 0, lap: 0, time: time) }
    if time <= firstLap.duration {
      let (distance, speed) = firstLap.state(at: time)
      return State(distance: distance, speed: speed, lap: 0, time: time)
    }
    guard let laterLap, laterLap.duration > 0 else { return nil }
    let later = time - firstLap.duration
    let laps = (later / laterLap.duration).rounded(.down)
    let rest = min(max(later - laps * laterLap.duration, 0), laterLap.duration)
    let (distance, speed) = laterLap.state(at: rest)
    return State(distance: distance, speed: speed, lap: Int(min(laps, 1e15)) + 1, time: rest)
  }

  /// The duration of a lap in seconds.
  func duration(ofLap lap: Int) -> Double { lap == 0 ? firstLap.duration : laterLap?.duration ?? 0 }

  /// The time at which a distance is passed, in seconds since the beginning of the lap.
  func time(at distance: Double, lap: Int) -> Double {
    let motion = lap == 0 ? firstLap : laterLap ?? firstLap
    var (low, high) = (0.0, motion.duration)
    for _ in 0..<60 {
      let middle = (low + high) / 2
      if motion.state(at: middle).distance < distance { low = middle } else { high = middle }
    }
    return high
  }

  // MARK: - Places

  private static func seconds(_ duration: Duration) -> Double { max(duration.inSeconds, 0) }

  private static func stops(
    _ stops: [SimulationSettings.Stop], _ route: Route, _ path: RoutePath
  ) throws(SimulationError) -> [SpeedProfile.Stop] {
    var result: [SpeedProfile.Stop] = []
    for stop in stops {
      let place: Double
      switch stop.place {
      case .distance(let metres):
        guard metres >= 0, metres <= path.length else {
          throw SimulationError(
            .outside, "a stop at \(distanceText(metres)) is past the end of the route, \(distanceText(path.length))")
        }
        place = metres
      case .waypoint(let name):
        guard let waypoint = route.waypoints.first(where: { $0.name == name }) else {
          let names = route.waypoints.map(\.name).filter { !$0.isEmpty }.prefix(10).joined(separator: ", ")
          throw SimulationError(
            .waypoint,
            "a stop at the waypoint \"\(name)\" is asked for; the route has "
              + (names.isEmpty ? "no waypoint with a name beside its line" : "these: \(names)"))
        }
        place = try distance(of: waypoint, path)
      }
      result.append(SpeedProfile.Stop(distance: place, dwell: seconds(stop.dwell)))
    }
    return result
  }

  private static func distance(of waypoint: Route.Waypoint, _ path: RoutePath) throws(SimulationError) -> Double {
    // On a route without length, the vehicle does not move anyway.
    guard let nearest = path.nearest(to: waypoint.coordinate) else { return 0 }
    guard nearest.offset <= maximumOffset else {
      throw SimulationError(
        .waypoint,
        "the waypoint \"\(waypoint.name)\" is \(distanceText(nearest.offset)) off the route; at most \(distanceText(maximumOffset)) is expected"
      )
    }
    return nearest.distance
  }

  /// For display: `950 m`, `1.2 km`.
  static func distanceText(_ metres: Double) -> String {
    guard let whole = Int64(exactly: metres.rounded()) else { return "\(metres) m" }
    if whole < 1000 { return "\(whole) m" }
    let tenths = (whole + 50) / 100
    return tenths % 10 == 0 ? "\(tenths / 10) km" : "\(tenths / 10).\(tenths % 10) km"
  }
}
