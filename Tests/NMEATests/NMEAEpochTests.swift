// SPDX-License-Identifier: Apache-2.0
import Expectations
import NMEA
import NMEATesting
import Positioning
import Testing
import Timekeeping

struct NMEAEpochTests {
  private static let position = "5230.000,N,01324.000,E"

  private static func rmc(_ time: String, _ date: String) -> String {
    "GPRMC,\(time),A,\(position),10.0,045.5,\(date),,,A"
  }

  private static func gga(_ time: String, altitude: String = "34.5") -> String {
    "GPGGA,\(time),\(position),1,08,0.9,\(altitude),M,40.5,M,,"
  }

  private func times(_ text: String) -> [String?] {
    fixes(text).map { $0.timestamp?.rfc3339 }
  }

  @Test("Sentences with the same time form one fix, in any order")
  func oneFix() {
    let bodies = [Self.rmc("083000", "211126"), Self.gga("083000"), "GPGLL,\(Self.position),083000,A"]
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      let found = fixes(order.map { sentence(bodies[$0]) }.joined())
      expectEqual(found.count, 1)
      expectEqual(found.first?.altitude, 34.5)
      expectEqual(found.first?.timestamp?.rfc3339, "2026-11-21T08:30:00.000Z")
    }
  }

  @Test("Times before and after midnight get the right date")
  func midnight() {
    let text = recording(
      Self.rmc("235959", "211126"), Self.gga("235959.5"), Self.gga("000000"), Self.gga("000000.5"),
      Self.rmc("000001", "221126"))
    expectEqual(
      times(text),
      [
        "2026-11-21T23:59:59.000Z", "2026-11-21T23:59:59.500Z", "2026-11-22T00:00:00.000Z", "2026-11-22T00:00:00.500Z",
        "2026-11-22T00:00:01.000Z",
      ])
  }

  @Test("Without RMC the date comes from ZDA, even if ZDA belongs to the next second")
  func zda() {
    let text = recording(
      Self.gga("235959"), "GPZDA,000000.00,22,11,2026,00,00", Self.gga("000000"), "GPZDA,000001.00,22,11,2026,00,00")
    expectEqual(times(text), ["2026-11-21T23:59:59.000Z", "2026-11-22T00:00:00.000Z"])
  }

  @Test(
    "A two-digit year in ZDA is completed with its century",
    arguments: [("26", "2026"), ("99", "1999"), ("2026", "2026")])
  func shortYear(year: String, full: String) {
    let text = recording("GPZDA,120000.00,22,11,\(year),00,00", Self.gga("120001"))
    expectEqual(times(text), ["\(full)-11-22T12:00:01.000Z"])
  }

  @Test(
    "If GGA is less frequent than RMC, its altitude applies to the fixes of the next five seconds, but no longer")
  func heldAltitude() {
    let gsa = "GPGSA,A,3,05,12,30,,,,,,,,,,2.0,1.5,1.3"
    var text = recording(Self.gga("120000"), Self.rmc("120000", "221126"), gsa)
    for second in 1...7 { text += recording(Self.rmc("12000\(second)", "221126"), gsa) }
    text += recording(Self.rmc("120008", "221126"), "GPGSA,A,2,05,12,30,,,,,,,,,,2.0,1.5,1.3")
    let found = fixes(text)
    expectEqual(found.map(\.altitude), [34.5, 34.5, 34.5, 34.5, 34.5, 34.5, nil, nil, nil])
    expectEqual(found.map(\.altitudeHAE), [75, 75, 75, 75, 75, 75, nil, nil, nil])
    expectEqual(found.map(\.verticalAccuracy), [6.5, 6.5, 6.5, 6.5, 6.5, 6.5, nil, nil, nil])
    // A two-dimensional fix has no altitude.
    let flat = fixes(
      recording(Self.gga("120000"), gsa, Self.rmc("120001", "221126"), "GPGSA,A,2,05,12,30,,,,,,,,,,2.0,1.5,1.3"))
    expectEqual(flat.map(\.altitude), [34.5, nil])
  }

  @Test("At midnight the date advances from the time of day alone, without a new RMC date")
  func dateless() {
    var text = sentence(Self.rmc("120000", "311226"))
    for hour in stride(from: 18, through: 60, by: 6) {
      text += sentence(Self.gga("\(hour % 24 < 10 ? "0" : "")\(hour % 24)0000"))
    }
    expectEqual(times(text).last, "2027-01-02T12:00:00.000Z")
  }

  @Test("After a long silence the date is advanced by the elapsed time")
  func elapsed() {
    var decoder = NMEADecoder()
    var found: [Fix] = []
    decoder.decode(Array(sentence(Self.rmc("120000", "211126")).utf8), at: .boot) { found.append($0) }
    let later = BootInstant.boot + .seconds(3 * 86_400 + 3600)
    decoder.decode(Array(sentence(Self.gga("130000")).utf8), at: later) { found.append($0) }
    decoder.finish { found.append($0) }
    expectEqual(found.map { $0.timestamp?.rfc3339 }, ["2026-11-21T12:00:00.000Z", "2026-11-24T13:00:00.000Z"])
  }

  @Test("Positions without a time give fixes without a time, one per cycle of sentences")
  func timeless() {
    let text = recording(Self.gga(""), "GPVTG,1.0,T,,M,1.0,N,1.0,K,A", Self.gga(""), Self.gga(""))
    expectEqual(fixes(text).map(\.time), [nil, nil, nil])
    expectEqual(fixes(text).map(\.heading), [1, nil, nil])
  }

  @Test("A position without a time does not get the time of the next epoch, even if that epoch follows at once")
  func timelessBeforeTimed() {
    let timeless = ["GPRMC,,A,4808.80,N,01133.02,E,27.5,305.4,,,,A", Self.gga("")]
    let void = ["GPRMC,120002,V,,,,,,,211126,,,N", "GPGGA,120002,,,,,0,00,99.9,,,,,,"]
    expectEqual(fixes((timeless + void).map(sentence).joined()).map(\.time), [nil])
    let timed = [Self.rmc("120002", "211126"), Self.gga("120002")]
    expectEqual(
      fixes((timeless + timed).map(sentence).joined()).map { $0.timestamp?.rfc3339 }, [nil, "2026-11-21T12:00:02.000Z"])
  }

  @Test("A new date does not apply to the previous epoch")
  func newDate() {
    let text = recording(Self.rmc("120000", "220880"), Self.rmc("130000", "211126"))
    expectEqual(times(text), ["1980-08-22T12:00:00.000Z", "2026-11-21T13:00:00.000Z"])
  }

  @Test("The date of a void RMC is not used, because it may be the receiver's guess")
  func voidDate() {
    let text = recording("GPRMC,120000,V,,,,,,,220880,,,N", Self.gga("120001"))
    expectEqual(fixes(text).map(\.time), [.ofDay(milliseconds: 43_201_000)])
  }

  @Test("A leap second is read as the next second, as in POSIX time")
  func leapSecond() {
    let text = recording(Self.rmc("235959", "311216"), Self.rmc("235960", "311216"), Self.gga("235960.5"))
    expectEqual(times(text), ["2016-12-31T23:59:59.000Z", "2017-01-01T00:00:00.000Z", "2017-01-01T00:00:00.500Z"])
  }

  @Test("Two-digit years from 80 on are in the 20th century, and no week rollover is corrected")
  func centuries() {
    expectEqual(times(sentence(Self.rmc("120000", "060499"))), ["1999-04-06T12:00:00.000Z"])
    expectEqual(times(sentence(Self.rmc("120000", "060479"))), ["2079-04-06T12:00:00.000Z"])
    expectEqual(times(sentence(Self.rmc("120000", "060480"))), ["1980-04-06T12:00:00.000Z"])
  }

  @Test("An impossible date leaves the date unknown", arguments: ["000000", "310226", "", "321326", "xx"])
  func impossibleDate(date: String) {
    expectEqual(fixes(sentence(Self.rmc("120000", date))).first?.time, .ofDay(milliseconds: 43_200_000))
  }

  @Test("GSA's mode applies for ten seconds to epochs without a GSA")
  func modeHolds() {
    let text = recording(
      Self.rmc("120000", "211126"), "GPGSA,A,3,05,12,30,31,,,,,,,,,2.0,1.5,1.3", Self.rmc("120010", "211126"),
      Self.rmc("120011", "211126"))
    expectEqual(fixes(text).map(\.mode), [.threeD, .threeD, .twoD])
  }

  @Test("Once a receiver's sequence is known, a fix is available with the last sentence of its epoch")
  func learnt() {
    var decoder = NMEADecoder()
    var counts: [Int] = []
    for second in 0..<8 {
      for body in [Self.rmc("12000\(second)", "211126"), Self.gga("12000\(second)"), "GPVTG,1.0,T,,M,1.0,N,1.0,K,A"] {
        var count = 0
        decoder.decode(Array(sentence(body).utf8), at: .boot) { _ in count += 1 }
        counts.append(count)
      }
    }
    expectEqual(Array(counts.suffix(9)), [0, 0, 1, 0, 0, 1, 0, 0, 1])
    expectEqual(counts.reduce(0, +), 8)
  }

  @Test("A late sentence gives no second fix, and later epochs are complete only with a sentence of its type")
  func relearns() {
    var text = ""
    for second in 0..<6 { text += recording(Self.rmc("12000\(second)", "211126")) }
    for second in 6..<9 { text += recording(Self.rmc("12000\(second)", "211126"), Self.gga("12000\(second)")) }
    let found = decode([Array(text.utf8)])
    expectEqual(found.fixes.count, 9)
    expectEqual(found.fixes.map { $0.altitude != nil }, Array(repeating: false, count: 7) + [true, true])
    expectEqual(found.counters.late, 1)
  }

  @Test(
    "A complete epoch is decoded with all its sentences, even after epochs with a damaged sentence",
    arguments: ["GPGGA,1200,1*00\r\n", "GPGGA,12\u{7}00*6A\r\n", String(repeating: "A", count: 520) + "\r\n"])
  func disturbed(damaged: String) {
    var text = ""
    for second in 0..<6 { text += sentence(Self.rmc("12000\(second)", "211126")) + "$" + damaged }
    for second in 6..<9 { text += recording(Self.rmc("12000\(second)", "211126"), Self.gga("12000\(second)")) }
    let found = decode([Array(text.utf8)])
    expectEqual(found.fixes.map { $0.altitude != nil }, Array(repeating: false, count: 6) + [true, true, true])
    expectEqual(found.counters.late, 0)
  }

  @Test("A line without a checksum is not treated as damage: fixes are available with the last sentence of an epoch")
  func unchecked() {
    var decoder = NMEADecoder()
    var fixes = 0
    for second in 0..<6 {
      let text = sentence(Self.rmc("12000\(second)", "211126")) + "$TEXT,1\r\n" + sentence(Self.gga("12000\(second)"))
      decoder.decode(Array(text.utf8), at: .boot) { _ in fixes += 1 }
    }
    expectEqual(fixes, 6)
    expectEqual(decoder.counters.unchecked, 6)
  }

  @Test("Silence ends an epoch 80 ms after its last sentence")
  func silence() {
    var decoder = NMEADecoder()
    var found: [Fix] = []
    let start = BootInstant.boot + .seconds(10)
    expectNil(decoder.deadline)
    decoder.decode(Array(sentence(Self.rmc("120000", "211126")).utf8), at: start) { found.append($0) }
    decoder.decode(Array(sentence(Self.gga("120000")).utf8), at: start + .milliseconds(50)) { found.append($0) }
    expectEqual(decoder.deadline, start + .milliseconds(130))
    decoder.expire(at: start + .milliseconds(129)) { found.append($0) }
    expect(found.isEmpty)
    decoder.expire(at: start + .milliseconds(130)) { found.append($0) }
    expectEqual(found.count, 1)
    expectNil(decoder.deadline)
  }

  @Test("Sentences without a time that arrive after a silence belong to the epoch that follows")
  func leading() {
    var decoder = NMEADecoder()
    var found: [Fix] = []
    for second in 0..<8 {
      let now = BootInstant.boot + .seconds(second)
      let text = recording("GPVTG,\(second).0,T,,M,1.0,N,1.0,K,A", Self.gga("12000\(second)"))
      decoder.decode(Array(text.utf8), at: now) { found.append($0) }
      if let deadline = decoder.deadline { decoder.expire(at: deadline) { found.append($0) } }
    }
    expectEqual(found.map(\.heading), (0..<8).map { Double($0) })
    expectEqual(decoder.counters.late, 0)
  }

  @Test("A receiver that pauses within its epochs gets a longer timeout")
  func holdOff() {
    var decoder = NMEADecoder()
    var found: [Fix] = []
    for second in 0..<6 {
      var now = BootInstant.boot + .seconds(second)
      for body in [Self.rmc("12000\(second)", "211126"), Self.gga("12000\(second)")] {
        if let deadline = decoder.deadline, deadline <= now { decoder.expire(at: deadline) { found.append($0) } }
        decoder.decode(Array(sentence(body).utf8), at: now) { found.append($0) }
        now = now + .milliseconds(200)
      }
    }
    decoder.finish { found.append($0) }
    expectEqual(found.count, 6)
    expectEqual(found.map { $0.altitude != nil }, [false, false, true, true, true, true])
  }
}
