// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// Simulates a receiver in a vehicle on a route: one observation per second, or, at a pace above 1, one per second of
/// the drive, so that positions, speeds and headings are consistent.
///
/// The vehicle accelerates, brakes for corners and stops; a route with times is driven at these times. A loop leads
/// from the last point straight back to the first, without jumps. Satellites, HDOP and accuracies are made up to match
/// the scatter of the positions: good under an open sky, bad in urban canyons and after a tunnel. The same route,
/// settings and seed give the same drive, bit for bit.
package struct RouteSimulator: Sendable {
  /// The receiver's output at one time.
  package enum Observation: Equatable, Sendable {
    case fix(Fix)
    /// Too few satellites; the clock continues.
    case noFix(time: Timestamp)
    /// The drive is over.
    case ended
  }

  let drive: Drive
  private let visibility: SatelliteVisibility
  private let noise: ReceiverNoise
  let settings: SimulationSettings
  /// The time between two observations.
  package let period: Duration

  /// - Parameters:
  ///   - route: if all points are in one place, the vehicle stays there forever.
  ///   - settings: invalid numbers are replaced by valid ones.
  /// - Throws: `SimulationError` for a stop, tunnel or canyon that is not on the route, or a head start that is longer
  ///   than the drive.
  package init(route: Route, settings: SimulationSettings) throws(SimulationError) {
    self.settings = settings.sanitized
    period = .nanoseconds(Int64(1e9 / max(self.settings.pace, 1)))
    noise = ReceiverNoise(seed: settings.seed)
    drive = try Drive(route, self.settings)
    visibility = try SatelliteVisibility(self.settings, drive, noise)
    if let whole = drive.duration, self.settings.headStart.inSeconds > whole {
      throw SimulationError(
        .headStartTooLong,
        "a head start of \(self.settings.headStart.wholeSeconds) s is asked for; the whole drive takes "
          + "\(Int64(min(whole.rounded(.up), 1e15))) s"
      )
    }
  }

  /// The duration of one drive at its pace, from the head start on; nil if it has no end because the vehicle drives in
  /// a loop or stands still.
  package var duration: Duration? {
    drive.duration.map { whole in
      let rest = (whole - settings.headStart.inSeconds) / settings.pace
      return .milliseconds(Int64(min(max(rest, 0) * 1000, 1e15)))
    }
  }

  /// The receiver's output at a time.
  ///
  /// - Parameters:
  ///   - elapsed: the time since the start, truncated to whole periods; a negative time counts as 0. All observations
  ///     within a period are the same.
  ///   - start: the time at the start.
  package func observation(at elapsed: Duration, startingAt start: Timestamp) -> Observation {
    let index = max(elapsed.nanoseconds / period.nanoseconds, 0)
    guard let state = drive.state(at: driveTime(ofIndex: Double(index))), let pose = drive.path.pose(at: state.distance)
    else { return .ended }
    let time = start + .nanoseconds(period.nanoseconds * index) + settings.clockOffset
    let reception = visibility.reception(state, in: drive)
    guard reception.hasFix else { return .noFix(time: time) }
    var fix = Fix(coordinate: pose.coordinate, time: .utc(time), mode: .threeD, quality: .simulated)
    scatter(&fix, pose, reception, index)
    setMotion(&fix, pose, state, reception, index)
    return .fix(fix)
  }

  /// The time of the drive at an observation, in seconds.
  private func driveTime(ofIndex index: Double) -> Double {
    settings.headStart.inSeconds + index * min(settings.pace, 1)
  }

  /// Errors are correlated: consecutive positions have similar errors. Multipath errors change faster.
  private func scatter(
    _ fix: inout Fix, _ pose: RoutePath.Pose, _ reception: SatelliteVisibility.Reception, _ index: Int64
  ) {
    let sigma = settings.noise * reception.errorFactor
    func error(_ slow: ReceiverNoise.Stream, _ multipath: ReceiverNoise.Stream, _ jitter: ReceiverNoise.Stream)
      -> Double
    {
      var error = 0.0
      // The squares of the weights add up to 1.
      if sigma > 0 {
        error += sigma * (0.98 * noise.drifting(slow, index, period: 60) + 0.199 * noise.white(jitter, index))
      }
      if reception.multipath > 0 { error += reception.multipath * noise.drifting(multipath, index, period: 12) }
      return error
    }
    let (east, north) = (error(.east, .multipathEast, .jitterEast), error(.north, .multipathNorth, .jitterNorth))
    fix.coordinate = pose.coordinate.moved(by: east, heading: 90).moved(by: north, heading: 0)
    fix.altitude = pose.elevation.map { $0 + 1.5 * error(.up, .multipathUp, .jitterUp) }
    let usual = max(settings.noise, 0.5)
    let actual = max((sigma * sigma + reception.multipath * reception.multipath).squareRoot(), usual)
    let ratio = (actual / usual).squareRoot()
    fix.satellites = Int((4 + 8 / ratio).rounded())
    fix.hdop = min(0.8 * ratio, 20)
    // The errors of both axes, combined into one distance.
    fix.horizontalAccuracy = actual * 2.squareRoot()
    fix.verticalAccuracy = fix.altitude == nil ? nil : actual * 1.5
  }

  /// A receiver's speed comes from the Doppler shift, and is far more accurate than its positions. At a standstill, a
  /// receiver has no heading and repeats the last one.
  private func setMotion(
    _ fix: inout Fix, _ pose: RoutePath.Pose, _ state: Drive.State, _ reception: SatelliteVisibility.Reception,
    _ index: Int64
  ) {
    fix.heading = pose.heading
    let speed = state.speed * settings.pace
    fix.speed = speed
    let deviation = (min(settings.noise * reception.errorFactor, 4) + min(reception.multipath, 20) * 0.5) * 0.02
    fix.speedAccuracy = max(deviation, 0.1)
    guard speed > 0, deviation > 0 else { return }
    fix.speed = max(speed + noise.white(.speed, index) * deviation, 0.01)
    let degrees = min(deviation / max(speed, 0.1) * (180 / .pi), 10)
    fix.headingAccuracy = max(degrees, 0.1)
    fix.heading = pose.heading.map { RoutePath.normalized($0 + noise.white(.heading, index) * degrees) }
  }
}
