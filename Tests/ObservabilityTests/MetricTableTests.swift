// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import AgentTesting
import Vehicle
import ExternalInput
import NMEA
import Testing
import Timekeeping

@testable import Observability

struct MetricTableTests {
  @Test(
    "names follow Prometheus' rules: prefix, base units, and _total for counters only",
    arguments: 0..<MetricTable.all.count)
  func names(index: Int) {
    let metric = MetricTable.all[index]
    expect(metric.name.hasPrefix("fleet_locationd_"))
    expect(metric.name.allSatisfy { $0.isASCII && ($0.isLowercase || $0 == "_") })
    expectEqual(metric.name.hasSuffix("_total"), (metric.kind == .counter))
    for unit in ["_ms", "_milliseconds", "_kb", "_kilobytes", "_km", "_minutes", "_percent"] {
      expect(!metric.name.contains(unit))
    }
    expect(metric.help.hasSuffix("."))
    expectEqual(MetricTable.all.count { $0.name == metric.name }, 1)
  }

  /// The lines of the metrics, without the labels that all metrics have.
  private func lines(_ fixture: AgentFixture) -> [String] {
    text(MetricReading(fixture.snapshot())).split(separator: "\n").map(String.init)
  }

  private func text(_ reading: MetricReading) -> String {
    let identity = #"provider="p",vehicle="truck-1""#
    return MetricsText.exposition(of: reading).replacing("{\(identity)}", with: "").replacing("\(identity),", with: "")
  }

  @Test("each sample has labels for its vehicle, so that one collector can read the files of several daemons")
  func identity() throws {
    let samples = MetricsText.exposition(of: MetricReading(try AgentFixture().snapshot(), version: "1.0.0"))
      .split(separator: "\n").filter { !$0.hasPrefix("#") }
    expect(samples.contains(#"fleet_locationd_online{provider="p",vehicle="truck-1"} 0"#))
    expect(samples.contains(#"fleet_locationd_build_info{provider="p",vehicle="truck-1",version="1.0.0"} 1"#))
    expect(samples.allSatisfy { $0.contains(#"{provider="p",vehicle="truck-1""#) })
  }

  @Test(
    "settings metrics show the version in force, whether the stored ones are used, and the result of the last reload")
  func settings() throws {
    func values(_ settings: SettingsStatus?) throws -> [String] {
      text(MetricReading(try AgentFixture().snapshot(), settings: settings)).split(separator: "\n")
        .filter { $0.hasPrefix("fleet_locationd_config") }.map { String($0.dropFirst("fleet_locationd_".count)) }
    }
    let hash = "0123456789abcdef"
    let info = #"config_info{hash="0123456789abcdef"} 1"#
    try expectEqual(values(nil), [])
    try expectEqual(
      values(SettingsStatus(hash: hash)), [info, "config_last_reload_success 1", "config_kept 0"])
    try expectEqual(
      values(SettingsStatus(hash: hash, mistake: "a.toml:1: what")),
      [info, "config_last_reload_success 0", "config_kept 1"])
    let good = SettingsStatus.Reload(endedAt: .boot, mistake: nil)
    let bad = SettingsStatus.Reload(endedAt: .boot, mistake: "a.toml:1: what")
    try expectEqual(
      values(SettingsStatus(hash: hash, lastReload: good)), [info, "config_last_reload_success 1", "config_kept 0"])
    try expectEqual(
      values(SettingsStatus(hash: hash, lastReload: bad)), [info, "config_last_reload_success 0", "config_kept 0"])
  }

  @Test("the counters of a source are labelled with its device, and are the same in status")
  func lines() throws {
    var statistics = LineStatistics(.serial)
    var counters = NMEADecoder.Counters()
    (counters.sentences, counters.wrongChecksum, counters.late, counters.foreign) = (96, 4, 2, 3)
    statistics.observe(counters)
    let reading = LineReading(source: "/dev/gps0", statistics: statistics)
    let samples = text(MetricReading(try AgentFixture().snapshot(), lines: [reading])).split(separator: "\n")
    for (name, count) in [("sentences", 96), ("wrong_checksums", 4), ("cut", 0), ("late", 2), ("foreign", 3)] {
      expect(samples.contains("fleet_locationd_line_\(name)_total{source=\"/dev/gps0\"} \(count)"))
    }
    let line = StatusReport.Line(reading, at: .boot)
    expect(line.sentences == 96 && line.wrongChecksums == 4 && line.late == 2 && line.foreign == 3)
    expectEqual(line.trouble, "4 % of lines have wrong checksums: cable or baud rate")
  }

  @Test("the data volume of the month is one sample for both peers, and absent while the date is unknown")
  func trafficOfMonth() throws {
    let snapshot = try AgentFixture().snapshot()
    expect(
      text(MetricReading(snapshot, trafficOfMonth: 52_600_000)).contains(
        "\nfleet_locationd_traffic_month_bytes 52600000\n"))
    expect(!text(MetricReading(snapshot)).contains("traffic_month_bytes"))
  }

  @Test("network senders that are not permitted are counted and named; a serial line has no such counter")
  func refused() throws {
    var statistics = LineStatistics(.network)
    for second in 0..<7 { statistics.refuse(IPAddress(v4: 0x0A00_0001), .notAllowed, at: .boot + .seconds(second)) }
    let reading = LineReading(source: "udp", statistics: statistics)
    let serial = LineReading(source: "/dev/gps0", statistics: LineStatistics(.serial))
    let text = text(MetricReading(try AgentFixture().snapshot(), lines: [serial, reading]))
    expect(text.contains("\nfleet_locationd_line_refused_total{source=\"udp\"} 7\n"))
    expect(!text.contains("line_refused_total{source=\"/dev/gps0\"}"))
    let line = StatusReport.Line(reading, at: .boot + .seconds(9))
    expectEqual(line.refused, [StatusReport.Refused(address: "10.0.0.1", reason: "notAllowed", count: 7, age: 3)])
    expectEqual(
      line.senderWarnings.map(\.sentence.text),
      [
        "10.0.0.1 is not allowed and has sent 7 times, the last time 3 s ago"
      ])
    expect(StatusReport.Line(reading, at: .boot + .seconds(3606)).senderWarnings.isEmpty)
  }

  @Test("the status line names a deleted settings file, or the first mistake in the settings and the number of others")
  func settingsSuffix() {
    expectEqual(SettingsStatus(hash: "0").statusSuffix, "")
    expectEqual(
      SettingsStatus(hash: "0", deletedFile: "/etc/f.toml").statusSuffix,
      "; /etc/f.toml no longer exists: without it the service will not start again")
    expectEqual(
      SettingsStatus(hash: "0", mistake: "a.toml:1: what\na.toml:2: why\na.toml:3: who").statusSuffix,
      "; settings have a mistake, the last ones that worked are used: a.toml:1: what (and 2 more)")
    let reload = SettingsStatus.Reload(endedAt: .boot, mistake: "a.toml:1: what")
    expectEqual(
      SettingsStatus(hash: "0", lastReload: reload).statusSuffix,
      "; reload failed, the previous settings are in force: a.toml:1: what")
  }

  @Test("events are counted, and times are those of the best clock")
  func drive() throws {
    var fixture = try AgentFixture()
    expect(lines(fixture).contains("fleet_locationd_online 0"))
    expect(!lines(fixture).contains { $0.hasPrefix("fleet_locationd_last_update") })
    try fixture.comeOnline()
    for second in 1...10 { _ = try fixture.drive(to: Double(second)) }
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.error(503, "UNAVAILABLE")), at: 10.5)
    let text = lines(fixture)
    for line in [
      "fleet_locationd_online 0", "fleet_locationd_paused 0", "fleet_locationd_updates_attempted_total 2",
      "fleet_locationd_updates_accepted_total 1", #"fleet_locationd_updates_failed_total{category="unavailable"} 1"#,
      #"fleet_locationd_updates_failed_total{category="network"} 0"#, "fleet_locationd_fixes_total 11",
      "fleet_locationd_fix_age_seconds 0.5", "fleet_locationd_tokens_obtained_total 1",
      "fleet_locationd_token_remaining_seconds 3589.6", "fleet_locationd_backlog_positions 1",
      "fleet_locationd_last_update_timestamp_seconds 1796083200.2", "fleet_locationd_clock_offset_seconds 0",
      "# TYPE fleet_locationd_updates_accepted_total counter", "# TYPE fleet_locationd_online gauge",
    ] { expect(text.contains(line), "\(line)") }
  }

  @Test("with the clock in 1970, times are those of a better source, and are absent before there is one")
  func noClock() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    let lost = Moment(boot: fixture.moment.boot, wall: Timestamp(seconds: 1000))
    expectEqual(MetricReading(fixture.agent.snapshot(at: lost)).lastUpdateTime, AgentFixture.start + .milliseconds(200))
    let fresh = try AgentFixture()
    expectNil(MetricReading(fresh.agent.snapshot(at: lost)).clockOffset)
    expectNil(MetricReading(fresh.agent.snapshot(at: lost)).lastFixTime)
  }

  @Test("label values are escaped, even the failure reasons of a token command")
  func escaping() throws {
    var reading = MetricReading(try AgentFixture().snapshot())
    reading.snapshot.statistics.tokenFailures = ["a \"b\" \\ c\nd": 3, "ü": 1]
    let text = text(reading)
    expect(text.contains(#"fleet_locationd_token_failures_total{reason="a \"b\" \\ c\nd"} 3"# + "\n"))
    expect(text.contains(#"{reason="ü"} 1"#))
  }

  @Test("no metric contains coordinates")
  func noCoordinates() throws {
    var fixture = try AgentFixture()
    fixture.longitude = 11.5
    try fixture.comeOnline()
    expect(!lines(fixture).contains { $0.contains("latitude") || $0.contains(" 48") || $0.contains(" 11.") })
  }
}
