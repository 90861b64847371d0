// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import Expectations
import Testing

@testable import ControlTool

struct DoctorScreenTests {
  private static let finding = Finding.fail(
    .noSentences, "/dev/ttyUSB0 sends bytes but no complete NMEA sentence",
    "Set source.baud = \"auto\", or the receiver's speed")
  private static let summary = Doctor.Part.summary(
    "3 passed, 0 warnings, 1 failed", cause: "/dev/ttyUSB0 sends bytes but no complete NMEA sentence")

  @Test("in a file, each sentence is one line, and the last line names the cause")
  func file() {
    let screen = DoctorScreen(width: nil, capabilities: .plain)
    expectEqual(screen.text(of: .title("Source", .source)), "Source\n")
    expectEqual(
      screen.text(of: .finding(Self.finding)),
      """
        fail  /dev/ttyUSB0 sends bytes but no complete NMEA sentence
              Set source.baud = "auto", or the receiver's speed

      """)
    expectEqual(screen.text(of: .finding(.pass("it is there"))), "  pass  it is there\n")
    expectEqual(
      screen.text(of: Self.summary),
      "3 passed, 0 warnings, 1 failed\nCause: /dev/ttyUSB0 sends bytes but no complete NMEA sentence\n")
    expect(screen.text(of: .summary("3 passed, 0 warnings, 0 failed", cause: nil)).hasSuffix(" 0 failed\n"))
  }

  @Test(
    "on a terminal, lines break between words, and continuation lines are indented", arguments: [24, 40, 80])
  func terminal(width: Int) {
    let screen = DoctorScreen(width: width, capabilities: .plain)
    let text = screen.text(of: .finding(Self.finding)) + screen.text(of: Self.summary)
    let lines = text.split(separator: "\n")
    expect(lines.allSatisfy { $0.count <= width })
    expectEqual(
      lines.joined(separator: " ").split(separator: " "),
      (DoctorScreen(width: nil, capabilities: .plain).text(of: .finding(Self.finding))
        + DoctorScreen(width: nil, capabilities: .plain).text(of: Self.summary))
        .split { " \n".contains($0) })
    expectEqual(lines.dropFirst().first?.hasPrefix("        "), true)
    expect(DoctorScreen(width: 2, capabilities: .plain).text(of: .finding(Self.finding)).contains("NMEA sentence"))
  }

  @Test("colours mark the severity if the terminal has colours")
  func colours() {
    let screen = DoctorScreen(width: 120, capabilities: StatusScreenTests.full)
    expect(screen.text(of: .finding(Self.finding)).hasPrefix("  \u{1b}[1;31mfail\u{1b}[0m  /dev"))
  }
}
