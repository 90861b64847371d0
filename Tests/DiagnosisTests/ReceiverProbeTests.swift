// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import Testing
import Timekeeping

@testable import Diagnosis

struct ReceiverProbeTests {
  /// The wall-clock time 100 s after boot.
  private static let start = Timestamp(rfc3339: "2026-11-21T08:30:00Z") ?? Timestamp(milliseconds: 0)
  private static let buildDate = Timestamp(rfc3339: "2026-11-01T00:00:00Z") ?? Timestamp(milliseconds: 0)

  private static func moment(_ seconds: Int, clockOffset: Duration = .zero) -> Moment {
    Moment(boot: .boot + .seconds(100 + seconds), wall: start + .seconds(seconds) + clockOffset)
  }

  private static func sentence(_ content: String) -> String {
    let sum = String(content.utf8.reduce(0, ^), radix: 16, uppercase: true)
    return "$\(content)*\(sum.count < 2 ? "0" : "")\(sum)\r\n"
  }

  /// RMC, GGA and GSV of this second; without a valid fix, RMC and GSV.
  private static func epoch(_ second: Int, date: String = "211126", isValid: Bool = true) -> String {
    let time = "08300\(second).00"
    let place = "4807.0380,N,01131.0000,E"
    return isValid
      ? sentence("GNRMC,\(time),A,\(place),022.4,084.4,\(date),,,A")
        + sentence("GNGGA,\(time),\(place),1,09,0.9,545.4,M,46.9,M,,") + sentence("GPGSV,1,1,00")
      : sentence("GNRMC,\(time),V,,,,,,,\(date),,,N") + sentence("GPGSV,1,1,00")
  }

  /// Probes a receiver, which sends `text` in each second, until the probe is done.
  private static func probe(
    baud: Int? = 9600, clockOffset: Duration = .zero, _ text: (Int) -> [UInt8]
  ) -> ReceiverProbe {
    var probe = ReceiverProbe(baud: baud, isTerminal: true, at: moment(0).boot)
    for second in 0..<60 where !probe.isDone {
      let bytes = text(second)
      if !bytes.isEmpty { probe.receive(bytes.span, at: moment(second, clockOffset: clockOffset)) }
      _ = probe.advance(at: moment(second, clockOffset: clockOffset))
    }
    return probe
  }

  private static func findings(
    clockOffset: Duration = .zero, _ text: (Int) -> String
  ) -> [Finding] {
    probe(clockOffset: clockOffset) { Array(text($0).utf8) }.findings(buildDate: buildDate)
  }

  @Test("a working receiver is reported with sentences, checksums, talkers, fix and clock")
  func good() {
    expectEqual(
      Self.findings { Self.epoch($0) },
      [
        .pass("18 sentences in 5 s at 9600 baud: GGA GSV RMC of GN (several systems), GP (GPS)"),
        .pass("their checksums are correct"),
        .pass("a fix: 3D, gnss, 9 satellites, HDOP 0.9, ±5 m"),
        .pass("this machine's clock and GNSS time are 0.0 s apart"),
      ])
  }

  @Test("no finding contains coordinates")
  func secrecy() {
    let text = Self.findings { Self.epoch($0) }.map(\.message).joined()
    expect(!text.contains("48.1") && !text.contains("11.5") && !text.contains("4807") && !text.contains("545"))
  }

  @Test("a clock error is reported relative to GNSS time")
  func clock() {
    let behind = Self.findings(clockOffset: .seconds(-86_400 * 365)) { Self.epoch($0) }.last
    expectEqual(behind?.severity, .warn)
    expectEqual(behind?.sentence, "this machine's clock is 365 days behind GNSS time")
    let ahead = Self.findings(clockOffset: .seconds(90)) { Self.epoch($0) }.last
    expectEqual(ahead?.sentence, "this machine's clock is 90 s ahead of GNSS time")
  }

  @Test("a GPS week number rollover is reported, and the clock is compared with the corrected date")
  func rollover() {
    // 1024 weeks before the 21st of November 2026.
    let findings = Self.findings { Self.epoch($0, date: "070407") }
    expectEqual(findings.map(\.severity), [.pass, .pass, .pass, .warn, .pass])
    expect(findings[3].sentence.contains("2007-04-07"))
    expectEqual(findings[3].advice?.contains("2026-11-21"), true)
  }

  @Test("a missing fix, missing position sentences and wrong checksums have different findings")
  func faults() {
    let noFix = Self.findings { Self.epoch($0, isValid: false) }
    expectEqual(noFix.map(\.severity), [.pass, .pass, .warn])
    let noPosition = Self.findings { _ in Self.sentence("GPGSV,1,1,00") }
    expectEqual(noPosition.first?.severity, .fail)
    expectEqual(noPosition.first?.advice?.contains("RMC"), true)
    let disturbed = Self.findings { Self.epoch($0) + "$GPGLL,4807.038,N,01131.000,E,083000,A*00\r\n" }
    expectEqual(disturbed.map(\.severity), [.pass, .warn, .pass, .pass])
    expectEqual(disturbed[1].sentence, "25 % of lines have wrong checksums: cable or baud rate")
  }

  @Test("over a network, which has checksums of its own, wrong checksums are caused at the sender")
  func networkChecksums() {
    var probe = ReceiverProbe(baud: nil, isTerminal: false, at: Self.moment(0).boot)
    for second in 0..<8 {
      let text = Self.epoch(second) + "$GPGLL,4807.038,N,01131.000,E,083000,A*00\r\n"
      probe.receive(Array(text.utf8).span, at: Self.moment(second))
    }
    let finding = probe.findings(buildDate: Self.buildDate).first { $0.code == .wrongChecksums }
    expectEqual(finding?.sentence, "25 % of lines have wrong checksums: the sender's receiver or its cable")
    expectEqual(
      finding?.advice, "At the sender there is interference on the line to the receiver, or the baud rate is wrong")
  }

  @Test("silence is reported after six seconds, and is distinguished from noise and from a binary protocol")
  func nothing() {
    let silent = Self.findings { _ in "" }
    expectEqual(silent.map(\.severity), [.fail])
    expectEqual(silent[0].sentence, "it is open, but no byte was received in 6 s")
    let noise = Self.probe { _ in [0x8A, 0x11, 0xFF, 0x24, 0x03] }.findings(buildDate: Self.buildDate)
    expectEqual(noise.map(\.sentence), ["35 bytes were received in 6 s, but no sentence at 9600 baud"])
    expectEqual(noise[0].advice?.contains("\"auto\""), true)
    let binary = Self.probe { _ in [0xB5, 0x62, 0x01, 0x07, 0, 0, 0x08, 0x19] }.findings(buildDate: Self.buildDate)
    expect(binary[0].sentence.contains("u-blox"))
  }

  @Test(
    "another protocol is distinguished from a wrong baud rate, and has its own advice",
    arguments: [
      ([0xA0, 0xA2, 0, 1, 6, 0, 6, 0xB0, 0xB3], "SiRF", "gpsd"),
      ([0x10, 0x8F, 0xAB, 1, 2, 0x10, 0x03], "Trimble", "gpsd"),
      ([0xD3, 0, 2, 0x3E, 0xD0, 1, 2, 3], "RTCM", "another port"),
      (Array(">RPV15714+3739438-1220384601512612;ID=1234;*7F<".utf8), "TAIP", "in place of TAIP"),
      (Array("\r\nOK\r\n\r\n+CREG: 1\r\n".utf8), "AT commands", "modemmanager"),
    ] as [([UInt8], String, String)])
  func otherProtocols(bytes: [UInt8], name: String, advice: String) {
    let findings = Self.probe { _ in bytes }.findings(buildDate: Self.buildDate)
    expectEqual(findings.map(\.severity), [.fail])
    expect(findings[0].sentence.contains(name))
    expectEqual(findings[0].advice?.contains(advice), true)
  }

  @Test("a port that udev lists as a modem's command port is reported as such, unless it sends NMEA")
  func commandPort() {
    for bytes in [[], [0x8A, 0x11]] as [[UInt8]] {
      let findings = Self.probe(baud: nil) { _ in bytes }.findings(buildDate: Self.buildDate, isCommandPort: true)
      expectEqual(findings.map(\.severity), [.fail])
      expect(findings[0].sentence.contains("a modem's port for AT commands"))
      expectEqual(findings[0].advice?.contains("NMEA port"), true)
    }
    let nmea = Self.probe { Array(Self.epoch($0).utf8) }.findings(buildDate: Self.buildDate, isCommandPort: true)
    expect(nmea.allSatisfy { $0.severity == .pass })
  }

  @Test("a modem's response at one of the tried baud rates is enough to recognize the modem")
  func answerWhileProbing() {
    let findings = Self.probe(baud: nil) { $0 == 2 ? Array("\r\nOK\r\n".utf8) : [0x8A, 0xFF] }
      .findings(buildDate: Self.buildDate)
    expectEqual(findings.map(\.sentence), ["it sends a modem's answers to AT commands instead of NMEA 0183"])
  }

  @Test("if no satellite is in view, the advice is to check the antenna and its cable")
  func noSatellite() {
    let none = Self.findings { Self.epoch($0, isValid: false) }.last
    expectEqual(none?.advice?.hasPrefix("Check the antenna, its plug and its cable"), true)
    let some = Self.findings { second in
      Self.sentence("GNRMC,08300\(second).00,V,,,,,,,211126,,,N") + Self.sentence("GPGSV,1,1,01,05,40,120,30")
    }.last
    expectEqual(some?.advice?.hasPrefix("The antenna needs a view of the sky"), true)
  }

  @Test("if no baud rate is given, rates are tried in turn, and the first with valid checksums is reported")
  func probing() {
    var probe = ReceiverProbe(baud: nil, isTerminal: true, at: Self.moment(0).boot)
    var rates = [probe.baud]
    for second in 0..<60 where !probe.isDone {
      let text = probe.baud == 38_400 ? Array(Self.epoch(second % 10).utf8) : [0x80, 0x24, 0x91]
      probe.receive(text.span, at: Self.moment(second))
      if let next = probe.advance(at: Self.moment(second)) { rates.append(next) }
    }
    expectEqual(rates, [9600, 4800, 38_400])
    expect(probe.findings(buildDate: Self.buildDate)[0].sentence.contains("at 38400 baud, detected"))
  }

  @Test("baud rate detection ends if no rate gives a valid sentence")
  func search() {
    let probe = Self.probe(baud: nil) { _ in [0x80] }
    expect(probe.isDone)
    expect(probe.findings(buildDate: Self.buildDate)[0].sentence.hasSuffix("but no sentence at any baud rate"))
  }

  @Test("an unsupported baud rate is skipped; if none is supported, each is tried once")
  func refused() {
    var probe = ReceiverProbe(baud: nil, isTerminal: true, at: Self.moment(0).boot)
    var tried = [9600]
    while let next = probe.refused() { tried.append(next) }
    expectEqual(tried, BaudProbe.rates)
  }
}
