// SPDX-License-Identifier: Apache-2.0
import Expectations
import Glibc
import Testing

@testable import Positioning

struct GeodesyTests {
  @Test("distances from a millimetre to ten kilometres are accurate to a millimetre, at any latitude")
  func shortDistances() throws {
    for latitude in stride(from: -89.0, through: 89, by: 7) {
      for heading in stride(from: 0.0, to: 360, by: 30) {
        let start = try #require(Coordinate(latitude: latitude, longitude: 179.9999))
        for metres in [0.001, 0.01, 1, 25, 500, 10_000] {
          let end = start.moved(by: metres, heading: heading)
          expect(abs(start.distance(to: end) - metres) < 0.001)
          expect(abs(start.distance(to: end) - Vincenty.distance(start, end)) < 0.001)
        }
      }
    }
  }

  @Test("distances of a thousand kilometres are accurate to 20 parts per million")
  func longDistances() throws {
    var worst = 0.0
    for latitude in stride(from: -80.0, through: 80, by: 10) {
      let start = try #require(Coordinate(latitude: latitude, longitude: -75))
      for heading in stride(from: 0.0, to: 360, by: 45) {
        let end = start.moved(by: 1_000_000, heading: heading)
        let truth = Vincenty.distance(start, end)
        worst = max(worst, abs(start.distance(to: end) - truth) / truth)
      }
    }
    expect(worst < 20e-6)
  }

  @Test("known distances, between two cities and along meridians, are accurate to half a percent")
  func knownDistances() throws {
    // Paris to New York by Vincenty's formulae, then the equator to a pole, and pole to pole.
    let paris = try #require(Coordinate(latitude: 48.8566, longitude: 2.3522))
    let newYork = try #require(Coordinate(latitude: 40.7128, longitude: -74.006))
    expect(abs(paris.distance(to: newYork) / Vincenty.distance(paris, newYork) - 1) < 0.005)
    let equator = try #require(Coordinate(latitude: 0, longitude: 40))
    let pole = try #require(Coordinate(latitude: 90, longitude: -100))
    expect(abs(equator.distance(to: pole) / 10_001_965.729 - 1) < 0.005)
    let south = try #require(Coordinate(latitude: -90, longitude: 12))
    expect(abs(pole.distance(to: south) / 20_003_931.46 - 1) < 0.005)
  }

  @Test("distances and headings are right across the antimeridian and across a pole")
  func seams() throws {
    let west = try #require(Coordinate(latitude: 10, longitude: -179.9999))
    let east = try #require(Coordinate(latitude: 10, longitude: 179.9999))
    expect(abs(east.distance(to: west) - 21.9279) < 0.001)
    expect(try abs(#require(east.heading(to: west)) - 90) < 0.001)
    expect(try abs(#require(west.heading(to: east)) - 270) < 0.001)
    let nearPole = try #require(Coordinate(latitude: 89.9999, longitude: 0))
    let beyond = try #require(Coordinate(latitude: 89.9999, longitude: 180))
    expect(abs(nearPole.distance(to: beyond) - 22.3388) < 0.001)
    expect(try #require(nearPole.heading(to: beyond)) < 0.001)
    expect(nearPole.moved(by: 22.3388, heading: 0).distance(to: beyond) < 0.001)
    let pole = try #require(Coordinate(latitude: 90, longitude: 0))
    let samePole = try #require(Coordinate(latitude: 90, longitude: 77))
    expect(pole.distance(to: samePole) < 1e-6)
  }

  @Test(
    "the heading to a moved point is the direction of the move", arguments: [0.0, 0.5, 45, 90, 135, 180, 270, 359.5])
  func headings(_ heading: Double) throws {
    let start = try #require(Coordinate(latitude: 60.1699, longitude: 24.9384))
    let seen = try #require(start.heading(to: start.moved(by: 100, heading: heading)))
    expect(min(abs(seen - heading), 360 - abs(seen - heading)) < 1e-5)
    expect((0..<360).contains(seen))
  }

  @Test("from a point to itself there is no heading, and the distance is zero")
  func coincident() throws {
    let point = try #require(Coordinate(latitude: 1, longitude: 2))
    expectNil(point.heading(to: point))
    expectEqual(point.distance(to: point), 0)
  }

  @Test("a move by a distance or heading that is not finite does not change the point")
  func notFinite() throws {
    let point = try #require(Coordinate(latitude: 1, longitude: 2))
    expectEqual(point.moved(by: .nan, heading: 0), point)
    expectEqual(point.moved(by: 1, heading: .infinity), point)
  }

  @Test("antipodes are half the circumference apart, and interpolating between them does not trap")
  func antipodes() throws {
    let point = try #require(Coordinate(latitude: 35, longitude: 20))
    let opposite = try #require(Coordinate(latitude: -35, longitude: -160))
    expect(abs(point.distance(to: opposite) / 20_003_931 - 1) < 0.005)
    _ = point.interpolated(to: opposite, fraction: 0.5)
  }

  @Test("interpolation between two points reaches both endpoints and the middle")
  func interpolation() throws {
    let start = try #require(Coordinate(latitude: 10, longitude: 179.999))
    let end = try #require(Coordinate(latitude: 10.01, longitude: -179.999))
    expectEqual(start.interpolated(to: end, fraction: 0), start)
    expectEqual(start.interpolated(to: end, fraction: 1), end)
    let middle = start.interpolated(to: end, fraction: 0.5)
    expect(abs(middle.distance(to: start) - middle.distance(to: end)) < 0.001)
    expect(abs(middle.distance(to: start) * 2 - start.distance(to: end)) < 0.001)
  }
}

/// Vincenty's inverse formula (Survey Review 23, 1975) with the C library, as an independent reference.
enum Vincenty {
  static func distance(_ start: Coordinate, _ end: Coordinate) -> Double {
    let (a, f) = (6_378_137.0, 1 / 298.257223563)
    let b = a * (1 - f)
    let l = remainder(end.longitude - start.longitude, 360) * .pi / 180
    let (u1, u2) = (atan((1 - f) * tan(start.latitude * .pi / 180)), atan((1 - f) * tan(end.latitude * .pi / 180)))
    var lambda = l
    for _ in 0..<200 {
      let sinSigma = hypot(cos(u2) * sin(lambda), cos(u1) * sin(u2) - sin(u1) * cos(u2) * cos(lambda))
      guard sinSigma > 0 else { return 0 }
      let cosSigma = sin(u1) * sin(u2) + cos(u1) * cos(u2) * cos(lambda)
      let sigma = atan2(sinSigma, cosSigma)
      let sinAlpha = cos(u1) * cos(u2) * sin(lambda) / sinSigma
      let cos2Alpha = 1 - sinAlpha * sinAlpha
      let cos2M = cos2Alpha > 1e-18 ? cosSigma - 2 * sin(u1) * sin(u2) / cos2Alpha : 0
      let c = f / 16 * cos2Alpha * (4 + f * (4 - 3 * cos2Alpha))
      let next =
        l + (1 - c) * f * sinAlpha * (sigma + c * sinSigma * (cos2M + c * cosSigma * (2 * cos2M * cos2M - 1)))
      let isDone = abs(next - lambda) < 1e-13
      lambda = next
      if isDone {
        let uu = cos2Alpha * (a * a - b * b) / (b * b)
        let bigA = 1 + uu / 16384 * (4096 + uu * (-768 + uu * (320 - 175 * uu)))
        let bigB = uu / 1024 * (256 + uu * (-128 + uu * (74 - 47 * uu)))
        let inner = cosSigma * (2 * cos2M * cos2M - 1)
        let last = bigB / 6 * cos2M * (4 * sinSigma * sinSigma - 3) * (4 * cos2M * cos2M - 3)
        return b * bigA * (sigma - bigB * sinSigma * (cos2M + bigB / 4 * (inner - last)))
      }
    }
    return .nan
  }
}
