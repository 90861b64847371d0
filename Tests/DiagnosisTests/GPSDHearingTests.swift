// SPDX-License-Identifier: Apache-2.0
import Positioning
import Testing
import Timekeeping

@testable import Diagnosis

@Suite struct GPSDHearingTests {
  private static let now = Moment(
    boot: .boot + .seconds(100), wall: Timestamp(rfc3339: "2026-11-21T08:30:00.4Z") ?? Timestamp(milliseconds: 0))
  private static let version =
    #"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"# + "\n"
  private static let devices =
    #"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/ttyUSB0","driver":"u-blox"}]}"# + "\n"
  private static let fix =
    #"{"class":"TPV","device":"/dev/ttyUSB0","mode":3,"time":"2026-11-21T08:30:00.000Z","lat":48.1,"lon":11.5}"# + "\n"

  private static func findings(_ text: String, device: String? = nil) -> (findings: [Finding], isDone: Bool) {
    var hearing = GPSDHearing(address: "localhost:2947", device: device)
    hearing.receive(Array(text.utf8).span, at: now)
    return (hearing.findings(waited: .seconds(12), buildDate: Timestamp(milliseconds: 0)), hearing.isDone)
  }

  @Test("a good gpsd: version, receivers, fix and time")
  func good() {
    let (findings, isDone) = Self.findings(Self.version + Self.devices + Self.fix)
    #expect(isDone)
    #expect(
      findings == [
        .pass("gpsd 3.22, protocol 3.14"), .pass("it has /dev/ttyUSB0 (u-blox)"),
        .pass("a fix of /dev/ttyUSB0: 3D, gnss"), .pass("this machine's clock and GNSS time are 0.4 s apart"),
      ])
  }

  @Test("each lack is named, and what it takes")
  func lacks() {
    let none = #"{"class":"DEVICES","devices":[]}"# + "\n"
    let noFix = #"{"class":"TPV","device":"/dev/ttyUSB0","mode":1}"# + "\n"
    #expect(Self.findings("SSH-2.0-OpenSSH\r\n").findings.map(\.verdict) == [.fail])
    #expect(Self.findings(Self.version + none).findings.last?.sentence == "it has no receiver")
    #expect(
      Self.findings(Self.version + Self.devices, device: "/dev/ttyS0").findings.last?.sentence
        == "it has /dev/ttyUSB0 (u-blox), and not /dev/ttyS0")
    #expect(
      Self.findings(Self.version + Self.devices).findings.last?.sentence == "no receiver has reported in 12 s")
    #expect(Self.findings(Self.version + Self.devices + noFix).findings.last?.verdict == .warn)
    let old = #"{"class":"VERSION","release":"4.0","proto_major":4,"proto_minor":0}"# + "\n"
    #expect(Self.findings(old).findings.last?.verdict == .fail)
    let refused = Self.findings(Self.version + #"{"class":"ERROR","message":"No such device"}"# + "\n")
    #expect(refused.isDone)
    #expect(refused.findings.last?.sentence == "it refuses: No such device")
  }
}
