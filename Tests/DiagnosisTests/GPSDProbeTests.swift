// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import Testing
import Timekeeping

@testable import Diagnosis

struct GPSDProbeTests {
  private static let now = Moment(
    boot: .boot + .seconds(100), wall: Timestamp(rfc3339: "2026-11-21T08:30:00.4Z") ?? Timestamp(milliseconds: 0))
  private static let version =
    #"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"# + "\n"
  private static let devices =
    #"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/ttyUSB0","driver":"u-blox"}]}"# + "\n"
  private static let fix =
    #"{"class":"TPV","device":"/dev/ttyUSB0","mode":3,"time":"2026-11-21T08:30:00.000Z","lat":48.1,"lon":11.5}"# + "\n"

  private static func findings(_ text: String, device: String? = nil) -> (findings: [Finding], isDone: Bool) {
    var probe = GPSDProbe(address: "localhost:2947", device: device)
    probe.receive(Array(text.utf8).span, at: now)
    return (probe.findings(timeLimit: .seconds(12), buildDate: Timestamp(milliseconds: 0)), probe.isDone)
  }

  @Test("a working gpsd is reported with version, receivers, fix and time")
  func good() {
    let (findings, isDone) = Self.findings(Self.version + Self.devices + Self.fix)
    expect(isDone)
    expectEqual(
      findings,
      [
        .pass("gpsd 3.22, protocol 3.14"), .pass("gpsd has /dev/ttyUSB0 (u-blox)"),
        .pass("a fix of /dev/ttyUSB0: 3D, gnss"), .pass("this machine's clock and GNSS time are 0.4 s apart"),
      ])
  }

  @Test("each problem with gpsd has its own finding")
  func lacks() {
    let none = #"{"class":"DEVICES","devices":[]}"# + "\n"
    let noFix = #"{"class":"TPV","device":"/dev/ttyUSB0","mode":1}"# + "\n"
    expectEqual(Self.findings("SSH-2.0-OpenSSH\r\n").findings.map(\.severity), [.fail])
    expectEqual(Self.findings(Self.version + none).findings.last?.sentence, "gpsd has no receiver")
    expectEqual(
      Self.findings(Self.version + Self.devices, device: "/dev/ttyS0").findings.last?.sentence,
      "gpsd has /dev/ttyUSB0 (u-blox), but not /dev/ttyS0")
    expectEqual(
      Self.findings(Self.version + Self.devices).findings.last?.sentence, "no receiver has reported within 12 s")
    expectEqual(Self.findings(Self.version + Self.devices + noFix).findings.last?.severity, .warn)
    let old = #"{"class":"VERSION","release":"4.0","proto_major":4,"proto_minor":0}"# + "\n"
    expectEqual(Self.findings(old).findings.last?.severity, .fail)
    let refused = Self.findings(Self.version + #"{"class":"ERROR","message":"No such device"}"# + "\n")
    expect(refused.isDone)
    expectEqual(refused.findings.last?.sentence, "gpsd reports an error: No such device")
  }
}
