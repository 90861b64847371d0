// SPDX-License-Identifier: Apache-2.0

/// The speed along a route: as fast as the limits of engine, brakes and corners allow.
///
/// Consists of phases of constant acceleration, so that position and speed are exact at any time.
struct SpeedProfile: Sendable {
  /// The vehicle's limits: metres per second, and metres per second squared.
  struct Limits: Equatable, Sendable {
    var speed: Double
    var acceleration: Double
    var braking: Double
    /// Lateral acceleration in a corner.
    var lateralAcceleration: Double
  }

  /// A stop: metres along the route, dwell in seconds.
  struct Stop: Equatable, Sendable {
    var distance: Double
    var dwell: Double
  }

  private struct Phase: Sendable {
    /// Seconds and metres at its start.
    var time: Double
    var distance: Double
    var speed: Double
    var acceleration: Double
  }

  /// Seconds.
  private(set) var duration = 0.0
  private var phases: [Phase] = []
  private var length = 0.0

  /// Distance and speed at a time in seconds.
  func state(at time: Double) -> (distance: Double, speed: Double) {
    guard let index = phases.lastIndex(startingAtOrBefore: time, by: \.time) else { return (0, 0) }
    let phase = phases[index]
    let isLast = index + 1 == phases.count
    let (end, limit) = isLast ? (duration, length) : (phases[index + 1].time, phases[index + 1].distance)
    let elapsed = min(max(time - phase.time, 0), end - phase.time)
    let speed = max(phase.speed + phase.acceleration * elapsed, 0)
    return (min(phase.distance + (phase.speed + speed) / 2 * elapsed, limit), speed)
  }

  /// One drive from standstill to standstill.
  static func singleDrive(_ path: RoutePath, stops: [Stop], limits: Limits) -> SpeedProfile {
    SegmentedRoute(path, stops: stops, limits: limits).profile(from: 0, to: 0)
  }

  /// The first lap of a loop, which begins at a standstill, and every following lap.
  static func laps(_ path: RoutePath, stops: [Stop], limits: Limits) -> (first: SpeedProfile, next: SpeedProfile) {
    let route = SegmentedRoute(path, stops: stops, limits: limits)
    // The speed at the end of a lap is limited by what the first lap can reach there, and by the braking after it.
    let reached = route.maximumSpeeds(from: 0, to: .infinity).last ?? 0
    let lapEndSpeed = route.maximumSpeeds(from: reached, to: reached).first ?? 0
    return (route.profile(from: 0, to: lapEndSpeed), route.profile(from: lapEndSpeed, to: lapEndSpeed))
  }

  private mutating func add(_ seconds: Double, metres: Double, from speed: Double, acceleration: Double) {
    guard seconds > 0 else { return }
    phases.append(Phase(time: duration, distance: length, speed: speed, acceleration: acceleration))
    duration += seconds
    length += metres
  }

  /// The route divided into stretches with one speed limit each.
  private struct SegmentedRoute {
    struct Stretch {
      var length: Double
      var limit: Double
    }

    /// A point between two stretches, or at either end.
    struct Node {
      var limit = Double.infinity
      var dwell = 0.0
    }

    var stretches: [Stretch] = []
    var nodes: [Node] = [Node()]
    let limits: Limits

    init(_ path: RoutePath, stops: [Stop], limits: Limits) {
      self.limits = limits
      // A turn on the spot is a stop without a dwell.
      let marks = (stops + path.pivots.map { Stop(distance: $0, dwell: 0) }).sorted { $0.distance < $1.distance }
      var rest = marks[...]
      for piece in path.pieces {
        var limit = limits.speed
        if case .arc(let radius, _) = piece.shape {
          limit = min(limit, (limits.lateralAcceleration * radius).squareRoot())
        }
        var begin = piece.startDistance
        let end = piece.startDistance + piece.length
        while let mark = rest.first, mark.distance < end || end >= path.length {
          let place = min(mark.distance, end)
          if place - begin > 1e-6 {
            stretches.append(Stretch(length: place - begin, limit: limit))
            nodes.append(Node())
            begin = place
          }
          nodes[nodes.count - 1].limit = 0
          nodes[nodes.count - 1].dwell += mark.dwell
          rest.removeFirst()
        }
        if end > begin {
          stretches.append(Stretch(length: end - begin, limit: limit))
          nodes.append(Node())
        }
      }
      for index in nodes.indices {
        if index > 0 { nodes[index].limit = min(nodes[index].limit, stretches[index - 1].limit) }
        if index < stretches.count { nodes[index].limit = min(nodes[index].limit, stretches[index].limit) }
      }
    }

    /// The maximum speed at each node.
    func maximumSpeeds(from start: Double, to end: Double) -> [Double] {
      var speeds = nodes.map(\.limit)
      speeds[0] = min(speeds[0], start)
      speeds[speeds.count - 1] = min(speeds[speeds.count - 1], end)
      for (index, stretch) in stretches.enumerated() {
        let reached = (speeds[index] * speeds[index] + 2 * limits.acceleration * stretch.length).squareRoot()
        speeds[index + 1] = min(speeds[index + 1], reached)
      }
      for (index, stretch) in stretches.enumerated().reversed() {
        let braked = (speeds[index + 1] * speeds[index + 1] + 2 * limits.braking * stretch.length).squareRoot()
        speeds[index] = min(speeds[index], braked)
      }
      return speeds
    }

    func profile(from start: Double, to end: Double) -> SpeedProfile {
      let speeds = maximumSpeeds(from: start, to: end)
      var profile = SpeedProfile()
      profile.add(nodes[0].dwell, metres: 0, from: 0, acceleration: 0)
      for (index, stretch) in stretches.enumerated() {
        drive(stretch, from: speeds[index], to: speeds[index + 1], in: &profile)
        profile.add(nodes[index + 1].dwell, metres: 0, from: 0, acceleration: 0)
      }
      return profile
    }

    /// Accelerates, cruises and brakes, as far as needed.
    private func drive(_ stretch: Stretch, from start: Double, to end: Double, in profile: inout SpeedProfile) {
      let (gain, loss) = (limits.acceleration, limits.braking)
      let squares = 2 * gain * loss * stretch.length + loss * start * start + gain * end * end
      let peak = max(min(stretch.limit, (squares / (gain + loss)).squareRoot()), start, end)
      let accelerationDistance = (peak * peak - start * start) / (2 * gain)
      let brakingDistance = (peak * peak - end * end) / (2 * loss)
      let cruiseDistance = max(stretch.length - accelerationDistance - brakingDistance, 0)
      profile.add((peak - start) / gain, metres: accelerationDistance, from: start, acceleration: gain)
      if peak > 0 { profile.add(cruiseDistance / peak, metres: cruiseDistance, from: peak, acceleration: 0) }
      profile.add((peak - end) / loss, metres: brakingDistance, from: peak, acceleration: 0 - loss)
    }
  }
}
