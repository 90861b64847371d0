// SPDX-License-Identifier: Apache-2.0

/// How a route is driven, and the errors of the simulated receiver.
package struct SimulationSettings: Equatable, Sendable {
  /// A point on the route.
  package enum Place: Equatable, Sendable {
    /// Metres along the route from its start.
    case distance(Double)
    /// The point nearest to the waypoint of that name.
    case waypoint(String)
  }

  /// A stop of the vehicle.
  package struct Stop: Equatable, Sendable {
    /// Where it stops.
    package var place: Place
    /// How long it stops; zero or more.
    package var dwell: Duration

    package init(_ place: Place, dwell: Duration) {
      self.place = place
      self.dwell = dwell
    }
  }

  /// A part of the route, in metres along it.
  package struct Stretch: Equatable, Sendable {
    /// Its start: metres from the start of the route.
    package var from: Double
    /// Metres.
    package var length: Double

    package init(from: Double, length: Double) {
      self.from = from
      self.length = length
    }
  }

  /// An urban canyon: few satellites and large errors.
  package struct Canyon: Equatable, Sendable {
    /// The part of the route.
    package var stretch: Stretch
    /// Metres, one sigma, per axis.
    package var noise: Double

    package init(_ stretch: Stretch, noise: Double = SimulationSettings.canyonNoise) {
      self.stretch = stretch
      self.noise = noise
    }
  }

  /// The noise of a canyon that the route marks, in metres.
  package static let canyonNoise = 15.0
  /// Metres per second, for a route without times.
  package static let defaultSpeed = 50 / 3.6

  /// Metres per second. Nil: the times of the route, or `defaultSpeed` if it has none.
  package var speed: Double?
  /// Metres per second squared, as are the next two.
  package var acceleration = 1.5
  /// Deceleration before stops and corners. Metres per second squared.
  package var braking = 2.0
  /// Lateral acceleration: limits the speed in corners.
  package var lateralAcceleration = 2.0
  /// Seconds of the drive per second. Reported speeds are multiplied by it.
  package var pace = 1.0
  /// The part of the drive that is skipped at the start.
  package var headStart = Duration.zero
  /// Whether to drive from the end straight back to the start, repeatedly.
  package var loops = true
  /// Metres, one sigma, per axis.
  package var noise = 2.0
  /// The seed of the noise.
  package var seed: UInt64 = 1
  /// The offset of the receiver's clock; positive: it is ahead.
  package var clockOffset = Duration.zero
  /// Stops in addition to those that the route marks.
  package var stops: [Stop] = []
  /// Parts without a fix, in addition to the tunnels that the route marks.
  package var tunnels: [Stretch] = []
  /// Urban canyons in addition to those that the route marks.
  package var canyons: [Canyon] = []

  package init() {}

  /// These settings with valid numbers: numbers that are out of range or not finite are replaced.
  var sanitized: SimulationSettings {
    func metres(_ number: Double) -> Double { number.isFinite ? max(number, 0) : 0 }
    func rate(_ number: Double) -> Double { number.isFinite ? min(max(number, 0.01), 100) : 1.5 }
    var copy = self
    copy.speed = speed.map { min(metres($0), 1e6) }
    copy.acceleration = rate(acceleration)
    copy.braking = rate(braking)
    copy.lateralAcceleration = rate(lateralAcceleration)
    copy.pace = pace.isFinite ? min(max(pace, 0.01), 100) : 1
    copy.headStart = max(headStart, .zero)
    copy.noise = min(metres(noise), 1e6)
    for index in copy.canyons.indices { copy.canyons[index].noise = min(metres(canyons[index].noise), 1e6) }
    return copy
  }
}

/// Why a route cannot be driven with these settings: a stop or stretch is not on it, or it is too short.
package struct SimulationError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of error, for callers.
  package enum Code: Sendable {
    /// A point is past the end of the route, or not a distance.
    case outside
    /// The drive is shorter than the head start.
    case headStartTooLong
    /// There is no waypoint of that name, or it is too far from the route.
    case waypoint
  }

  /// What does not fit the route.
  package let code: Code
  /// What was requested, what the route has, and the remedy; without the name of the route.
  package let message: String

  package var description: String { message }

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}
