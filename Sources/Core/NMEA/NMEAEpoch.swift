// SPDX-License-Identifier: Apache-2.0
import Positioning

/// The combined content of the sentences of one epoch.
struct NMEAEpoch {
  /// Milliseconds since midnight UTC; nil before a sentence with a time.
  private(set) var time: Int64?
  /// Whether the epoch has no sentence yet.
  private(set) var isEmpty = true
  private var validKinds: UInt8 = 0
  private var voidKinds: UInt8 = 0
  private var position: NMEAPosition?
  private var ggaQuality: Fix.Quality?
  private var modeQuality: Fix.Quality?
  /// Metres above mean sea level.
  private(set) var altitude: Double?
  /// Height of the geoid above the ellipsoid, in metres.
  private(set) var geoidSeparation: Double?
  private var satellites: Int?
  private var listedSatellites = 0
  private var hdop: Double?
  private var vdop: Double?
  private var rmcMotion = NMEASentence.MotionReport()
  private var vtgMotion = NMEASentence.MotionReport()
  private var errors: NMEASentence.ErrorReport?
  /// The mode of GSA: the best of several constellations, which share one solution.
  private(set) var statedMode: Fix.Mode?

  mutating func add(_ report: NMEASentence.PositionReport) {
    isEmpty = false
    time = time ?? report.time
    switch report.validity {
    case .unspecified: return
    case .void:
      voidKinds |= report.kind.rawValue
      return
    case .valid:
      validKinds |= report.kind.rawValue
    }
    // The sentence with the most digits is the most precise; one without a time may be of another epoch.
    if let new = report.position, new.decimals >= position?.decimals ?? 0, report.time == time || position == nil {
      position = new
    }
    if report.kind == .gga {
      ggaQuality = report.quality ?? ggaQuality
    } else {
      modeQuality = report.quality ?? modeQuality
    }
    altitude = report.altitude ?? altitude
    geoidSeparation = report.geoidSeparation ?? geoidSeparation
    if let count = report.satellites { satellites = max(count, satellites ?? 0) }
    hdop = report.hdop ?? hdop
    rmcMotion.speed = report.motion.speed ?? rmcMotion.speed
    rmcMotion.heading = report.motion.heading ?? rmcMotion.heading
  }

  mutating func add(_ report: NMEASentence.MotionReport) {
    isEmpty = false
    vtgMotion.speed = report.speed ?? vtgMotion.speed
    vtgMotion.heading = report.heading ?? vtgMotion.heading
  }

  mutating func add(_ report: NMEASentence.SatelliteReport) {
    isEmpty = false
    listedSatellites += report.count
    if let mode = report.mode.flatMap(Fix.Mode.init(rawValue:)), mode.rawValue > statedMode?.rawValue ?? 0 {
      statedMode = mode
    }
    hdop = hdop ?? report.hdop
    vdop = report.vdop ?? vdop
  }

  mutating func add(_ report: NMEASentence.ErrorReport) {
    isEmpty = false
    time = time ?? report.time
    // Each sentence may have values that the others lack; the first value is used.
    errors = NMEASentence.ErrorReport(
      time: time, horizontal: errors?.horizontal ?? report.horizontal, vertical: errors?.vertical ?? report.vertical)
  }

  /// Whether there was a sentence of that kind.
  func contains(_ kind: NMEASentence.PositionReport.Kind) -> Bool {
    (validKinds | voidKinds) & kind.rawValue != 0
  }

  /// Whether there is a valid position. A sentence with a void position takes precedence, unless another sentence of
  /// its kind is valid, as when each constellation has its own GGA.
  var hasPosition: Bool {
    position != nil && voidKinds & ~validKinds == 0
  }

  /// The mode of GSA, or else what the altitude and the number of satellites imply; nil if there is neither a mode nor
  /// an altitude.
  var mode: Fix.Mode? {
    if let statedMode { return statedMode }
    guard altitude != nil else { return nil }
    return satelliteCount ?? 4 >= 4 ? .threeD : .twoD
  }

  /// The fix, if there is one.
  ///
  /// - Parameters:
  ///   - time: the epoch's time, with its date if known.
  ///   - mode: the mode if the epoch has none.
  ///   - fallback: the altitude, and its geoid separation, if the epoch has none and is three-dimensional.
  func fix(
    time: Fix.Time?, fallbackMode mode: Fix.Mode, fallbackAltitude fallback: (altitude: Double, separation: Double?)?
  ) -> Fix? {
    guard hasPosition, let position else { return nil }
    var fix = Fix(coordinate: position.coordinate, time: time, mode: self.mode ?? mode, quality: quality)
    let usedFallback = altitude == nil && fix.mode == .threeD ? fallback : nil
    let altitude = altitude ?? usedFallback?.altitude
    let geoidSeparation = geoidSeparation ?? usedFallback?.separation
    fix.altitude = altitude
    if let altitude, let geoidSeparation { fix.altitudeHAE = altitude + geoidSeparation }
    fix.speed = rmcMotion.speed ?? vtgMotion.speed
    fix.heading = rmcMotion.heading ?? vtgMotion.heading
    fix.satellites = satelliteCount
    fix.hdop = hdop
    fix.horizontalAccuracy = errors?.horizontal
    if fix.horizontalAccuracy == nil { fix.deriveAccuracy() }
    fix.verticalAccuracy = altitude == nil ? errors?.vertical : verticalAccuracy
    return fix
  }

  /// Some receivers write 0 in GGA although GSA lists satellites.
  private var satelliteCount: Int? {
    if let satellites, satellites > 0 { return satellites }
    return listedSatellites > 0 ? listedSatellites : satellites
  }

  /// The number in GGA is more specific than the letter, but simulation and dead reckoning are accepted from either.
  private var quality: Fix.Quality {
    if let modeQuality, modeQuality == .simulated || modeQuality == .estimated { return modeQuality }
    return ggaQuality ?? modeQuality ?? .gnss
  }

  private var verticalAccuracy: Double? {
    if let vertical = errors?.vertical { return vertical }
    guard let vdop, let error = quality.rangeError else { return nil }
    return vdop * error
  }
}
