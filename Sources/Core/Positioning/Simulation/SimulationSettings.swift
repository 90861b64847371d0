// SPDX-License-Identifier: Apache-2.0

/// How a route is driven, and what the receiver on board makes of it.
package struct SimulationSettings: Equatable, Sendable {
  /// A place on the way.
  package enum Place: Equatable, Sendable {
    /// Metres along the way from its start.
    case distance(Double)
    /// Where the way passes the waypoint of that name.
    case waypoint(String)
  }

  /// A place where the vehicle stands for a while.
  package struct Stop: Equatable, Sendable {
    /// On the route.
    package var place: Place
    /// How long it stands; zero or more.
    package var dwell: Duration

    package init(_ place: Place, dwell: Duration) {
      self.place = place
      self.dwell = dwell
    }
  }

  /// A part of the way, in metres along it.
  package struct Stretch: Equatable, Sendable {
    /// Where it begins: metres from the start of the route.
    package var from: Double
    /// Metres.
    package var length: Double

    package init(from: Double, length: Double) {
      self.from = from
      self.length = length
    }
  }

  /// A stretch between high walls: few satellites and wide errors.
  package struct Canyon: Equatable, Sendable {
    /// Where it is.
    package var stretch: Stretch
    /// Metres, one sigma to the east and to the north each.
    package var noise: Double

    package init(_ stretch: Stretch, noise: Double = SimulationSettings.canyonNoise) {
      self.stretch = stretch
      self.noise = noise
    }
  }

  /// Of a canyon that the route marks. Metres.
  package static let canyonNoise = 15.0
  /// Metres per second, of a route without times.
  package static let usualSpeed = 50 / 3.6

  /// Metres per second. Nil follows the times of the route when it has them, else it is `usualSpeed`.
  package var speed: Double?
  /// Metres per second squared, as are the next two.
  package var acceleration = 1.5
  /// Deceleration before stops and corners. Metres per second squared.
  package var braking = 2.0
  /// Sideways: it is what limits the speed in corners.
  package var lateral = 2.0
  /// How many seconds of the drive pass in one. Speeds are what a receiver would measure then: so much higher.
  package var pace = 1.0
  /// How long the vehicle has been under way when the simulation starts, in seconds of the drive.
  package var headStart = Duration.zero
  /// Whether to drive on from the end straight back to the start, again and again.
  package var loops = true
  /// Metres, one sigma to the east and to the north each.
  package var noise = 2.0
  /// The same seed scatters the same way every time.
  package var seed: UInt64 = 1
  /// How far the receiver's clock is ahead.
  package var clockOffset = Duration.zero
  /// Beside those that the route itself marks.
  package var stops: [Stop] = []
  /// Where there is no fix; beside those that the route itself marks.
  package var tunnels: [Stretch] = []
  /// Beside those that the route itself marks.
  package var canyons: [Canyon] = []

  package init() {}

  /// Every number where it has a meaning: what is not finite or less than 0 is 0.
  var sane: SimulationSettings {
    func metres(_ number: Double) -> Double { number.isFinite ? max(number, 0) : 0 }
    func rate(_ number: Double) -> Double { number.isFinite ? min(max(number, 0.01), 100) : 1.5 }
    var copy = self
    copy.speed = speed.map { min(metres($0), 1e6) }
    copy.acceleration = rate(acceleration)
    copy.braking = rate(braking)
    copy.lateral = rate(lateral)
    copy.pace = pace.isFinite ? min(max(pace, 0.01), 100) : 1
    copy.headStart = max(headStart, .zero)
    copy.noise = min(metres(noise), 1e6)
    for index in copy.canyons.indices { copy.canyons[index].noise = min(metres(canyons[index].noise), 1e6) }
    return copy
  }
}

/// Why a route cannot be driven as it is asked for: a stop or a stretch is not on it, or it is over too soon.
package struct SimulationError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of error, for who decides by it.
  package struct Code: Hashable, Sendable {
    private let name: String

    /// A place lies past the end of the way, or is not a distance.
    package static let outside = Code(name: "outside")
    /// The drive is over before the simulation starts.
    package static let over = Code(name: "over")
    /// No waypoint has that name, or it is too far from the way.
    package static let waypoint = Code(name: "waypoint")
  }

  /// What of the settings does not fit the route.
  package let code: Code
  /// What is asked for, what the route has, and what to do; not the name of the route.
  package let message: String

  package var description: String { message }

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}
