// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Daemon
import Delivery
import Testing
import Timekeeping

/// The daemon before it has settings.
@Suite struct StartupTests {
  private static let buildDate = AgentFixture.start - .seconds(1000)
  private static let waiting = "Waiting for a file or credential that the settings name: "
  private var startup = StartupTests.startup()

  private static func startup(waits: Bool = true, pause: PauseRecord? = nil) -> Startup {
    Startup(waits: waits, pause: pause, buildDate: buildDate)
  }

  private mutating func handle(_ input: Startup.Input, at second: Int64 = 0) -> [Startup.Effect] {
    startup.handle(
      input, at: Moment(boot: .boot + .seconds(second), wall: AgentFixture.start + .seconds(second)))
  }

  /// The settings name a file that is not there.
  private mutating func beginWaiting() -> [Startup.Effect] {
    _ = handle(.launched)
    return handle(.settingsRead(.missing("no x")))
  }

  private func seconds(_ instant: BootInstant?) -> Int64? { instant.map { ($0 - .boot).wholeSeconds } }

  @Test("valid settings are used")
  mutating func valid() {
    #expect(handle(.launched) == [.readSettings])
    #expect(handle(.settingsRead(.valid)) == [.use(mistake: nil)])
    #expect(startup.nextDeadline == nil && handle(.stop).isEmpty)
  }

  @Test("for files with a mistake the kept settings are used, if they can be; otherwise the process ends with both")
  mutating func kept() {
    for (outcome, effect) in [
      (Startup.KeptOutcome.usable, Startup.Effect.use(mistake: "f:1: no")),
      (.none, .exit(.configuration("f:1: no"))),
      (.unusable("The kept ones differ"), .exit(.configuration("f:1: no\nThe kept ones differ"))),
    ] {
      startup = Self.startup()
      _ = handle(.launched)
      #expect(handle(.settingsRead(.invalid("f:1: no"))) == [.readKeptSettings])
      #expect(handle(.keptSettingsRead(outcome)) == [effect])
    }
  }

  @Test("if something is missing, the unit counts as started, and systemd's status says what; not on a terminal")
  mutating func missing() {
    #expect(
      beginWaiting() == [.event(.settingsAwaited("no x")), .showStatus(Self.waiting + "no x"), .ready])
    startup = Self.startup(waits: false)
    #expect(beginWaiting() == [.exit(.configuration("no x"))])
  }

  @Test("what the kept settings miss is waited for as well, with the mistake of the files")
  mutating func keptMissing() {
    _ = handle(.launched)
    _ = handle(.settingsRead(.invalid("f:1: no")))
    let text = "f:1: no\nThey miss x"
    #expect(
      handle(.keptSettingsRead(.missing("They miss x")))
        == [.event(.settingsAwaited(text)), .showStatus(Self.waiting + text), .ready])
  }

  @Test(
    "the settings are read again after 5 s, then at intervals that double up to 60 s; after 15 min the process ends")
  mutating func intervals() {
    _ = beginWaiting()
    var times: [Int64] = []
    while let time = seconds(startup.nextDeadline) {
      times.append(time)
      #expect(handle(.deadline, at: time - 1).isEmpty)
      #expect(handle(.deadline, at: time) == [.readSettings])
      let effects = handle(.settingsRead(.missing("no y")), at: time)
      #expect(effects.first == .showStatus(Self.waiting + "no y"))
      #expect(
        effects.dropFirst() == (time >= 900 ? [.event(.settingsAwaited("no y")), .exit(.unavailable)] : []))
    }
    #expect(times.prefix(6) == [5, 15, 35, 75, 135, 195] && times.last == 915)
  }

  @Test("what appears is used, and so is a correction; another mistake ends the process")
  mutating func appears() {
    for (outcome, effect) in [
      (Startup.Outcome.valid, Startup.Effect.use(mistake: nil)), (.invalid("f:1: no"), .readKeptSettings),
    ] {
      startup = Self.startup()
      _ = beginWaiting()
      _ = handle(.deadline, at: 5)
      #expect(handle(.settingsRead(outcome), at: 5) == [effect])
    }
  }

  @Test("a reload reads at once, is answered with what is still missing, and leaves the intervals as they are")
  mutating func reload() {
    _ = beginWaiting()
    #expect(handle(.request(id: 1, .reload), at: 2) == [.readSettings])
    // One that comes meanwhile is answered by the same reading.
    #expect(handle(.request(id: 2, .reload), at: 2).isEmpty)
    let text = Self.waiting + "no y"
    #expect(
      handle(.settingsRead(.missing("no y")), at: 2)
        == [.showStatus(text), .respond(id: 1, .refused(text)), .respond(id: 2, .refused(text))])
    #expect(seconds(startup.nextDeadline) == 7)
    #expect(handle(.reload, at: 3) == [.readSettings])
    _ = handle(.request(id: 3, .reload), at: 3)
    #expect(
      handle(.settingsRead(.valid), at: 3) == [.respond(id: 3, .done(remark: nil)), .use(mistake: nil)])
  }

  @Test("a request for what needs settings is answered with what is missing")
  mutating func refused() {
    _ = beginWaiting()
    for request in [Daemon.Request.status, .metrics, .drive(.offline), .drive(.online)] {
      #expect(handle(.request(id: 1, request)) == [.respond(id: 1, .refused(Self.waiting + "no x"))])
    }
  }

  @Test("a pause is answered when it is on disk, with why it is not; one that began before stays as it is")
  mutating func pause() {
    _ = beginWaiting()
    let record = PauseRecord(since: AgentFixture.start + .seconds(9))
    #expect(handle(.request(id: 1, .drive(.pause)), at: 9) == [.storePause(record)])
    #expect(handle(.request(id: 2, .drive(.pause)), at: 20) == [.respond(id: 2, .done(remark: nil))])
    #expect(handle(.request(id: 3, .drive(.resume)), at: 20) == [.storePause(nil)])
    #expect(handle(.pauseStored("no room"), at: 21) == [.respond(id: 1, .done(remark: "no room"))])
    #expect(handle(.pauseStored(nil), at: 21) == [.respond(id: 3, .done(remark: nil))])
    startup = Self.startup(pause: PauseRecord(since: nil))
    _ = beginWaiting()
    #expect(handle(.request(id: 1, .drive(.pause))) == [.respond(id: 1, .done(remark: nil))])
  }

  @Test("a pause while the clock is not set has no time")
  mutating func unset() {
    startup = Startup(waits: true, pause: nil, buildDate: AgentFixture.start + .seconds(10))
    _ = beginWaiting()
    #expect(handle(.request(id: 1, .drive(.pause)), at: 9) == [.storePause(PauseRecord(since: nil))])
  }

  @Test("a stop ends the process, also while it waits")
  mutating func stop() {
    _ = beginWaiting()
    #expect(handle(.stop) == [.exit(.stopped)])
    #expect(startup.nextDeadline == nil && handle(.settingsRead(.valid)).isEmpty)
  }
}
