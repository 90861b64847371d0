// SPDX-License-Identifier: Apache-2.0
import Timekeeping

extension Fix {
  /// What a TPV says, when it says a position and a time. gpsd also sends it while there is no fix, and before it has
  /// learnt the date.
  ///
  /// - Parameter sigmas: what one of the report's errors is divided by to be one standard deviation.
  init?(_ report: GPSDReport, sigmas: Double) {
    guard let mode = report.mode.flatMap(Mode.init(rawValue:)), let latitude = report.latitude,
      let longitude = report.longitude, let coordinate = Coordinate(latitude: latitude, longitude: longitude),
      let time = report.time.flatMap({ Timestamp(rfc3339: $0) })
    else { return nil }
    self.init(coordinate: coordinate, time: .utc(time), mode: mode, quality: Quality(gpsdStatus: report.status))
    // Releases before 3.20 know `alt` alone and mean sea level by it. Later ones call it undefined.
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
      sigma(report.horizontalError, atMost: 1e6) ?? sigma(Fix.plane(report), atMost: 1e6)
    verticalAccuracy = sigma(report.verticalError, atMost: 1e6)
    speedAccuracy = sigma(report.speedError, atMost: 1e4)
    headingAccuracy = sigma(report.trackError, atMost: 180)
  }

  /// The errors along both axes as one distance (the root of the sum of their squares).
  private static func plane(_ report: GPSDReport) -> Double? {
    guard let x = report.longitudeError, let y = report.latitudeError, x >= 0, y >= 0 else { return nil }
    return (x * x + y * y).squareRoot()
  }

  /// Metres; nil beyond what a vehicle can be at.
  private static func altitude(_ metres: Double) -> Double? {
    abs(metres) < 100_000 ? metres : nil
  }
}

extension Fix.Quality {
  /// - Parameter status: of a TPV: 0 unknown, 1 plain, 2 differential, 3 RTK fixed, 4 RTK float, 5 dead reckoning, 6 GNSS
  ///   with dead reckoning, 7 time only (the position was surveyed, not measured), 8 simulated, 9 P(Y) code. Absent
  ///   means plain; old releases tell 2 alone.
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
