// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Expectations
import FixSources
import Vehicle
import Observability
import Testing
import Timekeeping

@testable import Daemon

/// The daemon before it has settings.
struct StartupTests {
  /// A source that opens its line at once.
  private struct Receiver: SourceSession, SourceIdentity, Equatable {
    var nextDeadline: BootInstant?

    mutating func handle(_ input: SourceInput, at now: Moment) -> [SourceEffect] {
      input == .start ? [.line(.open())] : []
    }
  }

  private static let waiting = "Waiting for a file or credential that the settings name: "
  private var daemon = StartupTests.daemon()

  private static func daemon(
    waits: Bool = true, pause: PauseRecord? = nil, buildDate: Timestamp = AgentFixture.start - .seconds(1000)
  ) -> Daemon {
    Daemon(seed: 1, waitsForSettings: waits, version: "1.2", buildDate: buildDate, pause: pause, at: .boot)
  }

  private static func configuration(warnings: [String] = []) throws -> Daemon.Configuration {
    Daemon.Configuration(
      vehicle: try AgentFixture.configuration(), store: StoreAgent.Configuration(), settingsText: "settings",
      settings: SettingsStatus(hash: "a"), warnings: warnings)
  }

  private mutating func handle(_ input: Daemon.Input, at second: Int64 = 0) -> [Daemon.Effect] {
    daemon.handle(
      input, at: Moment(boot: .boot + .seconds(second), wall: AgentFixture.start + .seconds(second)))
  }

  /// The settings name a file that does not exist.
  private mutating func beginWaiting() -> [Daemon.Effect] {
    _ = handle(.launched)
    return handle(.settingsRead(.missing("no x")))
  }

  private func seconds(_ instant: BootInstant?) -> Int64? { instant.map { ($0 - .boot).wholeSeconds } }

  private func failure(_ mistakes: String) -> [Daemon.Effect] { [.exit(.failed(mistakes, isMissing: false))] }

  @Test(
    "valid settings are applied, with their warnings in the journal; READY is sent when the run begins")
  mutating func valid() throws {
    expectEqual(handle(.launched), [.readSettings])
    expectEqual(
      handle(.settingsRead(.valid(try Self.configuration(warnings: ["x is odd"])))),
      [.useSettings, .event(.settingsWarning("x is odd"))])
    expectEqual(daemon.run?.settings.unverified?.text, "settings")
    expect(handle(.start).contains(.ready))
  }

  @Test(
    "if the files have a mistake, the stored settings are used; without usable ones, the process exits with the reasons"
  )
  mutating func kept() throws {
    for (outcome, effects) in [
      (
        KeptSettingsOutcome.read(.valid(try Self.configuration())),
        [Daemon.Effect.useSettings, .event(.settingsKept("f:1: no"))]
      ),
      (.none, failure("f:1: no")),
      (.read(.invalid("The kept ones differ")), failure("f:1: no\nThe kept ones differ")),
    ] {
      daemon = Self.daemon()
      _ = handle(.launched)
      expectEqual(handle(.settingsRead(.invalid("f:1: no"))), [.readKeptSettings(isReverting: false)])
      expectEqual(handle(.keptSettingsRead(outcome)), effects)
      // These settings are stored already.
      expectNil(daemon.run?.settings.unverified?.text)
    }
  }

  @Test("if a certificate or route cannot be used, the process exits, and the stored settings are not tried")
  mutating func unusable() {
    for isMissing in [false, true] {
      daemon = Self.daemon()
      _ = handle(.launched)
      expectEqual(
        handle(.settingsRead(.unusable("no route", isMissing: isMissing))),
        [.exit(.failed("no route", isMissing: isMissing))])
    }
  }

  @Test("if a file is missing, READY and a status that says so are sent; on a terminal, the process exits")
  mutating func missing() {
    expectEqual(
      beginWaiting(), [.event(.settingsAwaited("no x")), .showStatus(Self.waiting + "no x"), .ready])
    daemon = Self.daemon(waits: false)
    expectEqual(beginWaiting(), failure("no x"))
  }

  @Test("the daemon also waits for a file that the stored settings need, and reports the mistake")
  mutating func keptMissing() {
    _ = handle(.launched)
    _ = handle(.settingsRead(.invalid("f:1: no")))
    let text = "f:1: no\nThey miss x"
    expectEqual(
      handle(.keptSettingsRead(.read(.missing("They miss x")))),
      [.event(.settingsAwaited(text)), .showStatus(Self.waiting + text), .ready])
  }

  @Test(
    "the settings are read again after 5 s, then at intervals that double up to 60 s; after 15 min the process exits")
  mutating func intervals() {
    _ = beginWaiting()
    var times: [Int64] = []
    while let time = seconds(daemon.nextDeadline) {
      times.append(time)
      expect(handle(.deadline, at: time - 1).isEmpty)
      expectEqual(handle(.deadline, at: time), [.readSettings])
      let effects = handle(.settingsRead(.missing("no y")), at: time)
      expectEqual(effects.first, .showStatus(Self.waiting + "no y"))
      expectEqual(
        effects.dropFirst(), (time >= 900 ? [.event(.settingsAwaited("no y")), .exit(.unavailable)] : []))
    }
    expect(times.prefix(6) == [5, 15, 35, 75, 135, 195] && times.last == 915)
  }

  @Test("when the missing file appears, the settings are used; if they have a mistake, the stored settings are read")
  mutating func appears() throws {
    for (outcome, effect) in [
      (SettingsOutcome.valid(try Self.configuration()), Daemon.Effect.useSettings),
      (.invalid("f:1: no"), .readKeptSettings(isReverting: false)),
    ] {
      daemon = Self.daemon()
      _ = beginWaiting()
      _ = handle(.deadline, at: 5)
      expectEqual(handle(.settingsRead(outcome), at: 5), [effect])
    }
  }

  @Test("a reload that ends the wait with the stored settings is refused, because those of the files are not in force")
  mutating func reloadToKept() throws {
    _ = beginWaiting()
    expectEqual(handle(.request(id: 7, .reload)), [.readSettings])
    expectEqual(handle(.settingsRead(.invalid("f:1: no"))), [.readKeptSettings(isReverting: false)])
    let effects = handle(.keptSettingsRead(.read(.valid(try Self.configuration()))))
    expectEqual(
      effects, [.useSettings, .event(.settingsKept("f:1: no")), .respond(id: 7, .refused(.settingsRefused, "f:1: no"))])
  }

  @Test(
    "a reload reads the settings at once, is answered with what is missing or success, and does not extend the interval"
  )
  mutating func reload() throws {
    _ = beginWaiting()
    expectEqual(handle(.request(id: 1, .reload), at: 2), [.readSettings])
    // A request that arrives during this read is answered by the same read.
    expect(handle(.request(id: 2, .reload), at: 2).isEmpty)
    let text = Self.waiting + "no y"
    expectEqual(
      handle(.settingsRead(.missing("no y")), at: 2),
      [
        .showStatus(text), .respond(id: 1, .refused(.settingsMissing, text)),
        .respond(id: 2, .refused(.settingsMissing, text)),
      ])
    expectEqual(seconds(daemon.nextDeadline), 7)
    expectEqual(handle(.reload, at: 3), [.readSettings])
    _ = handle(.request(id: 3, .reload), at: 3)
    expectEqual(
      handle(.settingsRead(.valid(try Self.configuration())), at: 3),
      [.useSettings, .respond(id: 3, .done(remark: nil))])
  }

  @Test("without settings, duty commands and sendNow are refused, and the response says what is missing")
  mutating func refused() {
    _ = beginWaiting()
    for request in [Daemon.Request.driverCommand(.offline), .driverCommand(.online), .sendNow] {
      let refusal = Daemon.Response.refused(.settingsMissing, Self.waiting + "no x")
      expectEqual(handle(.request(id: 1, request)), [.respond(id: 1, refusal)])
    }
  }

  @Test("without settings, the status contains what is missing, what to do, a pause, the uptime, and recent events")
  mutating func status() throws {
    _ = beginWaiting()
    _ = handle(.request(id: 4, .driverCommand(.pause)), at: 9)
    expectEqual(handle(.request(id: 1, .status), at: 10), [.measure])
    expect(handle(.request(id: 2, .status), at: 10).isEmpty)
    var recent = RecentEvents()
    recent.add(.settingsAwaited("no x"), at: .boot)
    let events = recent.report(at: .boot + .seconds(10))
    let effects = handle(.measured(Measurement(events: events)), at: 10)
    expectEqual(effects.count, 2)
    guard case .respond(1, .status(let report))? = effects.first else {
      Issue.record("\(effects)")
      return
    }
    expect(report.summary == Self.waiting + "no x" && report.lacksSettings && !report.isOnline)
    expect(report.state?.level == "bad" && report.state?.advice?.contains("fleet-locationctl reload") == true)
    expect(report.explanation.reason == "noSettings" && report.explanation.sentence.contains("no x"))
    expect(report.isPaused && report.pausedSince == (AgentFixture.start + .seconds(9)).canonicalJSON)
    expect(report.version == "1.2" && report.uptime == 10 && report.events == events && events.count == 1)
  }

  @Test("while settings are missing, metrics report offline, on request and in the metrics file that the settings name")
  mutating func metrics() {
    _ = handle(.launched)
    let known = KnownSettings(provider: "p", vehicle: "truck-1", metricsFile: "/m")
    let effects = handle(.settingsRead(.missing("no x", known: known)))
    guard case .writeMetrics(let text, "/m")? = effects.dropLast().last else {
      Issue.record("\(effects)")
      return
    }
    expect(text.contains("\nfleet_locationd_online{provider=\"p\",vehicle=\"truck-1\"} 0\n"))
    expect(text.contains("\nfleet_locationd_config_last_reload_success{provider=\"p\",vehicle=\"truck-1\"} 0\n"))
    expect(text.contains("version=\"1.2\"} 1\n"))
    // The alert FleetSettingsRefused is for settings that are refused while others are in force.
    expect(!text.contains("config_info"))
    expectEqual(handle(.request(id: 1, .metrics)), [.respond(id: 1, .metrics(text))])
    _ = handle(.deadline, at: 5)
    expect(handle(.settingsRead(.missing("no x", known: known)), at: 5).contains(.writeMetrics(text, path: "/m")))
  }

  @Test("a pause is answered once it is on disk, or with the reason why it is not; an earlier pause stays unchanged")
  mutating func pause() {
    _ = beginWaiting()
    let record = PauseRecord(since: AgentFixture.start + .seconds(9))
    expectEqual(handle(.request(id: 1, .driverCommand(.pause)), at: 9), [.storePause(record)])
    expectEqual(handle(.request(id: 2, .driverCommand(.pause)), at: 20), [.respond(id: 2, .done(remark: nil))])
    expectEqual(handle(.request(id: 3, .driverCommand(.resume)), at: 20), [.storePause(nil)])
    expectEqual(
      handle(.pauseStored("no room"), at: 21),
      [.event(.pauseNotKept("no room")), .respond(id: 1, .done(remark: "no room"))])
    expectEqual(handle(.pauseStored(nil), at: 21), [.respond(id: 3, .done(remark: nil))])
    daemon = Self.daemon(pause: PauseRecord(since: nil))
    _ = beginWaiting()
    expectEqual(handle(.request(id: 1, .driverCommand(.pause))), [.respond(id: 1, .done(remark: nil))])
  }

  @Test("a pause, or its end, that could not be stored is in force once there are settings, and is reported once")
  mutating func pauseNotStored() throws {
    let record = PauseRecord(since: AgentFixture.start)
    for command in [Daemon.DriverCommand.pause, .resume] {
      // What is on disk, before and after the command.
      let stored = command == .pause ? nil : record
      daemon = Self.daemon(pause: stored)
      _ = beginWaiting()
      _ = handle(.request(id: 1, .driverCommand(command)))
      _ = handle(.pauseStored("no room"))
      _ = handle(.settingsRead(.valid(try Self.configuration())))
      let effects = handle(.driverRecordsFound(DriverRecords(pause: stored)))
      expectEqual(daemon.run?.vehicle.isPaused, command == .pause)
      expect(!effects.contains(.event(.pauseNotKept("no room"))))
      expectEqual(daemon.run?.choices.pauseTrouble, "no room")
    }
  }

  @Test("a pause that could not be stored is stored when it is repeated; then what is on disk is in force")
  mutating func pauseRepeated() throws {
    _ = beginWaiting()
    let record = PauseRecord(since: AgentFixture.start)
    _ = handle(.request(id: 1, .driverCommand(.pause)))
    _ = handle(.pauseStored("no room"))
    expectEqual(handle(.request(id: 2, .driverCommand(.pause)), at: 9), [.storePause(record)])
    expectEqual(handle(.pauseStored(nil)), [.respond(id: 2, .done(remark: nil))])
    _ = handle(.settingsRead(.valid(try Self.configuration())))
    _ = handle(.driverRecordsFound(DriverRecords(pause: record)))
    expectEqual(daemon.run?.vehicle.isPaused, true)
    expectNil(daemon.run?.choices.pauseTrouble)
  }

  @Test("a pause that begins while the clock is not set has no start time")
  mutating func unset() {
    daemon = Self.daemon(buildDate: AgentFixture.start + .seconds(10))
    _ = beginWaiting()
    expectEqual(handle(.request(id: 1, .driverCommand(.pause)), at: 9), [.storePause(PauseRecord(since: nil))])
  }

  @Test("on a stop the process exits even while it waits for a file; a deleted directory causes a restart")
  mutating func stop() throws {
    _ = beginWaiting()
    expectEqual(handle(.vehicle(.stop(within: .seconds(5), signal: "SIGTERM"))), [.exit(.stopped)])
    expectNil(daemon.nextDeadline)
    expect(handle(.settingsRead(.valid(try Self.configuration()))).isEmpty)
    daemon = Self.daemon()
    _ = beginWaiting()
    expectEqual(
      handle(.vehicle(.directoryDeleted("/run/x", within: .zero))),
      [.event(.stopping(.directoryDeleted("/run/x"))), .exit(.restarting)])
  }

  @Test("while another process has locked the vehicle, the run begins without opening the receiver")
  mutating func inUse() throws {
    _ = handle(.launched)
    let holder = VehicleHolder(unit: "other.service", processID: 7)
    let effects = handle(.settingsRead(.valid(try Self.configuration(), lockedBy: holder)))
    expectEqual(effects.first, .useSettings)
    expect(effects.contains { if case .event(.vehicleInUse) = $0 { true } else { false } })
    _ = handle(.start)
    let source = Daemon.Source(Receiver(), AgentFixture.source, session: Receiver())
    expect(!handle(.sources([source])).contains(.line(0, .open())))
    expect(handle(.vehicle(.vehicleLocked(by: nil))).contains(.line(0, .open())))
  }

  @Test("the watchdog detects that reading the settings again is overdue")
  mutating func watchdog() {
    _ = beginWaiting()
    expect(daemon.isProgressing(at: .boot + .seconds(5)))
    expect(!daemon.isProgressing(at: .boot + .seconds(65)))
  }
}
