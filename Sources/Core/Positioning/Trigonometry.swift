// SPDX-License-Identifier: Apache-2.0

/// Sine, cosine and arc tangent without a C library, whose results differ between versions, so that a run can be
/// repeated to the last bit.
///
/// Polynomials on a small interval, after range reduction. The error of a sine or cosine is below 1e-15 for angles up
/// to a million radians or a billion degrees.
package enum Trigonometry {
  /// The sine and cosine of one angle.
  package struct Rotation: Equatable, Sendable {
    /// -1 to 1; not a number for an angle that is not finite.
    package let sine: Double
    /// -1 to 1; not a number for an angle that is not finite.
    package let cosine: Double
  }

  /// - Parameter radians: any finite angle; the result is not a number otherwise.
  package static func sine(_ radians: Double) -> Double { rotation(radians: radians).sine }

  /// The sine and cosine of an angle in radians.
  package static func rotation(radians: Double) -> Rotation {
    // Pi over two in three parts (Cody and Waite): the first two have trailing zero bits, so their multiples are exact.
    let quarterTurns = (radians * (2 / .pi)).rounded()
    var rest = radians - quarterTurns * 1.570_796_325_802_803_039_6
    rest -= quarterTurns * 9.920_935_739_593_517_151_7e-10
    rest -= quarterTurns * 4.721_711_552_796_235e-18
    return rotation(rest, quarterTurns: quarterTurns)
  }

  /// The sine and cosine of an angle in degrees; exact at multiples of 90.
  package static func rotation(degrees: Double) -> Rotation {
    let quarterTurns = (degrees / 90).rounded()
    return rotation((degrees - quarterTurns * 90) * (.pi / 180), quarterTurns: quarterTurns)
  }

  /// The angle of the point (`x`, `y`) from the origin, in radians from -pi to pi; 0 at the origin itself.
  package static func arcTangent(_ y: Double, _ x: Double) -> Double {
    let (height, width) = (y.magnitude, x.magnitude)
    guard height > 0 || width > 0 else { return (y + x).isNaN ? .nan : 0 }
    let isSteep = height > width
    // Two infinities are on the diagonal, as in C.
    let ratio = height == width ? 1 : (isSteep ? width / height : height / width)
    var angle = arcTangent(unit: ratio)
    if isSteep { angle = .pi / 2 - angle }
    if x < 0 { angle = .pi - angle }
    return y < 0 ? -angle : angle
  }

  /// - Parameters:
  ///   - rest: radians, at most a quarter of pi in magnitude.
  ///   - quarterTurns: the number of quarter turns to add.
  private static func rotation(_ rest: Double, quarterTurns: Double) -> Rotation {
    // Taylor series to the fifteenth and sixteenth power: the truncation error is below 5e-17 on this interval.
    let square = rest * rest
    var sine = -1 / 1_307_674_368_000.0
    sine = sine * square + 1 / 6_227_020_800.0
    sine = sine * square - 1 / 39_916_800.0
    sine = sine * square + 1 / 362_880.0
    sine = sine * square - 1 / 5040.0
    sine = sine * square + 1 / 120.0
    sine = sine * square - 1 / 6.0
    sine = rest + rest * square * sine
    var cosine = 1 / 20_922_789_888_000.0
    cosine = cosine * square - 1 / 87_178_291_200.0
    cosine = cosine * square + 1 / 479_001_600.0
    cosine = cosine * square - 1 / 3_628_800.0
    cosine = cosine * square + 1 / 40_320.0
    cosine = cosine * square - 1 / 720.0
    cosine = cosine * square + 1 / 24.0
    cosine = 1 - square * 0.5 + square * square * cosine
    let quarter = quarterTurns - (quarterTurns / 4).rounded(.down) * 4
    if quarter < 1 { return Rotation(sine: sine, cosine: cosine) }
    if quarter < 2 { return Rotation(sine: cosine, cosine: -sine) }
    if quarter < 3 { return Rotation(sine: -sine, cosine: -cosine) }
    return Rotation(sine: -cosine, cosine: sine)
  }

  /// - Parameter ratio: 0 to 1.
  private static func arcTangent(unit ratio: Double) -> Double {
    // The nearest of five angles whose tangents are multiples of a quarter is subtracted; the rest is at most an
    // eighth.
    let quarters = (ratio * 4).rounded()
    let base = quarters / 4
    let rest = (ratio - base) / (1 + ratio * base)
    let square = rest * rest
    var series = -1 / 15.0
    series = series * square + 1 / 13.0
    series = series * square - 1 / 11.0
    series = series * square + 1 / 9.0
    series = series * square - 1 / 7.0
    series = series * square + 1 / 5.0
    series = series * square - 1 / 3.0
    let angle = rest + rest * square * series
    if quarters < 1 { return angle }
    if quarters < 2 { return angle + 0.24497866312686414 }
    if quarters < 3 { return angle + 0.4636476090008061 }
    if quarters < 4 { return angle + 0.6435011087932844 }
    return angle + .pi / 4
  }
}
