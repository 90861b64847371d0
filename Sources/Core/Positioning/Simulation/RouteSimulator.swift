// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Drives along a route and tells where it is, as a receiver on board would: once a second, and at a pace over 1 once in
/// each second of the drive, so that positions, speeds and headings bear each other out as they do at its own pace.
///
/// The vehicle speeds up, brakes for corners and stops, and stands where it is told to; a route with times is driven at its
/// times. A route that loops is driven on from its last point straight back to its first, so nothing ever jumps. Satellites,
/// HDOP and the accuracies are made up to fit the scatter of the positions: good under an open sky, bad between high walls
/// and after a tunnel. The same route, settings and seed are the same drive, to the last bit.
package struct RouteSimulator: Sendable {
  /// What the receiver says at one time.
  package enum Observation: Equatable, Sendable {
    case fix(Fix)
    /// It sees too few satellites; its clock goes on.
    case noFix(time: Timestamp)
    /// The drive is over.
    case ended
  }

  private let drive: Drive
  private let sky: Sky
  private let noise: ReceiverNoise
  private let settings: SimulationSettings
  /// From one observation to the next.
  package let period: Duration

  /// - Parameters:
  ///   - route: with all its points in one place it is a vehicle that stands there, for ever.
  ///   - settings: numbers without sense are read as the nearest ones with some.
  /// - Throws: a stop, tunnel or canyon that is not on the route, or a head start that is longer than the drive.
  package init(route: Route, settings: SimulationSettings) throws(SimulationError) {
    self.settings = settings.sane
    period = .nanoseconds(Int64(1e9 / max(self.settings.pace, 1)))
    noise = ReceiverNoise(seed: settings.seed)
    drive = try Drive(route, self.settings)
    sky = try Sky(route, self.settings, drive, noise)
    if let whole = drive.duration, self.settings.headStart.inSeconds > whole {
      throw SimulationError(
        .over,
        "a head start of \(self.settings.headStart.wholeSeconds) s is asked for; the whole drive takes "
          + "\(Int64(min(whole.rounded(.up), 1e15))) s"
      )
    }
  }

  /// How long one drive takes at its pace, from the head start on; nil when it has no end, because it loops or stands.
  package var duration: Duration? {
    drive.duration.map { whole in
      let rest = (whole - settings.headStart.inSeconds) / settings.pace
      return .milliseconds(Int64(min(max(rest, 0) * 1000, 1e15)))
    }
  }

  /// What the receiver says after so long.
  ///
  /// - Parameters:
  ///   - elapsed: since the start; cut to whole periods, less than 0 is 0. Observations of one period are the same.
  ///   - start: the time at the start.
  package func observation(at elapsed: Duration, startingAt start: Timestamp) -> Observation {
    let index = max(elapsed.nanoseconds / period.nanoseconds, 0)
    guard let state = drive.state(at: timeOfDrive(of: Double(index))), let place = drive.path.place(at: state.distance)
    else { return .ended }
    let time = start + .nanoseconds(period.nanoseconds * index) + settings.clockOffset
    let view = sky.view(state, in: drive)
    guard view.hasFix else { return .noFix(time: time) }
    var fix = Fix(coordinate: place.coordinate, time: .utc(time), mode: .threeD, quality: .simulated)
    scatter(&fix, place, view, index)
    move(&fix, place, state, view, index)
    return .fix(fix)
  }

  /// The true place and speed after so many seconds; nil when the drive has ended.
  func truth(at seconds: Double) -> (place: RoutePath.Place, state: Drive.State)? {
    let time = settings.headStart.inSeconds + seconds * settings.pace
    guard let state = drive.state(at: time), let place = drive.path.place(at: state.distance) else { return nil }
    return (place, state)
  }

  /// Seconds since the drive began, at an observation.
  private func timeOfDrive(of index: Double) -> Double {
    settings.headStart.inSeconds + index * min(settings.pace, 1)
  }

  /// Errors drift: a receiver's next position is wrong in much the same way as its last. Echoes drift faster.
  private func scatter(_ fix: inout Fix, _ place: RoutePath.Place, _ view: Sky.View, _ index: Int64) {
    let sigma = settings.noise * view.scatter
    func error(_ slow: ReceiverNoise.Stream, _ echo: ReceiverNoise.Stream, _ jitter: ReceiverNoise.Stream) -> Double {
      var error = 0.0
      // Squares of the weights add up to 1.
      if sigma > 0 {
        error += sigma * (0.98 * noise.drifting(slow, index, period: 60) + 0.199 * noise.white(jitter, index))
      }
      if view.echo > 0 { error += view.echo * noise.drifting(echo, index, period: 12) }
      return error
    }
    let (east, north) = (error(.east, .echoEast, .jitterEast), error(.north, .echoNorth, .jitterNorth))
    fix.coordinate = place.coordinate.moved(by: east, heading: 90).moved(by: north, heading: 0)
    fix.altitude = place.elevation.map { $0 + 1.5 * error(.up, .echoUp, .jitterUp) }
    let usual = max(settings.noise, 0.5)
    let actual = max((sigma * sigma + view.echo * view.echo).squareRoot(), usual)
    let ratio = (actual / usual).squareRoot()
    fix.satellites = Int((4 + 8 / ratio).rounded())
    fix.hdop = min(0.8 * ratio, 20)
    // Two directions make one distance.
    fix.horizontalAccuracy = actual * 2.squareRoot()
    fix.verticalAccuracy = fix.altitude == nil ? nil : actual * 1.5
  }

  /// A receiver's speed comes from the Doppler shift, which is far better than what its positions scatter. Standing it has
  /// no direction, and keeps the last.
  private func move(
    _ fix: inout Fix, _ place: RoutePath.Place, _ state: Drive.State, _ view: Sky.View, _ index: Int64
  ) {
    fix.heading = place.heading
    let speed = state.speed * settings.pace
    fix.speed = speed
    let deviation = (min(settings.noise * view.scatter, 4) + min(view.echo, 20) * 0.5) * 0.02
    fix.speedAccuracy = max(deviation, 0.1)
    guard speed > 0, deviation > 0 else { return }
    fix.speed = max(speed + noise.white(.speed, index) * deviation, 0.01)
    let degrees = min(deviation / max(speed, 0.1) * (180 / .pi), 10)
    fix.headingAccuracy = max(degrees, 0.1)
    fix.heading = place.heading.map { RoutePath.normal($0 + noise.white(.heading, index) * degrees) }
  }
}
