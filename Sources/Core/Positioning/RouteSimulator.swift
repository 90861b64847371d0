// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Drives along a route at a constant speed and tells where it is, as a receiver would: once a second.
///
/// A route that loops is driven on from its last point straight back to its first, so nothing ever jumps. Points that are
/// within a centimetre of the one before are left out. Satellites, HDOP and the accuracies are made up: what a good
/// receiver under an open sky would say of the noise that is added.
package struct RouteSimulator: Sendable {
  /// A straight piece of the way.
  private struct Leg: Sendable {
    let start: Route.Point
    let end: Route.Point
    /// Metres.
    let length: Double
    /// Degrees true at the start, and at the end: on a long leg it changes on the way.
    let heading: Double
    let endHeading: Double
    /// Metres from the start of the route.
    let begin: Double
  }

  private let legs: [Leg]
  /// Metres, once around when it loops.
  private let length: Double
  /// Metres per second.
  private let speed: Double
  private let loops: Bool
  /// Metres.
  private let noise: Double
  private let seed: UInt64
  /// The leg that was driven last: the next fix is on it or soon after.
  private var current = 0

  /// - Parameters:
  ///   - route: with all its points in one place it is a vehicle that stands there, for ever.
  ///   - speed: metres per second; less than 0 or not a number is 0.
  ///   - noise: metres, one sigma to the east and to the north each; less than 0 or not a number is 0.
  ///   - seed: the same seed scatters the same way.
  package init(route: Route, speed: Double, loop: Bool, noise: Double = 0, seed: UInt64 = 0) {
    self.speed = speed.isFinite ? max(speed, 0) : 0
    self.noise = noise.isFinite ? max(noise, 0) : 0
    self.loops = loop
    self.seed = seed
    var legs: [Leg] = []
    var begin = 0.0
    func drive(from start: Route.Point, to end: Route.Point) -> Bool {
      let length = start.coordinate.distance(to: end.coordinate)
      guard length >= 0.01, let heading = start.coordinate.heading(to: end.coordinate) else { return false }
      let back = end.coordinate.heading(to: start.coordinate) ?? heading + 180
      let endHeading = back >= 180 ? back - 180 : back + 180
      legs.append(
        Leg(start: start, end: end, length: length, heading: heading, endHeading: endHeading, begin: begin))
      begin += length
      return true
    }
    if var last = route.points.first {
      for point in route.points.dropFirst() where drive(from: last, to: point) { last = point }
      if loop, let first = route.points.first { _ = drive(from: last, to: first) }
      if legs.isEmpty { legs = [Leg(start: last, end: last, length: 0, heading: 0, endHeading: 0, begin: 0)] }
    }
    self.legs = legs
    length = begin
  }

  /// How long one drive takes; nil when it has no end, because it loops or stands.
  package var duration: Duration? {
    guard !loops, speed > 0, length > 0 else { return nil }
    return .milliseconds(Int64(min(length / speed * 1000, 1e15)))
  }

  /// Where the vehicle is after so long, or nil when the drive has ended.
  ///
  /// - Parameters:
  ///   - elapsed: since the start; cut to whole seconds, less than 0 is 0. Fixes of one second are the same.
  ///   - start: the time at the start.
  package mutating func fix(at elapsed: Duration, startingAt start: Timestamp) -> Fix? {
    let second = max(elapsed.wholeSeconds, 0)
    let driven = Double(second) * speed
    guard loops || length == 0 || speed == 0 || driven <= length else { return nil }
    let distance = loops && length > 0 ? driven.truncatingRemainder(dividingBy: length) : driven
    guard let leg = leg(at: distance) else { return nil }
    // Every second has its own stream of numbers, so that it scatters the same however often it is asked for.
    var mixer = SplitMix64(seed: UInt64(second))
    var random = SplitMix64(seed: seed ^ mixer.next())
    let (east, north, up) = (random.normal() * noise, random.normal() * noise, random.normal() * noise * 1.5)
    var fix = Fix(
      coordinate: leg.coordinate.moved(by: east, heading: 90).moved(by: north, heading: 0),
      time: .utc(start + .seconds(second)), mode: .threeD, quality: .simulated)
    let isMoving = speed > 0 && length > 0
    // A receiver's speed comes from the Doppler shift, which is far better than what its positions scatter.
    fix.speed = isMoving ? max(speed + random.normal() * min(noise, 2) * 0.02, 0) : 0
    fix.heading = isMoving ? leg.heading : nil
    fix.altitude = leg.elevation.map { $0 + up }
    fix.satellites = 12
    fix.hdop = 0.8
    fix.horizontalAccuracy = max(noise, 0.5)
    fix.verticalAccuracy = fix.altitude == nil ? nil : max(noise * 1.5, 0.8)
    fix.speedAccuracy = 0.1
    return fix
  }

  /// Where one is, which way one looks, and how high, at a distance from the start.
  private mutating func leg(
    at distance: Double
  ) -> (coordinate: Coordinate, heading: Double, elevation: Double?)? {
    if legs.indices.contains(current), legs[current].begin > distance { current = 0 }
    while legs.indices.contains(current + 1), legs[current + 1].begin <= distance { current += 1 }
    guard legs.indices.contains(current) else { return nil }
    let leg = legs[current]
    guard leg.length > 0 else { return (leg.start.coordinate, leg.heading, leg.start.elevation) }
    let fraction = min((distance - leg.begin) / leg.length, 1)
    let place = leg.start.coordinate.interpolated(to: leg.end.coordinate, fraction: fraction)
    // The direction to the end turns into the noise of the arithmetic when the end is near.
    let isNearEnd = leg.length * (1 - fraction) < 1
    let heading = isNearEnd ? leg.endHeading : place.heading(to: leg.end.coordinate) ?? leg.endHeading
    var elevation = leg.start.elevation
    if let start = leg.start.elevation, let end = leg.end.elevation { elevation = start + (end - start) * fraction }
    return (place, heading, elevation)
  }
}
