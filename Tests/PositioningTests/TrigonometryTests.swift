// SPDX-License-Identifier: Apache-2.0
import Expectations
import Glibc
import Testing

@testable import Positioning

struct TrigonometryTests {
  @Test("sine and cosine agree with the C library to 1e-14 over thousands of turns")
  func rotationInRadians() {
    var worst = 0.0
    for step in -200_000...200_000 {
      let angle = Double(step) * 0.077_713
      let rotation = Trigonometry.rotation(radians: angle)
      worst = max(worst, abs(rotation.sine - sin(angle)), abs(rotation.cosine - cos(angle)))
    }
    expect(worst < 1e-14)
  }

  @Test("sine and cosine of degrees agree with the C library to 1e-14 from −360° to 360°")
  func rotationInDegrees() {
    var worst = 0.0
    for step in -36_000...36_000 {
      let degrees = Double(step) * 0.01
      let rotation = Trigonometry.rotation(degrees: degrees)
      worst = max(
        worst, abs(rotation.sine - sin(degrees * .pi / 180)), abs(rotation.cosine - cos(degrees * .pi / 180)))
    }
    expect(worst < 1e-14)
  }

  @Test(
    "whole quarter turns are exact in degrees",
    arguments: [(0.0, 0.0, 1.0), (90, 1, 0), (180, 0, -1), (270, -1, 0), (360, 0, 1), (-90, -1, 0), (-180, 0, -1)])
  func quarterTurns(_ degrees: Double, _ sine: Double, _ cosine: Double) {
    expectEqual(Trigonometry.rotation(degrees: degrees), Trigonometry.Rotation(sine: sine, cosine: cosine))
  }

  @Test("the arc tangent agrees with the C library to 1e-15 in every direction and at every scale")
  func arcTangent() {
    var worst = 0.0
    for step in 0..<100_000 {
      let angle = Double(step) * 6.283e-5
      for scale in [1e-300, 1e-9, 1, 6.4e6, 1e300] {
        let (y, x) = (sin(angle) * scale, cos(angle) * scale)
        worst = max(worst, abs(Trigonometry.arcTangent(y, x) - atan2(y, x)))
      }
    }
    expect(worst < 1e-15)
  }

  @Test(
    "the arc tangent agrees with the C library to 1e-15 on the axes and diagonals",
    arguments: [(0.0, 1.0), (1, 0), (0, -1), (-1, 0), (0, 0), (1, 1), (-1, -1), (1e-300, 1), (1, 1e-300)])
  func axes(_ y: Double, _ x: Double) {
    expect(abs(Trigonometry.arcTangent(y, x) - atan2(y, x)) < 1e-15)
  }

  @Test("non-finite input does not trap; it gives NaN, except for the arc tangent of two infinities")
  func notFinite() {
    expect(Trigonometry.sine(.infinity).isNaN)
    expect(Trigonometry.rotation(radians: .nan).cosine.isNaN)
    expect(Trigonometry.rotation(degrees: -.infinity).sine.isNaN)
    expect(Trigonometry.arcTangent(.nan, 0).isNaN)
    expectEqual(Trigonometry.arcTangent(.infinity, .infinity), .pi / 4)
  }
}
