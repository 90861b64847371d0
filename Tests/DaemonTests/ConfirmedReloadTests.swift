// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Authorization
import Expectations
import FixSources
import FleetEngine
import HTTPMessages
import Observability
import Positioning
import Testing
import Timekeeping
import Vehicle

@testable import Daemon

/// New settings that need a confirmation, at a reload and at a start.
struct ConfirmedReloadTests {
  private static let old = SettingsParts(all: "a", destination: "d", source: "s", token: "t")
  private static let why = "no update was accepted with them within 60 s"
  private var daemon: Daemon

  init() throws {
    daemon = Daemon(running: try Self.configuration(Self.old), seed: 1)
    _ = handle(.start, at: 0)
  }

  private static func parts(_ change: (inout SettingsParts) -> Void = { _ in }) -> SettingsParts {
    var new = old
    new.all = "b"
    change(&new)
    return new
  }

  private static func configuration(
    _ parts: SettingsParts, kept: SettingsParts? = old, confirmation: Duration? = nil
  ) throws -> Daemon.Configuration {
    var store = StoreAgent.Configuration()
    store.directory = nil
    return Daemon.Configuration(
      vehicle: try AgentFixture.configuration(), store: store, settingsText: parts.all,
      settings: SettingsStatus(hash: parts.all), parts: parts, keptParts: kept, confirmationLimit: confirmation)
  }

  private static func moment(_ second: Int64) -> Moment {
    Moment(boot: .boot + .seconds(second), wall: AgentFixture.start + .seconds(second))
  }

  private mutating func handle(_ input: Daemon.Input, at second: Int64) -> [Daemon.Effect] {
    daemon.handle(input, at: Self.moment(second)).filter { if case .showStatus = $0 { false } else { true } }
  }

  private mutating func reload(_ new: Daemon.Configuration, within limit: Duration? = .seconds(60), at second: Int64)
    -> [Daemon.Effect]
  {
    expectEqual(
      handle(.request(id: 4, limit.map { .confirmedReload(within: $0) } ?? .reload), at: second), [.readSettings])
    return handle(.settingsRead(.valid(new)), at: second)
  }

  private func waiting(_ used: Int64, hadFix: Int = 0) -> Daemon.Effect {
    .storeConfirmation("fleet-locationd confirmation 1\nwaiting b 60 \(used) \(hadFix) 0\nend\n")
  }

  private var takenBack: String { "fleet-locationd confirmation 1\ntaken-back b -\n\(Self.why)\nend\n" }

  @Test("a reload with confirmation is answered at once, and the new settings wait for an accepted update")
  mutating func waits() throws {
    let effects = reload(try Self.configuration(Self.parts()), at: 1)
    expect(effects.contains(.event(.confirmationAwaited(.seconds(60), obstacle: nil))) && effects.contains(waiting(0)))
    expect(effects.contains(.respond(id: 4, .done(remark: nil))))
    expectEqual(daemon.run?.settings.confirmation?.holdReason, .noFix)
  }

  @Test("settings that have worked before, and the first settings, need no confirmation, and the response says so")
  mutating func needsNone() throws {
    for (parts, kept, reason) in [
      (Self.old, Self.old, "these settings have worked already"),
      (Self.parts(), nil, "no settings have worked before, so there are none to go back to"),
    ] as [(SettingsParts, SettingsParts?, String)] {
      let effects = reload(try Self.configuration(parts, kept: kept), at: 1)
      expect(
        effects.contains(.respond(id: 4, .done(remark: "the new settings need no confirmation: \(reason)"))))
      expectNil(daemon.run?.settings.confirmation?.limit)
    }
  }

  @Test("the .confirm file also requires a confirmation, which covers further changes until the old settings return")
  mutating func marker() throws {
    _ = reload(try Self.configuration(Self.parts(), confirmation: .seconds(120)), within: nil, at: 1)
    expectEqual(daemon.run?.settings.confirmation?.limit, .seconds(120))
    let next = Self.parts { $0.all = "c" }
    _ = reload(try Self.configuration(next), within: nil, at: 2)
    expect(
      daemon.run?.settings.confirmation?.parts == next && daemon.run?.settings.confirmation?.limit == .seconds(120))
    let effects = reload(try Self.configuration(Self.old), within: nil, at: 3)
    expect(effects.contains(.storeConfirmation(nil)))
    expectNil(daemon.run?.settings.confirmation?.limit)
  }

  @Test("a changed certificate for the token provider is confirmed only with a token that was fetched with it")
  mutating func tokenConnection() throws {
    func fix(at second: Int64) throws -> Daemon.Input {
      var fix = Fix(
        coordinate: try #require(Coordinate(latitude: 48 + Double(second) * 14 / 111_200, longitude: 11)),
        time: .utc(Self.moment(second).wall))
      fix.speed = 14
      fix.horizontalAccuracy = 3
      fix.satellites = 9
      return .vehicle(.source(0, .fix(fix)))
    }
    var fixture = try AgentFixture()
    _ = handle(.vehicle(.sources([AgentFixture.source])), at: 0)
    _ = handle(.vehicle(.source(0, .reading("/dev/gps0"))), at: 0)
    _ = handle(try fix(at: 0), at: 0)
    _ = handle(.vehicle(.tokenEnded(id: 1, fixture.token())), at: 0)
    expect(handle(.vehicle(.updateEnded(id: 1, AgentFixture.accepted)), at: 0).contains(.storeSettings("a")))
    _ = handle(try fix(at: 6), at: 6)
    var new = try Self.configuration(Self.parts { $0.token = "x" })
    guard case .http(var endpoint) = new.vehicle.tokenProvider else {
      Issue.record("the provider is not asked by HTTP")
      return
    }
    endpoint.client.clientCertificate = "/etc/other.pem"
    new.vehicle.tokenProvider = .http(endpoint)
    // The update is sent with the previous token.
    let effects = reload(new, at: 6)
    expect(effects.contains { if case .fetchToken(id: 2, _) = $0 { true } else { false } })
    expect(effects.contains { if case .sendUpdate(id: 2, _) = $0 { true } else { false } })
    expect(!handle(.vehicle(.updateEnded(id: 2, AgentFixture.accepted)), at: 7).contains(.storeSettings("b")))
    _ = handle(try fix(at: 12), at: 12)
    let sent = handle(.vehicle(.tokenEnded(id: 2, fixture.token())), at: 12)
    expect(sent.contains { if case .sendUpdate(id: 3, _) = $0 { true } else { false } })
    expect(handle(.vehicle(.updateEnded(id: 3, AgentFixture.accepted)), at: 13).contains(.storeSettings("b")))
  }

  /// Starts the daemon with these settings and the confirmation record of the previous run.
  private mutating func start(_ configuration: Daemon.Configuration, record: String?) -> [Daemon.Effect] {
    daemon = Daemon(
      seed: 1, waitsForSettings: true, buildDate: AgentFixture.start - .seconds(1000), confirmation: record, at: .boot)
    _ = handle(.launched, at: 0)
    return handle(.settingsRead(.valid(configuration)), at: 0)
  }

  @Test("after a restart, the countdown resumes with the time left; at its end, the previous settings are restored")
  mutating func goesOn() throws {
    let record = "fleet-locationd confirmation 1\nwaiting b 60 40 1 1\nend\n"
    let effects = start(try Self.configuration(Self.parts { $0.source = "x" }), record: record)
    expect(effects.contains(.event(.confirmationAwaited(.seconds(60), obstacle: nil))))
    expectEqual(daemon.run?.settings.confirmation?.left(at: .boot), .seconds(20))
    // The new source reports no fix.
    _ = handle(.start, at: 1)
    expectEqual(reverts(from: 1), 21)
    let kept = handle(.keptSettingsRead(.read(.valid(try Self.configuration(Self.old)))), at: 21)
    let why = "\(Self.why), because no fix came: no source is set"
    let order = kept.filter {
      switch $0 {
      case .storeConfirmation, .useSettings, .event(.settingsTakenBack): true
      default: false
      }
    }
    expectEqual(
      order,
      [
        .storeConfirmation("fleet-locationd confirmation 1\ntaken-back b -\n\(why)\nend\n"),
        .event(.settingsTakenBack(why)), .useSettings,
      ])
    expectEqual(daemon.run?.publication.settings.revertReason, why)
    // These settings are rejected before they are prepared: preparing them would take the lock or a line from those in
    // force.
    try expectEqual(daemon.rejection(of: Self.configuration(Self.parts { $0.source = "x" })), why)
    try expectNil(daemon.rejection(of: Self.configuration(Self.old)))
    // The same files are not tried again, but changed files are.
    expect(
      reload(try Self.configuration(Self.parts { $0.source = "x" }), at: 22).contains {
        if case .respond(id: 4, .refused(.settingsRefused, let text)) = $0 { text.contains(why) } else { false }
      })
    let changed = reload(try Self.configuration(Self.parts { $0.all = "c" }), at: 23)
    expect(changed.contains(.useSettings) && daemon.run?.publication.settings.revertReason == nil)
  }

  /// Calls the daemon at its deadlines until it reverts the settings.
  ///
  /// - Returns: when it does, in seconds; nil: not within ten minutes.
  private mutating func reverts(from start: Int64) -> Int64? {
    var second = start
    while let next = daemon.nextDeadline, second < 600 {
      second = max(second, (next - .boot).wholeSeconds)
      if handle(.deadline, at: second).contains(.readKeptSettings(isReverting: true)) { return second }
    }
    return nil
  }

  @Test("a repeated or further reload with confirmation, before or after the revert, is reverted as well")
  mutating func again() throws {
    // The previous settings had a fix.
    let record = "fleet-locationd confirmation 1\nwaiting b 60 0 1 1\nend\n"
    let new = try Self.configuration(Self.parts { $0.source = "x" })
    _ = start(new, record: record)
    _ = handle(.start, at: 1)
    _ = reload(new, at: 40)
    expectNil(daemon.run?.settings.confirmation?.holdReason)
    expectEqual(reverts(from: 41), 100)
    _ = handle(.keptSettingsRead(.read(.valid(try Self.configuration(Self.old)))), at: 100)
    let other = Self.parts { ($0.all, $0.source) = ("c", "y") }
    _ = reload(try Self.configuration(other), at: 110)
    expectEqual(reverts(from: 111), 170)
    // A restart with other settings than those that wait.
    _ = start(try Self.configuration(other), record: record)
    _ = handle(.start, at: 1)
    expectEqual(reverts(from: 1), 61)
  }

  @Test("for the time of a confirmation after a revert, updates without a fix do not excuse further settings")
  func availabilityAfterRevert() throws {
    func second(_ second: Int) -> BootInstant { .boot + .seconds(second) }
    var settings = SettingsLifecycle(text: "a")
    let (new, other) = (
      try Self.configuration(Self.parts { $0.source = "x" }),
      try Self.configuration(Self.parts { ($0.all, $0.source) = ("c", "y") })
    )
    _ = settings.activated(
      new, limit: .seconds(60), previousAvailability: .init(fix: true, token: false), at: second(40))
    var kept = try Self.configuration(Self.old)
    kept.settingsText = nil
    _ = settings.revert(
      to: .init(configuration: kept, holder: nil, requests: []), because: Self.why, at: second(100))
    _ = settings.takeNext()
    let nothing = SettingsConfirmation.Availability(fix: false, token: false)
    _ = settings.activated(kept, limit: nil, previousAvailability: nothing, at: second(100))
    expectNil(settings.accepted(sentAt: second(101)))
    for (at, fix) in [(110, true), (159, true), (160, false)] {
      var settings = settings
      _ = settings.activated(other, limit: .seconds(60), previousAvailability: nothing, at: second(at))
      expectEqual(settings.confirmation?.previousAvailability, .init(fix: fix, token: false))
    }
  }

  @Test("a fix that the vehicle has got since the last reload must remain with further settings, or they are reverted")
  mutating func fixSince() throws {
    // Settings without a fix or a token wait; they are not valid any more, and the last working ones are in force.
    let record = "fleet-locationd confirmation 1\nwaiting b 60 0 0 0\nend\n"
    var kept = try Self.configuration(Self.old)
    kept.settingsText = nil
    _ = start(kept, record: record)
    _ = handle(.start, at: 1)
    _ = reload(try Self.configuration(Self.parts { ($0.all, $0.source) = ("c", "y") }), at: 20)
    expectEqual(daemon.run?.settings.confirmation?.holdReason, .noFix)
    expectNil(reverts(from: 21))

    _ = start(kept, record: record)
    _ = handle(.start, at: 1)
    _ = handle(.vehicle(.sources([AgentFixture.source])), at: 19)
    _ = handle(.vehicle(.source(0, .reading("/dev/gps0"))), at: 19)
    var fix = Fix(coordinate: try #require(Coordinate(latitude: 48, longitude: 11)), time: .utc(Self.moment(19).wall))
    fix.horizontalAccuracy = 3
    _ = handle(.vehicle(.source(0, .fix(fix))), at: 19)
    _ = reload(try Self.configuration(Self.parts { ($0.all, $0.source) = ("c", "y") }), at: 20)
    expectEqual(reverts(from: 21), 80)
  }

  @Test("at a start, settings that were rolled back are replaced by the last working ones, if these are stored")
  mutating func rejected() throws {
    expectEqual(start(try Self.configuration(Self.parts()), record: takenBack), [.readKeptSettings(isReverting: true)])
    try expectEqual(daemon.rejection(of: Self.configuration(Self.parts())), Self.why)
    let effects = handle(.keptSettingsRead(.read(.valid(try Self.configuration(Self.old)))), at: 0)
    expectEqual(effects, [.useSettings, .event(.settingsTakenBack(Self.why))])
    expectEqual(start(try Self.configuration(Self.parts()), record: takenBack), [.readKeptSettings(isReverting: true)])
    expectEqual(
      handle(.keptSettingsRead(.none), at: 0),
      [.event(.settingsUnconfirmed(Self.why, obstacle: "the previous ones are not stored")), .readSettings])
    try expectNil(daemon.rejection(of: Self.configuration(Self.parts())))
    expect(handle(.settingsRead(.valid(try Self.configuration(Self.parts()))), at: 0).contains(.useSettings))
  }

  @Test("a reload with confirmation also applies to the first settings of a daemon that waited for a file")
  mutating func late() throws {
    daemon = Daemon(seed: 1, waitsForSettings: true, buildDate: AgentFixture.start - .seconds(1000), at: .boot)
    _ = handle(.launched, at: 0)
    _ = handle(.settingsRead(.missing("no x")), at: 0)
    let effects = reload(try Self.configuration(Self.parts()), at: 1)
    expect(effects.contains(.event(.confirmationAwaited(.seconds(60), obstacle: nil))))
    expect(effects.contains(.respond(id: 4, .done(remark: nil))))
  }

  @Test(
    "a reload with confirmation that was refused because a file is missing has no effect on settings that are used later"
  )
  mutating func refusedBefore() throws {
    daemon = Daemon(seed: 1, waitsForSettings: true, buildDate: AgentFixture.start - .seconds(1000), at: .boot)
    _ = handle(.launched, at: 0)
    _ = handle(.settingsRead(.missing("no x")), at: 0)
    _ = handle(.request(id: 4, .confirmedReload(within: .seconds(60))), at: 1)
    let refusal = handle(.settingsRead(.missing("no x")), at: 1)
    expect(refusal.contains { if case .respond(id: 4, .refused(.settingsMissing, _)) = $0 { true } else { false } })
    expectEqual(handle(.deadline, at: 60), [.readSettings])
    let effects = handle(.settingsRead(.valid(try Self.configuration(Self.parts()))), at: 60)
    expect(effects.contains(.useSettings))
    expect(!effects.contains { if case .event(.confirmationAwaited) = $0 { true } else { false } })
  }

  @Test("a reload that ends the wait for a file is refused if the files' settings were rolled back before")
  mutating func refusedAtStart() throws {
    daemon = Daemon(
      seed: 1, waitsForSettings: true, buildDate: AgentFixture.start - .seconds(1000),
      confirmation: takenBack, at: .boot)
    _ = handle(.launched, at: 0)
    _ = handle(.settingsRead(.missing("no x")), at: 0)
    _ = handle(.request(id: 7, .reload), at: 1)
    _ = handle(.settingsRead(.valid(try Self.configuration(Self.parts()))), at: 1)
    let effects = handle(.keptSettingsRead(.read(.valid(try Self.configuration(Self.old)))), at: 1)
    expect(effects.contains(.respond(id: 7, .refused(.settingsRefused, Self.why))))
  }

  @Test("settings that were rolled back are tried again at a start if the files or a credential have changed")
  mutating func changed() throws {
    for parts in [Self.parts { $0.all = "c" }, Self.parts { $0.credentials = "x" }] {
      expect(start(try Self.configuration(parts), record: takenBack).contains(.storeConfirmation(nil)))
      expect(daemon.run != nil)
    }
  }

  @Test("there is no rollback to a different vehicle or credential; the missing confirmation is only reported")
  mutating func onlyReported() throws {
    for change: (inout SettingsParts) -> Void in [{ $0.destination = "x" }, { $0.credentials = "x" }] {
      let record = "fleet-locationd confirmation 1\nwaiting b 60 59 1 1\nend\n"
      let parts = Self.parts {
        $0.source = "x"
        change(&$0)
      }
      _ = start(try Self.configuration(parts), record: record)
      _ = handle(.start, at: 1)
      let effects = handle(.deadline, at: 9)
      expect(
        effects.contains { if case .event(.settingsUnconfirmed) = $0 { true } else { false } }
          && !effects.contains(.readKeptSettings(isReverting: true)))
      expect(daemon.run?.publication.settings.unconfirmedReason != nil)
      expect(handle(.deadline, at: 99).allSatisfy { if case .event(.settingsUnconfirmed) = $0 { false } else { true } })
      // The same settings, read again, are not confirmed by that.
      _ = handle(.request(id: 5, .reload), at: 100)
      expect(handle(.settingsRead(.valid(try Self.configuration(parts))), at: 100).contains(.useSettings))
      expect(daemon.run?.publication.settings.unconfirmedReason != nil)
    }
  }

  @Test("the reason for which settings are reverted, which every user can read, has none of the server's text")
  mutating func foreignText() throws {
    var fixture = try AgentFixture()
    _ = handle(.vehicle(.sources([AgentFixture.source])), at: 0)
    _ = handle(.vehicle(.source(0, .reading("/dev/gps0"))), at: 0)
    _ = reload(try Self.configuration(Self.parts()), at: 1)
    var fix = Fix(coordinate: try #require(Coordinate(latitude: 48, longitude: 11)), time: .utc(Self.moment(2).wall))
    (fix.speed, fix.horizontalAccuracy, fix.satellites) = (0, 3, 9)
    _ = handle(.vehicle(.source(0, .fix(fix))), at: 2)
    _ = handle(.vehicle(.tokenEnded(id: 1, fixture.token())), at: 2)
    let answer = #"{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "a parcel at 48.1, 11.5"}}"#
    // The first rejection may be due to the compact form.
    for id in [1, 2] as [UInt64] {
      _ = handle(.vehicle(.updateEnded(id: id, .response(HTTPResponse(status: 400, body: Array(answer.utf8))))), at: 3)
    }
    let snapshot = try #require(daemon.run).vehicle.snapshot(at: Self.moment(4))
    expectEqual(snapshot.failure?.message.contains("parcel"), true)
    var effects: [Daemon.Effect] = []
    for second in 4...70 as ClosedRange<Int64> {
      fix.time = .utc(Self.moment(second).wall)
      effects += handle(.vehicle(.source(0, .fix(fix))), at: second) + handle(.deadline, at: second)
    }
    expect(effects.contains(.readKeptSettings(isReverting: true)))
    var kept = try Self.configuration(Self.old)
    kept.settingsText = nil
    _ = handle(.keptSettingsRead(.read(.valid(kept))), at: 70)
    let reason = try #require(daemon.run?.publication.settings.revertReason)
    expect(reason.contains("INVALID_ARGUMENT") && !reason.contains("parcel"), "\(reason)")
  }

  @Test("a reload that arrives while the previous settings are being read takes precedence")
  mutating func reloadMeanwhile() throws {
    let record = "fleet-locationd confirmation 1\nwaiting b 60 59 1 1\nend\n"
    let new = try Self.configuration(Self.parts { $0.source = "x" })
    _ = start(new, record: record)
    _ = handle(.start, at: 1)
    expect(handle(.deadline, at: 9).contains(.readKeptSettings(isReverting: true)))
    expect(handle(.request(id: 7, .reload), at: 9).isEmpty)
    expectEqual(handle(.keptSettingsRead(.read(.valid(try Self.configuration(Self.old)))), at: 9), [.readSettings])
    let effects = handle(.settingsRead(.valid(new)), at: 9)
    expect(effects.contains(.respond(id: 7, .done(remark: nil))))
    expectEqual(effects.last, .readKeptSettings(isReverting: true))
  }
}
