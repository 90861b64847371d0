// SPDX-License-Identifier: Apache-2.0

/// Distances, headings and displacements on the WGS84 ellipsoid, computed with points in space rather than angles:
/// there are no special cases at the antimeridian or the poles, and no loss of precision for points a millimetre apart.
extension Coordinate {
  /// Distance over ground in metres.
  ///
  /// Error: 1 mm up to 10 km, 20 parts in a million up to 1,000 km, and 0.5 % for any distance (measured against
  /// Vincenty's formulae). Never negative, and symmetric.
  package func distance(to other: Coordinate) -> Double {
    let (start, end) = (ECEFPoint(self), ECEFPoint(other))
    let chord = (end - start).length
    guard chord > 0 else { return 0 }
    // The arc for the chord, on a sphere with the Earth's radius here.
    let diameter = max(start.length + end.length, chord)
    let sine = chord / diameter
    return diameter * Trigonometry.arcTangent(sine, ((1 - sine) * (1 + sine)).squareRoot())
  }

  /// The initial heading toward `other` in degrees true, 0 up to but not including 360. Nil if both are the same point
  /// or exactly antipodal.
  package func heading(to other: Coordinate) -> Double? {
    let frame = LocalFrame(self)
    let step = ECEFPoint(other) - frame.origin
    let (east, north) = (step.dot(frame.east), step.dot(frame.north))
    // Over less than a micrometre, the direction would be distorted by rounding errors, which are some nanometres.
    guard max(east.magnitude, north.magnitude) > 1e-6 else { return nil }
    let degrees = Trigonometry.arcTangent(east, north) * (180 / .pi)
    let heading = degrees < 0 ? degrees + 360 : degrees
    return heading < 360 ? heading : 0
  }

  /// The point at a distance in a direction.
  ///
  /// The inverse of ``distance(to:)`` and ``heading(to:)`` within 1 mm up to 10 km and 0.5 % anywhere.
  ///
  /// - Parameters:
  ///   - metres: any finite number; negative is backward. Not finite: no movement.
  ///   - heading: degrees true, any finite number.
  package func moved(by metres: Double, heading: Double) -> Coordinate {
    guard metres.isFinite, heading.isFinite, metres != 0 else { return self }
    let frame = LocalFrame(self)
    let direction = Trigonometry.rotation(degrees: heading)
    let forward = frame.east * direction.sine + frame.north * direction.cosine
    // A circle with the ellipsoid's curvature in this direction (Euler's formula).
    let curvature =
      direction.cosine * direction.cosine / frame.meridianRadius
      + direction.sine * direction.sine / frame.primeVerticalRadius
    let turn = Trigonometry.rotation(radians: metres * curvature)
    // One minus cosine, without cancellation for small steps.
    let halfSine = Trigonometry.sine(metres * curvature / 2)
    let point = frame.origin + (forward * turn.sine + frame.up * (-2 * halfSine * halfSine)) * (1 / curvature)
    return point.coordinate ?? self
  }

  /// The point at a fraction of the straight line to another.
  ///
  /// - Parameter fraction: 0 is here, 1 is `other`; clamped to that.
  package func interpolated(to other: Coordinate, fraction: Double) -> Coordinate {
    guard fraction > 0 else { return self }
    guard fraction < 1 else { return other }
    let (start, end) = (ECEFPoint(self), ECEFPoint(other))
    return (start + (end - start) * fraction).coordinate ?? self
  }
}

/// The directions east, north and up at a point, and the curvature of the ellipsoid there.
private struct LocalFrame {
  let origin: ECEFPoint
  let east: ECEFPoint
  let north: ECEFPoint
  let up: ECEFPoint
  /// Radius of curvature northward, metres.
  let meridianRadius: Double
  /// Radius of curvature eastward, metres.
  let primeVerticalRadius: Double

  init(_ coordinate: Coordinate) {
    let latitude = Trigonometry.rotation(degrees: coordinate.latitude)
    let longitude = Trigonometry.rotation(degrees: coordinate.longitude)
    origin = ECEFPoint(coordinate)
    east = ECEFPoint(x: -longitude.sine, y: longitude.cosine, z: 0)
    north = ECEFPoint(
      x: -latitude.sine * longitude.cosine, y: -latitude.sine * longitude.sine, z: latitude.cosine)
    up = ECEFPoint(x: latitude.cosine * longitude.cosine, y: latitude.cosine * longitude.sine, z: latitude.sine)
    let denominator = 1 - ECEFPoint.eccentricitySquared * latitude.sine * latitude.sine
    primeVerticalRadius = ECEFPoint.equatorialRadius / denominator.squareRoot()
    meridianRadius = primeVerticalRadius * (1 - ECEFPoint.eccentricitySquared) / denominator
  }
}

/// A point, or a displacement between two, in metres from the centre of the Earth: `x` toward longitude 0, `z` toward
/// the north pole.
private struct ECEFPoint {
  /// WGS84: the semi-major axis, and values derived from it and the flattening of 1/298.257223563.
  static let equatorialRadius = 6_378_137.0
  static let polarRadius = 6_356_752.314_245_179
  static let eccentricitySquared = 6.694_379_990_141_316e-3
  static let secondEccentricitySquared = 6.739_496_742_276_434e-3

  let x: Double
  let y: Double
  let z: Double

  init(x: Double, y: Double, z: Double) {
    self.x = x
    self.y = y
    self.z = z
  }

  init(_ coordinate: Coordinate) {
    let latitude = Trigonometry.rotation(degrees: coordinate.latitude)
    let longitude = Trigonometry.rotation(degrees: coordinate.longitude)
    let sine = latitude.sine
    let radius = ECEFPoint.equatorialRadius / (1 - ECEFPoint.eccentricitySquared * sine * sine).squareRoot()
    x = radius * latitude.cosine * longitude.cosine
    y = radius * latitude.cosine * longitude.sine
    z = radius * (1 - ECEFPoint.eccentricitySquared) * sine
  }

  /// The point on the ellipsoid above or below this point (Bowring's formula); nil at the centre of the Earth.
  var coordinate: Coordinate? {
    let fromAxis = (x * x + y * y).squareRoot()
    guard fromAxis > 0 || z.magnitude > 0 else { return nil }
    let parametricLatitude = Trigonometry.arcTangent(z * ECEFPoint.equatorialRadius, fromAxis * ECEFPoint.polarRadius)
    let turn = Trigonometry.rotation(radians: parametricLatitude)
    let latitude = Trigonometry.arcTangent(
      z + ECEFPoint.secondEccentricitySquared * ECEFPoint.polarRadius * turn.sine * turn.sine * turn.sine,
      fromAxis - ECEFPoint.eccentricitySquared * ECEFPoint.equatorialRadius * turn.cosine * turn.cosine
        * turn.cosine)
    let longitude = Trigonometry.arcTangent(y, x)
    return Coordinate(
      latitude: min(max(latitude * (180 / .pi), -90), 90), longitude: min(max(longitude * (180 / .pi), -180), 180))
  }

  var length: Double { dot(self).squareRoot() }

  func dot(_ other: ECEFPoint) -> Double { x * other.x + y * other.y + z * other.z }

  static func + (left: ECEFPoint, right: ECEFPoint) -> ECEFPoint {
    ECEFPoint(x: left.x + right.x, y: left.y + right.y, z: left.z + right.z)
  }

  static func - (left: ECEFPoint, right: ECEFPoint) -> ECEFPoint {
    ECEFPoint(x: left.x - right.x, y: left.y - right.y, z: left.z - right.z)
  }

  static func * (point: ECEFPoint, factor: Double) -> ECEFPoint {
    ECEFPoint(x: point.x * factor, y: point.y * factor, z: point.z * factor)
  }
}
