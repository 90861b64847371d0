// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Connectivity
import Expectations
import Reporting
import Vehicle
import Observability
import Testing
import Timekeeping

@testable import Daemon

/// When the daemon publishes its status, metrics and data volume, and what they contain.
struct PublicationTests {
  private var daemon: Daemon

  init() throws {
    daemon = Daemon(running: try PublicationTests.configuration(), seed: 1, version: "1.2", at: .boot)
  }

  private static func configuration(metricsFile: String? = "/m", hash: String = "a") throws -> Daemon.Configuration {
    var store = StoreAgent.Configuration()
    store.directory = "/a"
    return Daemon.Configuration(
      vehicle: try AgentFixture.configuration(), store: store, settingsText: "settings",
      settings: SettingsStatus(hash: hash), metricsFile: metricsFile)
  }

  private static func moment(_ second: Double) -> Moment {
    let elapsed = Duration.milliseconds(Int64((second * 1000).rounded()))
    return Moment(boot: .boot + elapsed, wall: AgentFixture.start + elapsed)
  }

  private mutating func handle(_ input: Daemon.Input, at second: Double) -> [Daemon.Effect] {
    daemon.handle(input, at: PublicationTests.moment(second))
  }

  /// Starts, and writes the first metrics.
  private mutating func begin() {
    _ = handle(.start, at: 0)
    _ = handle(.measured(Measurement()), at: 0)
  }

  // MARK: - Schedule

  private var shown: Publication? {
    var publication = daemon.run?.publication
    publication?.statusShown(at: PublicationTests.start)
    return publication
  }

  private static let start = BootInstant.boot + .seconds(100)

  @Test("a status line is due if none was sent before")
  func first() {
    expectEqual(daemon.run?.publication.isStatusDue(after: [], at: Self.start), true)
  }

  @Test("a status line is due again after ten seconds, because it may contain a duration")
  func ages() {
    expectEqual(shown?.isStatusDue(after: [], at: Self.start + .milliseconds(9999)), false)
    expectEqual(shown?.isStatusDue(after: [], at: Self.start + .seconds(10)), true)
  }

  @Test("an event of level notice updates the status line at once, an update's outcome at most once a second")
  func events() {
    let notice = Daemon.Effect.event(.stopping(.signal("SIGTERM")))
    expectEqual(shown?.isStatusDue(after: [notice], at: Self.start + .milliseconds(1)), true)
    let outcome = Daemon.Effect.event(.updateAccepted(past: 0, location: nil))
    expectEqual(shown?.isStatusDue(after: [outcome], at: Self.start + .milliseconds(999)), false)
    expectEqual(shown?.isStatusDue(after: [outcome], at: Self.start + .seconds(1)), true)
  }

  @Test(
    "metrics are due at the start and end, each minute, and a second after the last ones if the online state changed")
  func metricsDue() throws {
    var publication = try #require(daemon.run).publication
    let start = Self.start
    expect(publication.areMetricsDue(at: start, isOnline: false))
    publication.metricsWritten(at: start, isOnline: false)
    expect(!publication.areMetricsDue(at: start + .milliseconds(59_999), isOnline: false))
    expect(publication.areMetricsDue(at: start + .milliseconds(1), isOnline: false, isLast: true))
    expect(publication.areMetricsDue(at: start + .seconds(60), isOnline: false))
    expect(!publication.areMetricsDue(at: start + .milliseconds(999), isOnline: true))
    expect(publication.areMetricsDue(at: start + .seconds(1), isOnline: true))
    publication.metricsWritten(at: start + .seconds(1), isOnline: true)
    expect(!publication.areMetricsDue(at: start + .seconds(60), isOnline: true))
    expect(publication.areMetricsDue(at: start + .seconds(2), isOnline: false))
  }

  @Test("without metrics.textfile, no metrics are written")
  mutating func noMetrics() throws {
    daemon = Daemon(running: try Self.configuration(metricsFile: nil), seed: 1)
    expectEqual(daemon.run?.publication.areMetricsDue(at: Self.start, isOnline: true), false)
    expectEqual(daemon.run?.publication.areMetricsDue(at: Self.start, isOnline: true, isLast: true), false)
  }

  @Test("metrics are written at once to a new metrics.textfile")
  mutating func otherPath() throws {
    begin()
    expect(handle(.settingsRead(.valid(try Self.configuration(metricsFile: "/n"))), at: 1).contains(.measure))
    expectEqual(handle(.measured(Measurement()), at: 1).metricsPaths, ["/n"])
    expect(!handle(.settingsRead(.valid(try Self.configuration(metricsFile: "/n"))), at: 2).contains(.measure))
  }

  @Test("publication adds no deadline, so it never wakes up the daemon")
  mutating func noDeadline() {
    begin()
    // The store is opened after 3 s. Once it has been read, a daemon without sources has nothing else to do.
    expectEqual(daemon.nextDeadline, .boot + .seconds(3))
    _ = handle(.deadline, at: 3)
    _ = handle(.storeEnded(.opened(nil)), at: 3)
    _ = handle(.storeEnded(.read([])), at: 3)
    expectNil(daemon.nextDeadline)
  }

  // MARK: - Contents

  @Test(
    "nothing is published before the start; the status line and the metrics are published at the start")
  mutating func start() {
    expect(handle(.watchdog(deletedFile: nil), at: 0).isEmpty)
    let effects = handle(.start, at: 0)
    expect(effects.statusLines.count == 1 && effects.contains(.measure))
    expect(handle(.watchdog(deletedFile: nil), at: 0).isEmpty)
    expectEqual(handle(.measured(Measurement()), at: 0).metricsPaths, ["/m"])
  }

  @Test("the watchdog refreshes a status line that is ten seconds old, and the line names a deleted settings file")
  mutating func watchdog() {
    begin()
    expect(handle(.watchdog(deletedFile: "/etc/x.toml"), at: 9).isEmpty)
    let lines = handle(.watchdog(deletedFile: "/etc/x.toml"), at: 10).statusLines
    expectEqual(
      lines.first?.hasSuffix("; /etc/x.toml no longer exists: without it the service will not start again"), true
    )
  }

  @Test("a status contains the current data volume, and simultaneous requests share one measurement")
  mutating func status() throws {
    begin()
    expectEqual(handle(.request(id: 7, .status), at: 5), [.measure])
    expect(handle(.request(id: 8, .metrics), at: 5).isEmpty)
    _ = handle(.pauseStored("no room"), at: 5)
    var measurement = Measurement(storeBytes: 4096, transport: "HTTP/2")
    measurement.fleetEngine.tcp.sent = 1000
    let effects = handle(.measured(measurement), at: 5)
    let report = try #require(effects.reports[7])
    let heartbeat = ReportingPolicy.Configuration().heartbeat.wholeSeconds
    expect(report.version == "1.2" && report.uptime == 5 && report.transport == "HTTP/2")
    expect(report.backlog.bytes == 4096 && report.pauseTrouble == "no room" && report.settings?.hash == "a")
    expect(report.traffic?.today.sent == 1000 && report.heartbeat == heartbeat)
    expect(effects.contains { if case .respond(id: 8, .metrics) = $0 { true } else { false } })
    expect(effects.metricsPaths.isEmpty)
  }

  @Test("a failed reload is in the status until new settings are applied")
  mutating func reload() throws {
    begin()
    let refusal = handle(.settingsRead(.invalid("f:1: wrong\nf:2: wrong")), at: 20)
    expectEqual(
      refusal.statusLines.first?.hasSuffix(
        "; reload failed, the previous settings are in force: f:1: wrong (and 1 more)"), true)
    _ = handle(.settingsRead(.valid(try Self.configuration(hash: "b"))), at: 31)
    _ = handle(.request(id: 1, .status), at: 32)
    let settings = try #require(handle(.measured(Measurement()), at: 32).reports[1]?.settings)
    expect(settings.hash == "b" && settings.lastReload?.isSuccess == true && settings.lastReload?.age == 1)
  }

  // MARK: - The data volume

  @Test("the data volume is measured and stored a minute after the start, and added to that of previous runs")
  mutating func traffic() throws {
    var measurement = Measurement()
    measurement.fleetEngine.tcp.sent = 1000
    begin()
    expect(!handle(.watchdog(deletedFile: nil), at: 59.9).contains(.measure))
    expect(handle(.watchdog(deletedFile: nil), at: 60).contains(.measure))
    let stored = try #require(handle(.measured(measurement), at: 60).storedTraffic)
    expect(handle(.watchdog(deletedFile: nil), at: 61).isEmpty)
    daemon = Daemon(running: try Self.configuration(), seed: 1, traffic: stored, at: .boot + .seconds(100))
    _ = handle(.start, at: 100)
    _ = handle(.request(id: 1, .status), at: 101)
    expectEqual(handle(.measured(measurement), at: 101).reports[1]?.traffic?.today.sent, 2000)
  }

  @Test("at the end of a run, the data volume is measured and the metrics are written before the run has finished")
  mutating func end() {
    begin()
    _ = handle(.deadline, at: 3)
    _ = handle(.storeEnded(.opened(nil)), at: 3)
    _ = handle(.storeEnded(.read([])), at: 3)
    _ = handle(.vehicle(.stop(within: .zero, signal: "SIGTERM")), at: 4)
    expectEqual(handle(.storeEnded(.committed), at: 4), [.store(.close), .measure])
    let effects = handle(.measured(Measurement()), at: 4)
    expect(effects.metricsPaths == ["/m"] && effects.storedTraffic != nil)
    expectEqual(effects.last, .finished(Lifecycle.Ending(undelivered: 0, isStored: true, statistics: nil)))
    expect(handle(.watchdog(deletedFile: nil), at: 100).isEmpty)
  }
}

extension [Daemon.Effect] {
  fileprivate var statusLines: [String] { compactMap { if case .showStatus(let line) = $0 { line } else { nil } } }
  fileprivate var metricsPaths: [String] {
    compactMap { if case .writeMetrics(_, let path) = $0 { path } else { nil } }
  }
  fileprivate var storedTraffic: String? {
    compactMap { if case .storeTraffic(let text) = $0 { text } else { nil } }.last
  }
  fileprivate var reports: [UInt64: StatusReport] {
    var reports: [UInt64: StatusReport] = [:]
    for case .respond(let id, .status(let report)) in self { reports[id] = report }
    return reports
  }
}
