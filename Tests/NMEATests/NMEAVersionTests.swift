// SPDX-License-Identifier: Apache-2.0
import Expectations
import NMEA
import NMEATesting
import Positioning
import Testing
import Timekeeping

/// Ten knots in metres per second.
private let tenKnots: Double = 10 * 1852 / 3600

/// Fields that a version of NMEA 0183 has added or removed do not change the result.
struct NMEAVersionTests {
  private static let gga = "GPGGA,083000,5230.000,N,01324.000,E,1,08,0.9,34.5,M,40.5,M,,"

  @Test(
    "RMC gives the same fix without a mode (2.0), with a mode (2.3), and with a navigational status (4.1)",
    arguments: ["024.1,E", "024.1,E,A", "024.1,E,A,S", ",", ",,A", ",,A,V"])
  func rmc(end: String) throws {
    let fix = try #require(fixes(sentence("GPRMC,083000.250,A,5230.000,N,01324.000,E,010.0,045.5,211126,\(end)")).first)
    expectEqual(fix.coordinate, Coordinate(latitude: 52.5, longitude: 13.4))
    expectEqual(fix.timestamp?.rfc3339, "2026-11-21T08:30:00.250Z")
    expectEqual(fix.speed, tenKnots)
    expectEqual(fix.heading, 45.5)
    expectEqual(fix.quality, .gnss)
  }

  @Test(
    "RMC's navigational status (safe, caution, unsafe or not given) does not affect the fix",
    arguments: ["S", "C", "U", "V", ""])
  func navigationalStatus(status: String) {
    let rmc = "GNRMC,083000,A,5230.000,N,01324.000,E,010.0,045.5,211126,,,D,\(status)"
    expectEqual(fixes(sentence(rmc)).map(\.quality), [.dgnss])
    // The mode takes precedence, whatever the status is.
    expect(fixes(sentence("GNRMC,083000,A,5230.000,N,01324.000,E,,,211126,,,N,\(status)")).isEmpty)
  }

  @Test(
    "GNS is read with modes of two systems (3.0), four (4.1) or six (4.11), with or without a navigational status",
    arguments: ["AD", "ADNN", "NDAANN", "NNNNAD"], ["", ",V", ",S"])
  func gns(modes: String, status: String) throws {
    let fix = try #require(
      fixes(sentence("GNGNS,083000.00,5230.000,N,01324.000,E,\(modes),21,0.7,34.5,40.5,,\(status)")).first)
    expectEqual(fix.quality, .dgnss)
    expectEqual(fix.satellites, 21)
    expectEqual(fix.hdop, 0.7)
    expectEqual(fix.altitude, 34.5)
    expectEqual(fix.altitudeHAE, 75)
  }

  @Test(
    "GSA gives the same values without a system ID and with one (4.1), which may be hexadecimal",
    arguments: ["", ",1", ",2", ",3", ",4", ",5", ",6", ",A"])
  func gsa(system: String) throws {
    let text = recording(Self.gga, "GNGSA,A,3,08,10,23,27,,,,,,,,,1.2,0.7,1.3\(system)")
    let fix = try #require(fixes(text).first)
    expectEqual(fix.mode, .threeD)
    // VDOP times the range error; GGA's HDOP takes precedence.
    expectEqual(fix.verticalAccuracy, 6.5)
    expectEqual(fix.horizontalAccuracy, 4.5)
    expectEqual(fix.satellites, 8)
  }

  @Test("the satellites of each system's GSA are added up if GGA has no count")
  func satellites() {
    let gga = Self.gga.replacing(",1,08,", with: ",1,,")
    let text = recording(
      gga, "GNGSA,A,3,08,10,23,27,,,,,,,,,1.2,0.7,1.3,1", "GNGSA,A,3,65,66,,,,,,,,,,,1.2,0.7,1.3,2",
      "GNGSA,A,3,301,302,303,,,,,,,,,,1.2,0.7,1.3,3")
    expectEqual(fixes(text).map(\.satellites), [9])
  }

  @Test(
    "GSV does not affect the fix, whether it has no signal ID (3.0), a decimal (4.1) or a hexadecimal one (4.11)",
    arguments: ["", ",1", ",8", ",B"])
  func gsv(signal: String) {
    let gsv = "GAGSV,2,1,05,02,61,184,45,10,64,059,40,23,54,297,44,27,44,156,45\(signal)"
    let (found, counters) = decode([
      Array(recording(Self.gga, gsv, "GAGSV,2,2,05,36,12,033,28\(signal)", "GQGSV,1,1,00\(signal)").utf8)
    ])
    expectEqual(found, fixes(sentence(Self.gga)))
    expectEqual(counters.unknown, 3)
    expectEqual(counters.unusable, 0)
  }

  @Test("satellites of a constellation that is missing from the reports for 15 s are no longer counted as in view")
  func lapse() {
    var decoder = NMEADecoder()
    func inView(after seconds: Double, _ bodies: String...) -> Int? {
      let now = BootInstant.boot + .milliseconds(Int64(seconds * 1000))
      decoder.decode(Array(bodies.map(sentence).joined().utf8), at: now) { _ in }
      return decoder.satellitesInView
    }
    expectNil(inView(after: 0))
    expectEqual(inView(after: 1, "GPGSV,3,1,12,05,40,120,30", "GLGSV,2,1,08,70,40,120,30"), 20)
    expectEqual(inView(after: 2, "GPGSV,1,1,00"), 8)
    expectEqual(inView(after: 16, "GPGSV,1,1,00"), 8)
    expectEqual(inView(after: 16.1, "GPGSV,1,1,00"), 0)
    // The constellation returns. If the receiver reports nothing more, the last count remains.
    expectEqual(inView(after: 17, "GLGSV,1,1,03,70,40,120,30"), 3)
    expectEqual(inView(after: 100), 3)
    // If a receiver reports rarely, each report is used by itself.
    expectEqual(inView(after: 160, "GPGSV,3,1,12,05,40,120,30", "GLGSV,2,1,08,70,40,120,30"), 20)
    expectEqual(inView(after: 220, "GPGSV,3,1,11,05,40,120,30", "GLGSV,2,1,07,70,40,120,30"), 18)
  }

  @Test("a satellite with several signals is in view once, and one without a signal too (4.1)")
  func signals() {
    func inView(_ bodies: String...) -> Int? {
      var decoder = NMEADecoder()
      decoder.decode(Array(bodies.map(sentence).joined().utf8), at: .boot) { _ in }
      return decoder.satellitesInView
    }
    // As u-blox's M10 reports them: the satellites without a signal in a group of their own.
    expectEqual(
      inView(
        "GPGSV,3,1,09,05,40,120,30,07,20,200,25,08,61,184,45,13,15,050,22,1",
        "GPGSV,3,2,09,14,33,200,41,15,70,010,44,17,08,310,20,19,22,228,35,1", "GPGSV,3,3,09,30,45,090,38,1",
        "GLGSV,2,1,06,70,40,120,30,71,20,200,25,72,61,184,45,73,15,050,22,1",
        "GLGSV,2,2,06,74,33,200,41,75,70,010,44,1", "GLGSV,1,1,04,76,05,020,,77,08,310,,78,04,228,,79,02,090,,0",
        "GAGSV,2,1,05,02,61,184,45,10,64,059,40,23,54,297,44,27,44,156,45,7", "GAGSV,2,2,05,36,12,033,28,7",
        "GAGSV,1,1,02,30,06,120,,31,03,250,,0"), 26)
    // The second signal is not received, or only from some of the satellites.
    expectEqual(inView("GPGSV,3,1,09,05,40,120,30,1", "GPGSV,1,1,00,8"), 9)
    expectEqual(inView("GPGSV,1,1,00,8", "GPGSV,3,1,09,05,40,120,30,1"), 9)
    expectEqual(
      inView("GPGSV,3,1,09,05,40,120,30,1", "GLGSV,2,1,06,70,40,120,30,1", "GPGSV,1,1,04,05,40,120,28,8"), 15)
    expectEqual(
      inView("GBGSV,2,1,05,22,40,120,30,1", "GBGSV,2,1,07,22,40,120,28,B", "GBGSV,1,1,01,23,05,020,,0"), 8)
    // The next report of a signal, without a signal ID, and with an empty one.
    expectEqual(inView("GPGSV,3,1,09,05,40,120,30,1", "GPGSV,1,1,02,05,40,120,30,07,20,200,25,1"), 2)
    expectEqual(inView("GPGSV,1,1,02,05,40,120,30,07,20,200,25", "GPGSV,1,1,01,05,40,120,30"), 1)
    expectEqual(inView("GPGSV,1,1,01,05,40,120,30", "GPGSV,1,1,00,"), 0)
  }

  @Test("if talkers are invalid, satellites of at most 64 signals are counted at a time, and they expire")
  func manyTalkers() {
    var decoder = NMEADecoder()
    let letters = (0..<20).map { String(UnicodeScalar(UInt8(ascii: "A") + $0)) }
    let many = ["G", "H", "J", "K"].flatMap { first in letters.map { "\(first)\($0)" } }
    for (second, talkers, inView) in [(0, many, 64), (20, ["XA", "XB", "XC"], 3)] {
      let text = talkers.map { sentence("\($0)GSV,1,1,01,70,40,120,30") }.joined()
      decoder.decode(Array(text.utf8), at: .boot + .seconds(second)) { _ in }
      expectEqual(decoder.satellitesInView, inView)
    }
  }

  @Test("GLL and VTG give the same fix without a mode (2.0) and with a mode (2.3)", arguments: ["", ",A"])
  func others(mode: String) throws {
    let text = recording(
      "GPGLL,5230.000,N,01324.000,E,083000,A\(mode)", "GPVTG,045.5,T,021.4,M,010.0,N,018.5,K\(mode)")
    let fix = try #require(fixes(text).first)
    expectEqual(fix.coordinate, Coordinate(latitude: 52.5, longitude: 13.4))
    expectEqual(fix.speed, tenKnots)
    expectEqual(fix.heading, 45.5)
  }

  @Test(
    "every talker of a constellation results in a complete fix",
    arguments: ["GP", "GL", "GA", "GB", "BD", "GQ", "QZ", "GI", "GN"])
  func talkers(talker: String) throws {
    let text = recording(
      "\(talker)RMC,083000,A,5230.000,N,01324.000,E,010.0,045.5,211126,,,A,V",
      "\(talker)GGA,083000,5230.000,N,01324.000,E,1,08,0.9,34.5,M,40.5,M,,",
      "\(talker)GSA,A,3,08,10,23,27,,,,,,,,,1.2,0.7,1.3,4", "\(talker)GST,083000,8,,,,3.0,4.0,6.5",
      "\(talker)ZDA,083000,21,11,2026,00,00")
    let fix = try #require(fixes(text).first)
    expectEqual(fixes(text).count, 1)
    expectEqual(fix.timestamp?.rfc3339, "2026-11-21T08:30:00.000Z")
    expectEqual(fix.mode, .threeD)
    expectEqual(fix.satellites, 8)
    expectEqual(fix.horizontalAccuracy, 5)
  }
}
