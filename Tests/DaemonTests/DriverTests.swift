// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Daemon
import Expectations
import FixSources
import Positioning
import Vehicle
import Testing
import Timekeeping

/// The driver's commands on the control socket.
struct DriverTests {
  private var daemon: Daemon

  init() throws {
    daemon = Daemon(
      running: Daemon.Configuration(
        vehicle: try AgentFixture.tripsConfiguration(), store: StoreAgent.Configuration(), settingsText: nil), seed: 1)
    _ = daemon.handle(.start, at: DriverTests.moment)
  }

  private static let moment = Moment(boot: .boot + .seconds(1), wall: AgentFixture.start)
  private static let pause = PauseRecord(since: AgentFixture.start)

  private mutating func handle(_ input: Daemon.Input) -> [Daemon.Effect] { daemon.handle(input, at: Self.moment) }

  @Test("a pause request is answered once the pause is on disk")
  mutating func pause() {
    let effects = handle(.request(id: 3, .driverCommand(.pause)))
    expect(effects.contains(.storePause(Self.pause)) && effects.responses.isEmpty)
    expectEqual(handle(.pauseStored(nil)), [.respond(id: 3, .done(remark: nil))])
  }

  @Test("a pause that cannot be stored is in force; the response and the journal say why it is not on disk")
  mutating func trouble() {
    _ = handle(.request(id: 3, .driverCommand(.pause)))
    let effects = handle(.pauseStored("no room"))
    expect(effects.contains(.event(.pauseNotKept("no room"))))
    expectEqual(effects.responses, [3: .done(remark: "no room")])
    expectEqual(daemon.run?.vehicle.isPaused, true)
  }

  @Test("each request is answered once its own change is on disk")
  mutating func order() {
    _ = handle(.request(id: 1, .driverCommand(.pause)))
    _ = handle(.request(id: 2, .driverCommand(.offline)))
    _ = handle(.request(id: 3, .driverCommand(.resume)))
    expectEqual(handle(.dutyStored(nil)).responses, [2: .done(remark: nil)])
    expectEqual(handle(.pauseStored(nil)).responses, [1: .done(remark: nil)])
    expectEqual(handle(.pauseStored(nil)).responses, [3: .done(remark: nil)])
  }

  @Test("a duty command that cannot be stored is answered with the reason, and stored when it is repeated")
  mutating func repeated() {
    _ = handle(.request(id: 1, .driverCommand(.offline)))
    let effects = handle(.dutyStored("no room"))
    expect(effects.contains(.event(.dutyNotKept("no room"))))
    expectEqual(effects.responses, [1: .done(remark: "no room")])
    _ = handle(.request(id: 2, .driverCommand(.offline)))
    expectEqual(handle(.dutyStored(nil)).responses, [2: .done(remark: nil)])
  }

  @Test("a pause that no request caused is stored without a response, even if a request follows before it is stored")
  mutating func unasked() {
    expect(handle(.vehicle(.pause(nil))).contains(.storePause(Self.pause)))
    expect(handle(.request(id: 1, .driverCommand(.resume))).contains(.storePause(nil)))
    expect(handle(.pauseStored(nil)).responses.isEmpty)
    expectEqual(handle(.pauseStored(nil)).responses, [1: .done(remark: nil)])
  }

  @Test("a duty command is refused at once for a vehicle of scheduled tasks")
  mutating func refused() throws {
    daemon = Daemon(
      running: Daemon.Configuration(
        vehicle: try AgentFixture.configuration(), store: StoreAgent.Configuration(), settingsText: nil), seed: 1)
    let effects = handle(.request(id: 1, .driverCommand(.offline)))
    guard case .refused? = effects.responses[1] else {
      Issue.record("\(effects)")
      return
    }
  }

  @Test("while the daemon is stopping, a pause is refused")
  mutating func stopping() {
    _ = handle(.vehicle(.stop(within: .seconds(5), signal: "SIGTERM")))
    expectEqual(
      handle(.request(id: 1, .driverCommand(.pause))).responses, [1: .refused(.stopping, "the daemon is stopping")])
  }

  @Test("sendNow is accepted with a fix, and refused without a fix, in a pause and while the daemon is stopping")
  func sendNow() throws {
    var daemon = Daemon(
      running: Daemon.Configuration(
        vehicle: try AgentFixture.configuration(), store: StoreAgent.Configuration(), settingsText: nil), seed: 1)
    _ = daemon.handle(.start, at: Self.moment)
    func ask(_ id: UInt64) -> [Daemon.Effect] { daemon.handle(.request(id: id, .sendNow), at: Self.moment) }
    expectEqual(ask(1).refusal, .send(.noFix))
    _ = daemon.handle(.vehicle(.sources([AgentFixture.source])), at: Self.moment)
    var fix = Fix(coordinate: try #require(Coordinate(latitude: 48, longitude: 11)), time: .utc(Self.moment.wall))
    fix.horizontalAccuracy = 3
    fix.satellites = 9
    _ = daemon.handle(.vehicle(.source(0, .reading("/dev/gps0"))), at: Self.moment)
    _ = daemon.handle(.vehicle(.source(0, .fix(fix))), at: Self.moment)
    // The update waits for a token.
    guard case .done(let remark?)? = ask(2).responses[2] else {
      Issue.record("it is not done")
      return
    }
    expect(remark.contains("token"), "\(remark)")
    _ = daemon.handle(.request(id: 3, .driverCommand(.pause)), at: Self.moment)
    expectEqual(ask(4).refusal, .send(.paused))
    _ = daemon.handle(.vehicle(.stop(within: .seconds(5), signal: "SIGTERM")), at: Self.moment)
    expectEqual(ask(5).refusal, .stopping)
  }

  @Test("a pause from before a restart remains in force, and an unreadable pause or duty file is reported")
  mutating func found() {
    let records = DriverRecords(pause: Self.pause, pauseTrouble: "unreadable", dutyTrouble: "damaged")
    let effects = handle(.driverRecordsFound(records))
    expect(effects.contains(.event(.pauseNotKept("unreadable"))))
    expect(effects.contains(.event(.dutyNotKept("damaged"))))
    expectEqual(daemon.run?.vehicle.isPaused, true)
    expect(!effects.contains { if case .storePause = $0 { true } else { false } })
  }
}

extension [Daemon.Effect] {
  fileprivate var refusal: Daemon.Refusal? {
    for case .respond(_, .refused(let refusal, _)) in self { return refusal }
    return nil
  }

  fileprivate var responses: [UInt64: Daemon.Response] {
    var responses: [UInt64: Daemon.Response] = [:]
    for case .respond(let id, let response) in self { responses[id] = response }
    return responses
  }
}
