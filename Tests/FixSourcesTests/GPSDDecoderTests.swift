// SPDX-License-Identifier: Apache-2.0
import Expectations
import GPSDTesting
import FixSources
import NMEATesting
import Positioning
import Testing
import Timekeeping

struct GPSDDecoderTests {
  static let sky =
    #"{"class":"SKY","device":"/dev/a","hdop":0.90,"pdop":1.8,"nSat":3,"uSat":2,"satellites":[{"PRN":1,"el":5.0,"az":10.0,"ss":33.0,"used":true},{"PRN":2,"used":false},{"PRN":3,"used":true}]}"#
  static let position =
    #"{"class":"TPV","device":"/dev/a","mode":3,"time":"2026-11-21T06:00:03.250Z","ept":0.005,"lat":48.117681667,"lon":11.517268333,"altHAE":592.3000,"altMSL":545.4000,"alt":545.4000,"epx":6.0,"epy":8.0,"epv":19.6,"track":360.0000,"magtrack":48.3266,"magvar":3.3,"speed":15.022,"climb":0.000,"eps":0.98,"epc":69.00,"epd":3.92,"geoidSep":46.900,"eph":9.8,"sep":34.200}"#

  private func events(_ lines: [String], device: String? = nil) -> [GPSDDecoder.Event] {
    var decoder = GPSDDecoder(device: device, silenceTimeout: .seconds(10))
    return decoder.events(lines)
  }

  private func position(_ members: String) -> Fix? {
    events([#"{"class":"TPV","device":"/dev/a","mode":3,"time":"2026-11-21T06:00:03Z","lat":1,"lon":2"# + members + "}"]
    )
    .fixes.first
  }

  @Test("A TPV report becomes a complete fix: 95 % errors become standard deviations, and satellites come from SKY")
  func everyMember() throws {
    let all = events(GPSDTranscript.greeting + [GPSDDecoderTests.sky, GPSDDecoderTests.position])
    expectEqual(all.count, 4)
    expect(all.contains(.sky(inView: 3)))
    expectEqual(all.first, .version(release: "3.22", major: 3, minor: 14))
    expectEqual(all.dropFirst().first, .devices(["/dev/a"]))
    let fix = try #require(all.fixes.first)
    expectEqual(fix.time, .utc(try #require(Timestamp(rfc3339: "2026-11-21T06:00:03.250Z"))))
    expectEqual(fix.coordinate, Coordinate(latitude: 48.117681667, longitude: 11.517268333))
    expectEqual(fix.mode, .threeD)
    expectEqual(fix.quality, .gnss)
    expectEqual(fix.altitude, 545.4)
    expectEqual(fix.altitudeHAE, 592.3)
    expectEqual(fix.speed, 15.022)
    expectEqual(fix.heading, 0)
    expectEqual(fix.satellites, 2)
    expectEqual(fix.hdop, 0.9)
    expectEqual(fix.horizontalAccuracy, 9.8 / 1.96)
    expectEqual(fix.verticalAccuracy, 19.6 / 1.96)
    expectEqual(fix.speedAccuracy, 0.98 / 1.96)
    expectEqual(fix.headingAccuracy, 3.92 / 1.96)
  }

  @Test(
    "An eph that gpsd computed from HDOP is not the receiver's accuracy, but gives the HDOP of the fix",
    arguments: [
      (#""eph":20.9"#, 1.1, 5.5), (#""eph":950.000"#, 50, 250), (#""status":2,"eph":3.467"#, 0.73, 1.46),
      (#""status":3,"eph":14.440"#, 0.76, 0.0152), (#""status":4,"eph":14.440"#, 0.76, 0.38),
      (#""status":5,"eph":43.7"#, 2.3, nil),
    ])
  func derivedError(members: String, hdop: Double, accuracy: Double?) throws {
    let sky = #"{"class":"SKY","device":"/dev/a","hdop":0.9,"uSat":8}"#
    let position =
      #"{"class":"TPV","device":"/dev/a","mode":3,"time":"2026-11-21T06:00:03Z","lat":1,"lon":2,\#(members)}"#
    let fix = try #require(events([sky, position]).fixes.first)
    expectEqual(fix.hdop, hdop)
    expectEqual(fix.horizontalAccuracy.map { ($0 * 1e6).rounded() }, accuracy.map { ($0 * 1e6).rounded() })
    expectNil(fix.reportedAccuracy)
    expectEqual(fix.isAccuracyDerived, (accuracy != nil))
  }

  @Test(
    "A satellite count of 0 in SKY is ignored, unless the fix is estimated or gpsd is old",
    arguments: [(nil, "", nil), (14, "", nil), (nil, #","status":6"#, nil), (nil, #","status":5"#, 0), (12, "", 0)]
      as [(Int?, String, Int?)])
  func noSatellites(minor: Int?, members: String, satellites: Int?) throws {
    let version = minor.map { #"{"class":"VERSION","release":"3","proto_major":3,"proto_minor":\#($0)}"# }
    let sky = #"{"class":"SKY","device":"/dev/a","hdop":0.9,"uSat":0}"#
    let position =
      #"{"class":"TPV","device":"/dev/a","mode":3,"time":"2026-11-21T06:00:03Z","lat":1,"lon":2\#(members)}"#
    let fix = try #require(events([version, sky, position].compactMap(\.self)).fixes.first)
    expectEqual(fix.satellites, satellites)
  }

  @Test("If eph was computed from HDOP, then epv, eps and epd are not used as reported accuracies either")
  func derivedErrors() throws {
    let fix = try #require(position(#","eph":20.9,"epv":29.9,"eps":57.7,"epd":12.0"#))
    expectEqual(fix.verticalAccuracy, 6.5)
    expect(fix.speedAccuracy == nil && fix.headingAccuracy == nil)
  }

  @Test("An eph is the receiver's accuracy if it cannot have been computed from an HDOP, or the receiver is a u-blox")
  func ownError() throws {
    let fix = try #require(position(#","eph":9.8"#))
    expect(fix.reportedAccuracy == 9.8 / 1.96 && fix.hdop == nil)
    // The eph of a u-blox is its own estimate, also if a single one could have been computed.
    let device = #"{"class":"DEVICE","path":"/dev/a","driver":"u-blox","activated":1}"#
    let text = #"{"class":"TPV","device":"/dev/a","mode":3,"time":"2026-11-21T06:00:03Z","lat":1,"lon":2,"eph":19.0}"#
    try expectEqual(#require(events([device, text]).fixes.first).reportedAccuracy, 19)
  }

  @Test("The accuracy of a u-blox is already one standard deviation")
  func ownEstimate() throws {
    let device = #"{"class":"DEVICE","path":"/dev/a","driver":"u-blox","activated":1}"#
    let fix = try #require(events([device, GPSDDecoderTests.position]).fixes.first)
    expectEqual(fix.horizontalAccuracy, 9.8)
    expectEqual(fix.verticalAccuracy, 19.6)
    expectEqual(fix.speedAccuracy, 0.98)
    // gpsd computes the error of the heading also for a u-blox.
    expectNil(fix.headingAccuracy)
  }

  @Test("A u-blox 7, or one that sends NMEA: after eight different eph computed from HDOP, they count as dilutions")
  func ubloxWithoutOwnErrors() throws {
    let device = #"{"class":"DEVICE","path":"/dev/a","driver":"u-blox","activated":1}"#
    func fixes(_ errors: [Double]) -> [Fix] {
      events(
        [device]
          + errors.enumerated().map { second, error in
            #"{"class":"TPV","device":"/dev/a","mode":3,"time":"2026-11-21T06:00:\#(second + 10)Z","lat":1,"lon":2,"eph":\#(error),"eps":3.0}"#
          }
      ).fixes
    }
    let dilutions = [0.9, 0.91, 0.91, 0.95, 1.0, 1.02, 1.5, 1.49, 1.2, 5.5]
    let fixes7 = fixes(dilutions.map { $0 * 19 })
    expectEqual(fixes7.map { $0.reportedAccuracy != nil }, dilutions.indices.map { $0 < 8 })
    expectEqual(fixes7.last?.hdop, 5.5)
    expectNil(fixes7.last?.speedAccuracy)
    expectEqual(fixes7.last?.isAccuracyDerived, true)
    // A parked receiver repeats an accuracy that happens to be such a product.
    expect(fixes([Double](repeating: 1.9, count: 40)).allSatisfy { $0.reportedAccuracy == 1.9 })
    // One other value shows that the receiver estimates its errors itself.
    expectEqual(fixes(dilutions.map { $0 * 19 } + [7.2, 19]).suffix(2).map(\.reportedAccuracy), [7.2, 19])
  }

  @Test("The protocol of gpsd 3.17 is supported: one altitude, two horizontal errors, and a list of satellites")
  func oldProtocol() throws {
    let fix = try #require(
      events([
        #"{"class":"VERSION","release":"3.17","rev":"3.17","proto_major":3,"proto_minor":12}"#,
        #"{"class":"SKY","device":"/dev/a","xdop":0.5,"hdop":1.1,"satellites":[{"PRN":1,"used":true},{"PRN":2,"used":false}]}"#,
        #"{"class":"TPV","device":"/dev/a","status":2,"mode":3,"time":"2017-10-01T12:00:00.000Z","ept":0.005,"lat":-33.5,"lon":151.25,"alt":20.5,"epx":6.0,"epy":8.0,"epv":23.0,"track":12.3,"speed":1.5,"climb":0.1,"eps":30.0,"epc":46.0}"#,
      ]).fixes.first)
    expectEqual(fix.altitude, 20.5)
    expectNil(fix.altitudeHAE)
    expectEqual(fix.quality, .dgnss)
    expectEqual(fix.horizontalAccuracy, 10 / 1.96)
    expectEqual(fix.satellites, 1)
    expectEqual(fix.hdop, 1.1)
    expectNil(fix.headingAccuracy)
  }

  @Test(
    "Altitudes above mean sea level and above the ellipsoid are distinguished",
    arguments: [
      (#","altMSL":10,"geoidSep":40"#, 10, 50), (#","altHAE":50,"alt":10"#, nil, 50),
      (#","altHAE":50,"altMSL":10"#, 10, 50),
      (#","alt":10"#, 10, nil), ("", nil, nil), (#","altMSL":1e9,"altHAE":-1e9"#, nil, nil),
    ] as [(String, Double?, Double?)])
  func altitudes(members: String, mean: Double?, ellipsoid: Double?) throws {
    let fix = try #require(position(members))
    expectEqual(fix.altitude, mean)
    expectEqual(fix.altitudeHAE, ellipsoid)
  }

  @Test(
    "The quality of a fix is derived from gpsd's status",
    arguments: [
      (0, Fix.Quality.gnss), (1, .gnss), (2, .dgnss), (3, .rtkFixed), (4, .rtkFloat), (5, .estimated), (6, .gnss),
      (7, .estimated), (8, .simulated), (9, .gnss), (10, .gnss), (-1, .gnss),
    ])
  func statuses(status: Int, quality: Fix.Quality) {
    expectEqual(position(#","status":\#(status)"#)?.quality, quality)
  }

  @Test(
    "A report without a valid mode, position or time is not a fix, but shows that the receiver is alive",
    arguments: [
      #"{"class":"TPV","device":"/dev/a","mode":0}"#,
      #"{"class":"TPV","device":"/dev/a","mode":1,"time":"2026-11-21T06:00:03Z","lat":1,"lon":2}"#,
      #"{"class":"TPV","device":"/dev/a","mode":3,"lat":48.1,"lon":11.5}"#,
      #"{"class":"TPV","device":"/dev/a","mode":3,"time":"2026-11-21T06:00:03Z","lat":48.1}"#,
      #"{"class":"TPV","device":"/dev/a","mode":2,"time":"soon","lat":48.1,"lon":11.5}"#,
      #"{"class":"TPV","device":"/dev/a","mode":4,"time":"2026-11-21T06:00:03Z","lat":1,"lon":2}"#,
      #"{"class":"TPV","device":"/dev/a","mode":3,"time":"2026-11-21T06:00:03Z","lat":91,"lon":2}"#,
      #"{"class":"TPV","device":"/dev/a","mode":"3","time":"2026-11-21T06:00:03Z","lat":1,"lon":2}"#,
      #"{"class":"TPV","device":"/dev/a","mode":3,"time":1,"lat":"1","lon":2}"#,
    ])
  func noFix(line: String) {
    expectEqual(events([line]), [.report(device: "/dev/a", nil)])
  }

  @Test("Zero is a valid value, and a member of the wrong type does not invalidate the others")
  func zeros() throws {
    let fix = try #require(position(#","speed":0,"track":0,"altMSL":0,"eph":"bad","epx":null,"epv":[]"#))
    expectEqual(fix.speed, 0)
    expectEqual(fix.heading, 0)
    expectEqual(fix.altitude, 0)
    expectNil(fix.horizontalAccuracy)
    expectNil(fix.verticalAccuracy)
  }

  @Test(
    "Impossible values are omitted",
    arguments: [
      #","speed":-1"#, #","speed":1e5"#, #","track":361"#, #","track":-1"#, #","eph":0"#, #","eph":-5"#,
      #","eph":1e300"#,
      #","epx":-3,"epy":4"#, #","epd":400"#, #","epx":1e300,"epy":1e300"#,
    ])
  func impossible(members: String) throws {
    let fix = try #require(position(members))
    expect(fix.speed == nil && fix.heading == nil && fix.horizontalAccuracy == nil && fix.headingAccuracy == nil)
  }

  @Test(
    "Control messages, incomplete reports, reports of unused classes, and unreadable lines are ignored",
    arguments: [
      #"{"class":"WATCH","enable":true,"json":true,"device":"/dev/a","mode":3,"lat":1,"lon":2,"time":"2026-11-21T06:00:03Z"}"#,
      #"{"class":"DEVICE","path":"/dev/a","activated":0,"mode":3,"lat":1,"lon":2,"time":"2026-11-21T06:00:03Z"}"#,
      #"{"class":"ATT","device":"/dev/a","mode":3,"lat":1,"lon":2,"time":"2026-11-21T06:00:03Z"}"#,
      #"{"class":"AIS","lat":1,"lon":2,"mode":3,"time":"2026-11-21T06:00:03Z"}"#,
      #"{"class":"POLL","tpv":[{"class":"TPV","mode":3,"lat":1,"lon":2,"time":"2026-11-21T06:00:03Z"}]}"#,
      #"{"class":"tpv","mode":3,"lat":1,"lon":2,"time":"2026-11-21T06:00:03Z"}"#, #"{"class":"PPS"}"#,
      #"{"class":"SKY"}"#,
      #"{"mode":3,"lat":1,"lon":2,"time":"2026-11-21T06:00:03Z"}"#, #"{"class":3}"#, "[]", "null", "{", "$GPRMC,1*00",
      "HTTP/1.1 400 Bad Request", #"{"class":"VERSION"}"#,
    ])
  func control(line: String) {
    expect(events([line]).isEmpty)
  }

  @Test("An error of gpsd is reported with its message")
  func refusal() {
    expectEqual(events([#"{"class":"ERROR","message":"Unrecognized request"}"#]), [.refused("Unrecognized request")])
  }

  @Test("Any split of the stream gives the same result")
  func splits() {
    let bytes =
      Array(
        (GPSDTranscript.greeting + [GPSDDecoderTests.sky, GPSDDecoderTests.position]).joined(separator: "\r\n").utf8)
      + [13, 10]
    let whole = events(GPSDTranscript.greeting + [GPSDDecoderTests.sky, GPSDDecoderTests.position])
    for size in [1, 2, 7, 64, 333, bytes.count] {
      var decoder = GPSDDecoder(device: nil, silenceTimeout: .seconds(10))
      var all: [GPSDDecoder.Event] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        decoder.decode(Array(bytes[start..<min(start + size, bytes.count)]), at: .boot) { all.append($0) }
      }
      expectEqual(all, whole)
    }
  }

  @Test("A line that is too long is skipped, and the next line is read")
  func overlong() {
    var decoder = GPSDDecoder(device: nil, silenceTimeout: .seconds(10))
    var all: [GPSDDecoder.Event] = []
    for _ in 0..<100 { decoder.decode([UInt8](repeating: 0x5B, count: 1000), at: .boot) { all.append($0) } }
    decoder.decode(Array(("\n" + GPSDDecoderTests.position + "\n").utf8), at: .boot) { all.append($0) }
    expectEqual(all.fixes.count, 1)
    expectEqual(decoder.counters.overlong, 1)
  }

  @Test("Deeply nested JSON is ignored, and does not crash the decoder")
  func deep() {
    let line = #"{"class":"DEVICES","devices":"# + String(repeating: "[", count: 20_000)
    expect(events([line]).isEmpty)
  }

  @Test("If a device is specified, only its reports are used")
  func named() {
    let lines = [GPSDTranscript.tpv("/dev/b", 1), GPSDTranscript.tpv("/dev/a", 2), GPSDTranscript.tpv(nil, 3)]
    expectEqual(events(lines, device: "/dev/a").fixes.map(\.coordinate.latitude), [2])
  }

  @Test("The first receiver with a fix stays selected until it has no fix for the silence timeout; two are never mixed")
  func choice() {
    var decoder = GPSDDecoder(device: nil, silenceTimeout: .seconds(10))
    func latitudes(_ second: Int, _ lines: String...) -> [Double] {
      decoder.events(lines, at: .boot + .seconds(second)).fixes.map(\.coordinate.latitude)
    }
    expectEqual(
      latitudes(
        0, #"{"class":"TPV","device":"/dev/b","mode":1}"#, GPSDTranscript.tpv("/dev/a", 1),
        GPSDTranscript.tpv("/dev/b", 2)),
      [
        1
      ])
    expectEqual(latitudes(5, GPSDTranscript.tpv("/dev/b", 2), GPSDTranscript.tpv("/dev/a", 1)), [1])
    // A receiver without a fix is considered silent, even if it sends reports.
    expectEqual(latitudes(14, #"{"class":"TPV","device":"/dev/a","mode":1}"#, GPSDTranscript.tpv("/dev/b", 2)), [])
    expectEqual(latitudes(15, GPSDTranscript.tpv("/dev/b", 2)), [2])
    expectEqual(latitudes(16, GPSDTranscript.tpv("/dev/a", 1), GPSDTranscript.tpv("/dev/b", 2)), [2])
    // A new connection does not change the selected receiver.
    decoder.restart()
    expectEqual(latitudes(17, GPSDTranscript.tpv("/dev/a", 1), GPSDTranscript.tpv("/dev/b", 2)), [2])
  }

  @Test("Satellite count and HDOP of a fix come from the same receiver, and only while they are recent")
  func skyOfSameReceiver() {
    var decoder = GPSDDecoder(device: nil, silenceTimeout: .seconds(60))
    _ = decoder.events([GPSDDecoderTests.sky, #"{"class":"SKY","device":"/dev/b","hdop":5,"uSat":9}"#])
    expectEqual(decoder.events([GPSDTranscript.tpv("/dev/a", 1)]).fixes.first?.satellites, 2)
    // A SKY report with only HDOP does not change the satellite count.
    _ = decoder.events([#"{"class":"SKY","device":"/dev/a","hdop":2}"#], at: .boot + .seconds(5))
    let later = decoder.events([GPSDTranscript.tpv("/dev/a", 1)], at: .boot + .seconds(6)).fixes.first
    expectEqual(later?.hdop, 2)
    expectEqual(later?.satellites, 2)
    expectNil(decoder.events([GPSDTranscript.tpv("/dev/a", 1)], at: .boot + .seconds(30)).fixes.first?.satellites)
  }
}

extension GPSDDecoder {
  mutating func events(_ lines: [String], at now: BootInstant = .boot) -> [Event] {
    var all: [Event] = []
    decode(Array((lines.joined(separator: "\r\n") + "\r\n").utf8), at: now) { all.append($0) }
    return all
  }
}

extension [GPSDDecoder.Event] {
  var fixes: [Fix] {
    compactMap { event in
      if case .report(_, let fix) = event { return fix }
      return nil
    }
  }
}
