// SPDX-License-Identifier: Apache-2.0
import Positioning
package import Timekeeping

/// The content of one sentence. Field 1 is the one after the address.
package enum NMEASentence {
  case position(PositionReport)
  case motion(MotionReport)
  case satellites(SatelliteReport)
  case errors(ErrorReport)
  case date(CivilDate, timeOfDay: Int64)
  /// GSV: the satellites in view of its talker's constellation with this signal, a hexadecimal digit (4.1). It is `0`
  /// if the sentence has none, and for satellites that are listed for no other signal.
  case sky(inView: Int, signal: UInt8)
  /// A type or a proprietary sentence that is not used.
  case unknown
  /// A known type with a valid checksum, but invalid content.
  case unusable

  /// RMC, GGA, GNS and GLL.
  package struct PositionReport {
    enum Kind: UInt8, CaseIterable {
      case rmc = 1
      case gga = 2
      case gns = 4
      case gll = 8
    }

    enum Validity {
      case valid
      /// The receiver marks the position as void.
      case void
      /// There is no status, or an unknown one.
      case unspecified
    }

    var kind: Kind
    var validity = Validity.unspecified
    /// Milliseconds since midnight UTC.
    package var time: Int64?
    var date: CivilDate?
    var position: NMEAPosition?
    var quality: Fix.Quality?
    /// Metres above mean sea level.
    var altitude: Double?
    /// Height of the geoid above the ellipsoid, in metres.
    var geoidSeparation: Double?
    var satellites: Int?
    var hdop: Double?
    var motion = MotionReport()
  }

  /// VTG, and two fields of RMC.
  package struct MotionReport {
    /// Metres per second.
    var speed: Double?
    /// Degrees true, 0 up to but not 360.
    var heading: Double?
  }

  /// GSA.
  package struct SatelliteReport {
    /// 1 no fix, 2 two-dimensional, 3 three-dimensional.
    var mode: Int?
    /// The number of listed satellites.
    var count = 0
    var hdop: Double?
    var vdop: Double?
  }

  /// The receiver's accuracy, one sigma in metres: from GST, or from the proprietary sentences PGRME, PUBX,00 and
  /// PQTMEPE.
  package struct ErrorReport {
    /// Milliseconds since midnight UTC.
    package var time: Int64?
    var horizontal: Double?
    var vertical: Double?
  }
}
