// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

extension Fix {
  /// The fix of a TPV; nil if it has no position or no time. gpsd also sends TPVs without a fix, and TPVs before it
  /// knows the date.
  ///
  /// - Parameter sigmas: the number of standard deviations in the report's errors.
  init?(_ report: GPSDReport, sigmas: Double) {
    guard let mode = report.mode.flatMap(Mode.init(rawValue:)), let latitude = report.latitude,
      let longitude = report.longitude, let coordinate = Coordinate(latitude: latitude, longitude: longitude),
      let time = report.time.flatMap({ Timestamp(rfc3339: $0) })
    else { return nil }
    self.init(coordinate: coordinate, time: .utc(time), mode: mode, quality: Quality(gpsdStatus: report.status))
    // Releases before 3.20 only have `alt`, above sea level. Later ones leave it undefined.
    altitude = (report.altitudeMSL ?? (report.altitudeHAE == nil ? report.altitude : nil)).flatMap(Fix.altitude)
    altitudeHAE = report.altitudeHAE.flatMap(Fix.altitude)
    if altitudeHAE == nil, let altitude, let separation = report.geoidSeparation {
      altitudeHAE = Fix.altitude(altitude + separation)
    }
    speed = report.speed.flatMap { (0..<10_000).contains($0) ? $0 : nil }
    heading = report.track.flatMap { (0...360).contains($0) ? ($0 == 360 ? 0 : $0) : nil }
    func sigma(_ error: Double?, atMost limit: Double) -> Double? {
      guard let error, error > 0, error / sigmas < limit else { return nil }
      return error / sigmas
    }
    horizontalAccuracy =
      sigma(report.horizontalError, atMost: 1e6) ?? sigma(Fix.horizontalError(of: report), atMost: 1e6)
    verticalAccuracy = sigma(report.verticalError, atMost: 1e6)
    speedAccuracy = sigma(report.speedError, atMost: 1e4)
    headingAccuracy = sigma(report.trackError, atMost: 180)
  }

  /// The errors of both axes as one distance (the root of the sum of their squares).
  private static func horizontalError(of report: GPSDReport) -> Double? {
    guard let x = report.longitudeError, let y = report.latitudeError, x >= 0, y >= 0 else { return nil }
    return (x * x + y * y).squareRoot()
  }

  /// Metres; nil outside of a vehicle's range.
  private static func altitude(_ metres: Double) -> Double? {
    abs(metres) < 100_000 ? metres : nil
  }
}

extension Fix.Quality {
  /// - Parameter status: of a TPV: 0 unknown, 1 plain, 2 differential, 3 RTK fixed, 4 RTK float, 5 dead reckoning, 6
  ///   GNSS with dead reckoning, 7 time only (the position was surveyed, not measured), 8 simulated, 9 P(Y) code.
  ///   Absent means plain; old releases only report 2.
  init(gpsdStatus status: Int?) {
    switch status {
    case 2: self = .dgnss
    case 3: self = .rtkFixed
    case 4: self = .rtkFloat
    case 5, 7: self = .estimated
    case 8: self = .simulated
    default: self = .gnss
    }
  }
}
