// SPDX-License-Identifier: Apache-2.0
import Positioning

/// Interpretation of field values.
extension NMEASentence {
  /// - Parameters:
  ///   - status: `A` or `V` of RMC and GLL; some receivers write `D`.
  ///   - mode: the indicator of version 2.3 and later; GNS has no status.
  static func validity(status: UInt8?, mode: UInt8?) -> PositionReport.Validity {
    if mode == UInt8(ascii: "N") || status == UInt8(ascii: "V") { return .void }
    if status == UInt8(ascii: "A") || status == UInt8(ascii: "D") { return .valid }
    // GNS has no status. Any other status is not valid.
    return status == nil && mode.flatMap(quality(mode:)) != nil ? .valid : .unspecified
  }

  /// The mode indicator of RMC, GNS, GLL and VTG.
  static func quality(mode: UInt8) -> Fix.Quality? {
    switch mode {
    case UInt8(ascii: "A"): .gnss
    case UInt8(ascii: "D"), UInt8(ascii: "P"): .dgnss
    case UInt8(ascii: "R"): .rtkFixed
    case UInt8(ascii: "F"): .rtkFloat
    case UInt8(ascii: "E"): .estimated
    // A position entered manually is not measured either.
    case UInt8(ascii: "M"), UInt8(ascii: "S"): .simulated
    default: nil
    }
  }

  /// GGA field 6. Larger numbers than the standard's are vendor-specific augmented positions.
  static func quality(number: Int) -> Fix.Quality? {
    switch number {
    case 0: nil
    case 1, 3: .gnss
    case 4: .rtkFixed
    case 5: .rtkFloat
    case 6: .estimated
    case 7, 8: .simulated
    default: .dgnss
    }
  }

  /// The precedence of the indicators of several constellations.
  static func rank(mode: UInt8) -> Int {
    switch quality(mode: mode) {
    case nil: mode == UInt8(ascii: "N") ? 0 : -1
    case .simulated: 1
    case .estimated: 2
    case .gnss: 3
    case .dgnss: 4
    case .rtkFloat: 5
    case .rtkFixed: 6
    }
  }

  static func metresPerSecond(knots: Double) -> Double? {
    knots >= 0 ? knots * 1852 / 3600 : nil
  }

  /// Some receivers write 360 for north.
  static func heading(_ degrees: Double) -> Double? {
    guard degrees >= 0, degrees <= 360 else { return nil }
    return degrees == 360 ? 0 : degrees
  }

  static func deviation(_ metres: Double) -> Double? {
    metres > 0 && metres < 1e6 ? metres : nil
  }
}
