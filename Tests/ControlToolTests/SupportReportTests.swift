// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import ControlTool

struct SupportReportTests {
  private static let token =
    "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJmbGVldEBwcm9qLmlhbSJ9.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJVadQssw5c"
  /// Forms in which an old or careless program may have written a secret.
  private static let disguises: [String] = {
    let half = token.index(token.startIndex, offsetBy: 40)
    return [
      token, token.lowercased(), token.uppercased(), String(token.reversed()),
      "\(token[..<half])/\(token[half...])", token.split(separator: ".").joined(separator: "\", \""),
    ]
  }()

  private func report(_ name: String, _ output: String, positions: Bool = false) throws -> String {
    let parts = SupportReport.parts(unit: "fleet-locationd.service", settings: ["--config", "c"], socket: "s")
    let part = try #require(parts.first { $0.name == name })
    var report = SupportReport(Redaction(names: ["my-project", "WDB9066351S123456"], keepsPositions: positions))
    let empty = SupportReport.SourceResult(output: [], failure: nil)
    report.add(
      part, [.init(output: Array(output.utf8), failure: nil)] + part.sources.dropFirst().map { _ in empty })
    return String(decoding: try #require(report.files.first).content, as: UTF8.self)
  }

  @Test("secrets in the journal are masked, whole or in pieces; the vehicle's IDs and the host's name are not")
  func journal() throws {
    for form in SupportReportTests.disguises {
      let text = try report(
        "journal.txt",
        """
        2026-11-21T08:30:00+0000 box-7f3a2c fleet-locationd[120]: Online: my-project WDB9066351S123456
        2026-11-21T08:30:01+0000 box-7f3a2c get-token[121]: got \(form)
        2026-11-21T08:30:02+0000 box-7f3a2c get-token[121]: Authorization: Bearer hush-hush-4711, password=hunter2
        """)
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      expectEqual(
        lines[0], "2026-11-21T08:30:00+0000 box-7f3a2c fleet-locationd[120]: Online: my-project WDB9066351S123456")
      expectEqual(lines[1], "2026-11-21T08:30:01+0000 box-7f3a2c get-token[121]: got <redacted>")
      expect(!lines[2].contains("hush") && !lines[2].contains("hunter2") && lines[2].contains("<redacted>"))
      expect(lines.count == 4 && lines[3].isEmpty)
    }
  }

  @Test("the vehicle's ID is not masked, even if it is a number; a coordinate that contains it is")
  func numericVehicle() {
    let redaction = Redaction(names: ["my-project", "20261129"], keepsPositions: false)
    for shown in [
      "Started 0.3.0 for vehicle 20261129", "HTTP 404 (https://e.example/delivery_vehicles/20261129:x)",
      "vehicle_id = \"20261129\"", "/etc/fleet-20261129.toml", "20261129.",
    ] {
      expectEqual(redaction.text(shown), shown)
      expectEqual(redaction.maskingPositions(in: shown), shown)
    }
    for masked in ["120261129", "20261129.5678", "48.20261129", "20261128"] {
      expectEqual(redaction.maskingPositions(in: masked), "<position>")
    }
  }

  @Test(
    "coordinates are masked in every format, and nothing else",
    arguments: [
      ("Update accepted: 48.1, 11.5", "Update accepted: <position>, <position>"),
      (
        "Update accepted with 2 past positions: -33.86, 151.2",
        "Update accepted with 2 past positions: <position>, <position>"
      ),
      ("at 48.137154 11.576124", "at <position> <position>"),
      ("$GPRMC,120000,A,4807.038,N,01131.000,E", "$GPRMC,120000,A,<position>,N,<position>,E"),
      ("latitude: 48, \"lon\"=-11", "latitude: <position>, \"lon\"=<position>"),
      ("FLEET_LATITUDE=48.1", "FLEET_LATITUDE=<position>"), ("latitudeE7 481371540", "latitudeE7 <position>"),
      ("{\"latitude\":48.1,\"longitude\":11.5}", "{\"latitude\":<position>,\"longitude\":<position>}"),
      ("from 192.168.0.1:8080, release 0.3.0", "from 192.168.0.1:8080, release 0.3.0"),
      ("2026-11-21T08:30:00.250Z, 2.5 s late", "2026-11-21T08:30:00.250Z, 2.5 s late"),
      ("±2.8 m, 12 satellites, HDOP 0.9, speed 7.5 m/s", "±2.8 m, 12 satellites, HDOP 0.9, speed 7.5 m/s"),
      ("process 4194303, 1234567 bytes.", "process 4194303, 1234567 bytes."),
    ])
  func coordinates(written: String, masked: String) throws {
    let line = "2026-11-21T08:30:00+0000 box fleet-locationd[120]: "
    try expectEqual(report("journal.txt", line + written), "\(line)\(masked)\n")
    try expectEqual(report("journal.txt", line + written, positions: true), "\(line)\(written)\n")
    try expectEqual(report("settings.toml", written), "\(masked)\n")
  }

  @Test("status.json contains no track and no coordinate, unless positions are requested")
  func status() throws {
    let status = #"{"fix":{"horizontalAccuracy":2.8284},"summary":"at 48.1, 11.5","track":{"points":[[0,0]]}}"#
    try expectEqual(
      report("status.json", status),
      "{\"fix\":{\"horizontalAccuracy\":2.8284},\"summary\":\"at <position>, <position>\"}\n")
    try expectEqual(report("status.json", status, positions: true), "\(status)\n")
    // A status that is not JSON may contain a secret.
    try expectEqual(report("status.json", "token=\(SupportReportTests.token)"), "token=<redacted>\n")
  }

  @Test("values of the unit that may be secret are masked, whatever they look like")
  func unit() throws {
    let text = try report(
      "unit.txt",
      """
      # /etc/systemd/system/fleet-locationd.service.d/credential.conf
      [Service]
      LoadCredential=token-provider:/etc/fleet-locationd/token-provider
       Environment = PLAIN=hush LATER=hush \\
        MORE=hush
      Environment=PLAIN=hush \\
      # hush
        ; hush
        MORE=hush
      EnvironmentFile=/etc/default/fleet
      SetCredential=name:hush
      ExecStart=/usr/bin/fleet-locationd --key \(SupportReportTests.token)
      """)
    expectEqual(
      text,
      """
      # /etc/systemd/system/fleet-locationd.service.d/credential.conf
      [Service]
      LoadCredential=token-provider:/etc/fleet-locationd/token-provider
      Environment=<redacted>
      <redacted>
      Environment=<redacted>
      <redacted>
      <redacted>
      <redacted>
      EnvironmentFile=/etc/default/fleet
      SetCredential=<redacted>
      ExecStart=/usr/bin/fleet-locationd --key <redacted>

      """)
  }

  @Test("what could not be collected is listed with its reason, and the archive contains the rest")
  func gaps() throws {
    let parts = SupportReport.parts(unit: nil, settings: ["--instance", "van"], socket: "s")
    expectEqual(parts.map(\.name), ["doctor.json", "status.json", "settings.toml", "versions.txt"])
    expectEqual(parts[0].sources, [.command(["doctor", "--json", "--instance", "van", "--socket", "s"])])
    var report = SupportReport(Redaction(names: [], keepsPositions: false))
    report.add(parts[0], [.init(output: Array("{}".utf8), failure: nil)])
    report.add(parts[1], [.init(output: [], failure: "exit status 69: no daemon, token=\(SupportReportTests.token)")])
    report.finish()
    expectEqual(
      report.listing(isDaemonRunning: false),
      """
      The daemon is not running; the report is made without it.
      Contents, in bytes:
        doctor.json    3  all checks
        report.txt   190  the commands of this report
      Missing:
        status.json: fleet-locationctl status --json --socket s: exit status 69: no daemon, token=<redacted>
      Secrets and coordinates are masked.

      """)
    expectEqual(
      report.files.map { String(decoding: $0.content, as: UTF8.self) },
      [
        "{}\n",
        """
        doctor.json: fleet-locationctl doctor --json --instance van --socket s: 2 bytes
        status.json: fleet-locationctl status --json --socket s: 0 bytes; exit status 69: no daemon, token=<redacted>

        """,
      ])
    expect(report.listing(isDaemonRunning: true).hasPrefix("The daemon is running.\n"))
    expect(report.listing(isDaemonRunning: nil).hasPrefix("No installed service reads these settings"))
  }

  @Test("settings that no installed service reads: no other daemon's state is in the report")
  func noService() {
    let parts = SupportReport.parts(unit: nil, settings: ["--config", "trial.toml"], socket: nil)
    expectEqual(parts.map(\.name), ["doctor.json", "settings.toml", "versions.txt"])
    expectEqual(parts[0].sources, [.command(["doctor", "--json", "--config", "trial.toml"])])
  }

  @Test("the journal is read in every namespace, and is listed as missing if it has no entries")
  func namespaces() {
    let parts = SupportReport.parts(unit: "u.service", settings: [], socket: nil)
    let sources = parts.filter { ["journal.txt", "crash.txt"].contains($0.name) }.flatMap(\.sources)
    expectEqual(sources.count, 3)
    expect(sources.allSatisfy { $0.commandLine.hasPrefix("journalctl --no-pager -q --namespace=* -u u.service ") })
    var report = SupportReport(Redaction(names: [], keepsPositions: false))
    for part in parts { report.add(part, part.sources.map { _ in .init(output: [], failure: nil) }) }
    expectEqual(report.gaps.count, 1)
    expectEqual(report.gaps.first?.hasPrefix("journal.txt: journalctl "), true)
    expectEqual(report.gaps.first?.hasSuffix(": no entries"), true)
  }

  @Test("the address and the build ID in the log line of a crash are not masked")
  func crash() throws {
    let line =
      "Crashed: SIGSEGV at libc.so.6+0x108ef3 of version 0.1.0, build ID ee545a22c0ffee00ee545a22c0ffee00ee545a22"
    expect(try report("crash.txt", line).contains("\(line)\n"))
  }
}
