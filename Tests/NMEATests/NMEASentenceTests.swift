// SPDX-License-Identifier: Apache-2.0
import Expectations
import NMEA
import NMEATesting
import Positioning
import Testing
import Timekeeping

/// Ten knots in metres per second.
private let tenKnots: Double = 10 * 1852 / 3600

struct NMEASentenceTests {
  @Test("RMC alone gives a two-dimensional fix with position, date and time, speed and heading")
  func rmc() throws {
    let fix = try #require(fixes(sentence("GPRMC,083000.250,A,5230.000,N,01324.000,E,010.0,045.5,211126,,,A")).first)
    expectEqual(fix.coordinate, Coordinate(latitude: 52.5, longitude: 13.4))
    expectEqual(fix.timestamp?.rfc3339, "2026-11-21T08:30:00.250Z")
    expectEqual(fix.speed, tenKnots)
    expectEqual(fix.heading, 45.5)
    expectEqual(fix.mode, .twoD)
    expectEqual(fix.quality, .gnss)
    expectNil(fix.altitude)
  }

  @Test("RMC of NMEA 2.0, which has no mode indicator, is accepted")
  func oldRMC() {
    expectEqual(fixes(sentence("GPRMC,225308,A,4527.458,S,16709.165,E,000.0,094.5,060601,024.1,E")).count, 1)
  }

  @Test("GGA gives altitude, height above the ellipsoid, satellites, HDOP, and a time of day without a date")
  func gga() throws {
    let fix = try #require(fixes(sentence("GPGGA,083000,5230.000,N,01324.000,E,1,08,0.9,34.5,M,40.5,M,,")).first)
    expectEqual(fix.time, .ofDay(milliseconds: 30_600_000))
    expectEqual(fix.altitude, 34.5)
    expectEqual(fix.altitudeHAE, 75)
    expectEqual(fix.satellites, 8)
    expectEqual(fix.hdop, 0.9)
    expectEqual(fix.horizontalAccuracy, 4.5)
    expectEqual(fix.mode, .threeD)
  }

  @Test("GGA without geoid separation gives no height above the ellipsoid")
  func noSeparation() throws {
    let fix = try #require(fixes(sentence("GPGGA,083000,5230.000,N,01324.000,E,1,08,0.9,34.5,M,,M,,")).first)
    expectEqual(fix.altitude, 34.5)
    expectNil(fix.altitudeHAE)
  }

  @Test(
    "GGA's quality indicator gives the quality of the fix",
    arguments: [
      ("1", Fix.Quality.gnss), ("2", .dgnss), ("3", .gnss), ("4", .rtkFixed), ("5", .rtkFloat), ("6", .estimated),
      ("7", .simulated), ("8", .simulated), ("9", .dgnss),
    ])
  func quality(number: String, quality: Fix.Quality) {
    let text = sentence("GPGGA,083000,5230.000,N,01324.000,E,\(number),08,0.9,34.5,M,40.5,M,,")
    expectEqual(fixes(text).first?.quality, quality)
  }

  @Test(
    "The mode indicator gives the quality if there is no GGA",
    arguments: [
      ("A", Fix.Quality.gnss), ("D", .dgnss), ("P", .dgnss), ("R", .rtkFixed), ("F", .rtkFloat), ("E", .estimated),
      ("M", .simulated), ("S", .simulated),
    ])
  func indicator(letter: String, quality: Fix.Quality) {
    expectEqual(fixes(sentence("GNRMC,083000,A,5230.0,N,01324.0,E,1,2,211126,,,\(letter)")).first?.quality, quality)
    expectEqual(fixes(sentence("GNGLL,5230.0,N,01324.0,E,083000,A,\(letter)")).first?.quality, quality)
    expectEqual(fixes(sentence("GNGNS,083000,5230.0,N,01324.0,E,N\(letter)N,9,1.0,30,40,,")).first?.quality, quality)
  }

  @Test("GNS gives altitude, geoid separation, the number of satellites, and the best constellation's quality")
  func gns() throws {
    let fix = try #require(
      fixes(sentence("GNGNS,120213.000,5957.0062,N,01100.6429,E,NDA,11,1.3,168.9,39.5,,,V")).first)
    expectEqual(fix.altitude, 168.9)
    expectEqual(fix.altitudeHAE, 208.4)
    expectEqual(fix.satellites, 11)
    expectEqual(fix.quality, .dgnss)
  }

  @Test("VTG gives speed and heading if there is no RMC; the speed is from km/h if the knots are missing")
  func vtg() throws {
    let gga = "GPGGA,083000,5230.000,N,01324.000,E,1,08,0.9,34.5,M,40.5,M,,"
    let knots = try #require(fixes(recording(gga, "GPVTG,360.0,T,,M,10.0,N,18.52,K,A")).first)
    expectEqual(knots.speed, tenKnots)
    expectEqual(knots.heading, 0)
    expectEqual(fixes(recording(gga, "GPVTG,,T,,M,,N,36.0,K,A")).first?.speed, 10)
    expectNil(fixes(recording(gga, "GPVTG,1.0,T,,M,1.0,N,1.0,K,N")).first?.speed)
  }

  @Test("GSA gives the mode; of several GSA sentences, the best mode counts")
  func gsa() {
    let gga = "GPGGA,083000,5230.000,N,01324.000,E,1,08,0.9,34.5,M,40.5,M,,"
    expectEqual(fixes(recording(gga, "GPGSA,A,2,05,12,30,,,,,,,,,,17.0,17.0,0.0")).first?.mode, .twoD)
    let several = recording(gga, "GPGSA,A,3,05,12,30,,,,,,,,,,2.0,1.5,1.3", "BDGSA,A,1,,,,,,,,,,,,,,,")
    expectEqual(fixes(several).first?.mode, .threeD)
    expectEqual(fixes(several).first?.verticalAccuracy, 6.5)
  }

  @Test(
    "accuracies in proprietary sentences of Garmin, u-blox and Quectel are used, and HDOP only without them"
  )
  func reportedAccuracy() throws {
    let gga = "GPGGA,083000,5230.000,N,01324.000,E,1,08,50.0,34.5,M,40.5,M,,"
    let derived = try #require(fixes(sentence(gga)).first)
    expect(derived.horizontalAccuracy == 250 && derived.isAccuracyDerived && derived.reportedAccuracy == nil)
    let garmin = try #require(fixes(recording(gga, "PGRME,9.5,M,12.4,M,13.6,M")).first)
    expect(garmin.reportedAccuracy == 9.5 && garmin.verticalAccuracy == 12.4 && garmin.hdop == 50)
    let position = "083000.00,5230.000,N,01324.000,E,75.0,G3,2.1,3.5,0.007,77.52,0.007,,50.0,1.19,0.77,9,0,0"
    let ublox = try #require(fixes(recording(gga, "PUBX,00,\(position)")).first)
    expect(ublox.reportedAccuracy == 2.1 && ublox.verticalAccuracy == 3.5)
    let quectel = try #require(fixes(recording(gga, "PQTMEPE,2,1.000,1.100,1.200,1.487,1.911")).first)
    expect(quectel.reportedAccuracy == 1.487 && quectel.verticalAccuracy == 1.2)
    // Sentences without a fix, of another type, or empty.
    let others = [
      "PQTMEPE,2,,,,,", "PQTMEPE", "PQTMEPX,2,1,1,1,1,1", "PQTMVER,2,1,1,1,1,1", "PQTMEPE2,1,1,1,1,1",
      "PUBX,00,083000.00,,,,,0.0,NF,5303302,3755936,0,0,0,,99.99,99.99,99.99,0,0,0", "PUBX,04,083000.00,211126,1,2,3",
      "PUBX,00", "PGRME,,M,,M,,M", "PGRME", "PGRMZ,4820,f,3", "PGRME,-1,M,0,M,x,M",
    ]
    for other in others {
      let fix = try #require(fixes(recording(gga, other)).first, "\(other)")
      expect(fix.isAccuracyDerived && fix.horizontalAccuracy == 250, "\(other)")
    }
  }

  @Test(
    "an HDOP of 100 or more is valid, and 0 and 99.99 are not",
    arguments: [("176.3", 176.3), ("99.99", nil), ("0", nil), ("98.9", 98.9)])
  func dilutions(text: String, value: Double?) throws {
    let fix = try #require(fixes(sentence("GPGGA,083000,5230.000,N,01324.000,E,1,08,\(text),34.5,M,40.5,M,,")).first)
    expectEqual(fix.hdop, value)
  }

  @Test("GST gives the horizontal and the vertical accuracy")
  func gst() throws {
    let fix = try #require(
      fixes(
        recording(
          "GPGGA,083000,5230.000,N,01324.000,E,1,08,0.9,34.5,M,40.5,M,,", "GPGST,083000,8,,,,3.0,4.0,6.5")
      ).first)
    expectEqual(fix.horizontalAccuracy, 5)
    expectEqual(fix.verticalAccuracy, 6.5)
  }

  @Test("GST with an empty or zero deviation in latitude still gives the vertical accuracy", arguments: ["", "0.0"])
  func partialGST(latitude: String) throws {
    let fix = try #require(
      fixes(
        recording(
          "GPGGA,083000,5230.000,N,01324.000,E,1,08,0.9,34.5,M,40.5,M,,", "GPGST,083000,8,,,,\(latitude),0.9,1.8")
      ).first)
    expectEqual(fix.verticalAccuracy, 1.8)
    expect(fix.isAccuracyDerived)
  }

  @Test("A position that the receiver marks as void is not a fix, whatever other sentences state")
  func void() {
    let valid = "GPGGA,083000,5230.000,N,01324.000,E,1,08,0.9,34.5,M,40.5,M,,"
    expect(fixes(sentence("GPRMC,083000,V,5230.0,N,01324.0,E,1,2,211126,,,N")).isEmpty)
    expect(fixes(sentence("GPRMC,083000,A,5230.0,N,01324.0,E,1,2,211126,,,N")).isEmpty)
    expect(fixes(sentence("GPRMC,083000,,5230.0,N,01324.0,E,1,2,211126,,,")).isEmpty)
    expect(fixes(sentence("GPGLL,5230.0,N,01324.0,E,083000,V,N")).isEmpty)
    expect(fixes(sentence("GPGNS,083000,5230.0,N,01324.0,E,NNN,00,,,,,")).isEmpty)
    expect(fixes(sentence("GPGGA,083000,5230.000,N,01324.000,E,0,00,,,M,,M,,")).isEmpty)
    expect(fixes(recording(valid, "GPRMC,083000,V,5230.0,N,01324.0,E,1,2,211126,,,N")).isEmpty)
  }

  @Test("A constellation without a position does not invalidate the position of another")
  func otherConstellation() {
    let text = recording(
      "GPGGA,083000,5230.000,N,01324.000,E,1,08,0.9,34.5,M,40.5,M,,", "GLGGA,083000,,,,,0,00,,,M,,M,,")
    expectEqual(fixes(text).count, 1)
  }

  @Test("GGA without a quality is rejected")
  func emptyQuality() throws {
    let gga = "GPGGA,005947.00,3715.6616,N,12157.6709,W,,11,0.8,86.0,M,-30.1,M,,"
    expect(fixes(sentence(gga)).isEmpty)
    let fix = try #require(
      fixes(recording(gga, "GPRMC,005947.00,A,3715.6616,N,12157.6709,W,0.0,0.0,080710,,")).first)
    expectNil(fix.altitude)
  }

  @Test(
    "All talkers are accepted, but no proprietary sentences",
    arguments: ["GP", "GN", "GL", "GA", "GB", "BD", "GQ", "QZ", "GI", "IN"])
  func talkers(talker: String) {
    expectEqual(fixes(sentence("\(talker)GLL,5230.0,N,01324.0,E,083000,A")).count, 1)
    expect(fixes(sentence("PQGLL,5230.0,N,01324.0,E,083000,A")).isEmpty)
  }

  @Test("Within an epoch the position with more digits is used")
  func digits() {
    let gga = "GPGGA,193221.00,2037.72792,N,08704.08478,W,1,04,1.7,-30.40,M,-13.9,M,,"
    let rmc = "GPRMC,193221.00,A,2037.7279,N,08704.0848,W,00.1,201.8,231207,01,W,A"
    for text in [recording(gga, rmc), recording(rmc, gga)] {
      expectEqual(fixes(text).map(\.coordinate.latitude), [20 + 37.72792 / 60])
    }
  }

  @Test(
    "Zero, the poles and the antimeridian are valid positions",
    arguments: [
      ("0000.0000,N,00000.0000,E", 0, 0), ("0000.0000,S,00000.0000,W", 0, 0), ("9000.0000,S,00000.0000,E", -90, 0),
      ("0000.0000,N,18000.0000,W", 0, -180), ("0030.0000,S,17959.9999,E", -0.5, 179 + 59.9999 / 60),
    ])
  func edges(position: String, latitude: Double, longitude: Double) throws {
    let fix = try #require(fixes(sentence("GPGLL,\(position),083000,A")).first)
    expectEqual(fix.coordinate, Coordinate(latitude: latitude, longitude: longitude))
    expectEqual(fix.coordinate.latitude.sign, (latitude < 0 ? .minus : .plus))
  }

  @Test(
    "An invalid position gives no fix",
    arguments: [
      "9000.0001,N,00000.0,E", "4560.0,N,00000.0,E", "4500.0,N,18000.001,E", "4500.0,X,00100.0,E", "4500.0,,00100.0,E",
      "nan,N,00100.0,E", "inf,N,00100.0,E", "0x10,N,00100.0,E", "1e2,N,00100.0,E", "45..0,N,00100.0,E",
      "-4500.0,N,00100.0,E",
      ",N,00100.0,E", "4500.0,N,,E", ".,N,00100.0,E", "99999999999999999999,N,00100.0,E",
    ])
  func noPosition(position: String) {
    expect(fixes(sentence("GPGLL,\(position),083000,A")).isEmpty)
  }

  @Test("An impossible time is rejected", arguments: ["240000", "126000", "120061", "-1", "12:00", "1e5"])
  func noTime(time: String) {
    let (fixes, counters) = decode([Array(sentence("GPGLL,4500.0,N,00100.0,E,\(time),A").utf8)])
    expect(fixes.isEmpty)
    expectEqual(counters.unusable, 1)
  }
}
