// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import RecordingReview
import Testing
import Timekeeping

struct FixLineWriterTests {
  private func line(_ fix: Fix) -> String {
    var writer = FixLineWriter(source: "replay")
    writer.append(fix)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  private func fix(_ latitude: Double, _ longitude: Double) throws -> Fix {
    Fix(coordinate: try #require(Coordinate(latitude: latitude, longitude: longitude)))
  }

  @Test("All values of a fix are written in a fixed order")
  func whole() throws {
    var fix = try fix(52.5, -13.4)
    fix.time = .utc(Timestamp(milliseconds: 1_795_249_800_250))
    fix.altitude = 34.5
    fix.altitudeHAE = 75
    fix.speed = 5.1444444
    fix.heading = 45.1
    fix.satellites = 12
    fix.hdop = 0.69
    fix.horizontalAccuracy = 4.5
    fix.verticalAccuracy = 6.5
    fix.speedAccuracy = 0.1
    fix.headingAccuracy = 2
    expectEqual(
      line(fix),
      """
      {"time":"2026-11-21T08:30:00.250Z","latitude":52.5,"longitude":-13.4,"altitude":34.5,"altitudeHAE":75,\
      "speed":5.144,"heading":45.1,"mode":3,"quality":"gnss","satellites":12,"hdop":0.69,"horizontalAccuracy":4.5,\
      "verticalAccuracy":6.5,"speedAccuracy":0.1,"headingAccuracy":2,"source":"replay"}

      """)
  }

  @Test("Unknown values are omitted, and zeros are written")
  func little() throws {
    var fix = try fix(0, 0)
    fix.speed = 0
    fix.altitude = .nan
    expectEqual(
      line(fix),
      """
      {"latitude":0,"longitude":0,"speed":0,"mode":3,"quality":"gnss","source":"replay"}

      """)
  }

  @Test(
    "A fix without a date is written with its time of day",
    arguments: [
      (Int64(0), "00:00:00.000"), (86_399_999, "23:59:59.999"), (86_400_500, "23:59:60.500"),
      (59_007_050, "16:23:27.050"),
    ])
  func timeOfDay(milliseconds: Int64, text: String) throws {
    var fix = try fix(1, 2)
    fix.time = .ofDay(milliseconds: milliseconds)
    expect(line(fix).hasPrefix("{\"timeOfDay\":\"\(text)\",\"latitude\":1,"))
  }

  @Test(
    "Degrees are written with at most nine decimals",
    arguments: [
      (-0.000000001, "-0.000000001"), (89.999999999, "89.999999999"), (-45.457633333, "-45.457633333"), (-90, "-90"),
      (0.0000000001, "0"), (10.05, "10.05"),
    ])
  func decimals(latitude: Double, text: String) throws {
    expect(line(try fix(latitude, 0)).contains("\"latitude\":\(text),"))
  }
}
