// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// What one sentence says. Field numbers count from the one after the address.
enum NMEASentence {
  case position(PositionReport)
  case motion(MotionReport)
  case satellites(SatelliteReport)
  case errors(ErrorReport)
  case date(CivilDate, timeOfDay: Int64)
  /// GSV: how many satellites of its talker's system are in view.
  case sky(inView: Int)
  /// Of a kind that says nothing about a fix, or a private one.
  case unknown
  /// Of a known kind, its checksum right, and yet not readable.
  case unusable

  /// RMC, GGA, GNS and GLL.
  struct PositionReport {
    enum Kind: UInt8 {
      case rmc = 1
      case gga = 2
      case gns = 4
      case gll = 8
    }

    enum Validity {
      case valid
      /// The receiver says that the position is not to be used.
      case void
      /// The field that would tell is empty.
      case untold
    }

    var kind: Kind
    var validity = Validity.untold
    /// Milliseconds since midnight UTC.
    var time: Int64?
    var date: CivilDate?
    var position: NMEAPosition?
    var quality: Fix.Quality?
    /// Metres above mean sea level.
    var altitude: Double?
    /// Metres of the geoid above the ellipsoid.
    var geoidSeparation: Double?
    var satellites: Int?
    var hdop: Double?
    var motion = MotionReport()
  }

  /// VTG, and two fields of RMC.
  struct MotionReport {
    /// Metres per second.
    var speed: Double?
    /// Degrees true, 0 up to but not 360.
    var heading: Double?
  }

  /// GSA.
  struct SatelliteReport {
    /// 1 no fix, 2 without height, 3 with.
    var mode: Int?
    /// How many satellites are listed.
    var count = 0
    var hdop: Double?
    var vdop: Double?
  }

  /// GST, and of the private sentences PGRME and PUBX,00: what the receiver states of its accuracy, one sigma in metres.
  struct ErrorReport {
    var time: Int64?
    var horizontal: Double?
    var altitude: Double?
  }
}
