// SPDX-License-Identifier: Apache-2.0
import Expectations
import SourceSelection
import PositionBacklog
import Delivery
import AgentTesting
import Authorization
import HTTPMessages
import Testing
import Timekeeping

@testable import Vehicle

struct VehicleAgentPauseTests {
  private static let since = "2026-12-01T00:00:05Z"

  @Test("a pause is stored before the request in flight is cancelled")
  func inFlight() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    for second in 1...11 { _ = try fixture.drive(to: Double(second)) }
    let effects = fixture.handle(.pause(nil), at: 11.2)
    expectEqual(
      effects.brief,
      [
        "keep pause 2026-12-01T00:00:11.200Z", "cancel update 2", "drop connections",
      ])
    expectEqual(effects.events, [.paused])
    expect(fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 11.3).brief.isEmpty)
    expectEqual(fixture.agent.delivery.backlog.count, 1)
  }

  @Test("fixes during a pause have no effect and are not sent later; the first fix after the pause is sent at once")
  func fixes() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = fixture.handle(.pause(nil), at: 5)
    let effects = try (6...100).flatMap { try fixture.drive(to: Double($0)) }
    expectEqual(effects, [.needFixes(false)])
    expectEqual(fixture.handle(.resume, at: 100.5).brief, ["keep pause no more"])
    let first = try fixture.drive(to: 101)
    expectEqual(first.brief, ["keep 101.0", "send 2"])
    expect(first.events.isEmpty)
  }

  @Test("a pause that the previous run stored applies before the first fix, and is not stored again")
  func restored() throws {
    var fixture = try AgentFixture()
    let effects = fixture.handle(.pause(PauseRecord(text: "2026-12-01T00:00:05Z\n")), at: 0)
    expectEqual(effects.brief, ["drop connections"])
    expect(try fixture.drive(to: 1).brief.isEmpty)
    expectEqual(fixture.snapshot().pause, PauseRecord(since: AgentFixture.start + .seconds(5)))
  }

  @Test("during a pause fixes are needed until the time is known, and again from resume on")
  func need() throws {
    func needs(_ effects: [VehicleAgent.Effect]) -> [Bool] {
      effects.compactMap { if case .needFixes(let areNeeded) = $0 { areNeeded } else { nil } }
    }
    var source = AgentFixture.source
    source.isPausable = true
    var fixture = try AgentFixture()
    _ = fixture.handle(.sources([source]), at: 0)
    try fixture.comeOnline()
    for second in 1...9 { expect(try needs(fixture.drive(to: Double(second))).isEmpty) }
    expectEqual(needs(fixture.handle(.pause(nil), at: 9.5)), [false])
    expectEqual(fixture.snapshot().sources.sources.map(\.isUnread), [true])
    expect(needs(fixture.handle(.sources([source]), at: 20)).isEmpty)
    // During the pause no fix is missing, and the next fix is not treated as the first after a gap.
    expectNil(fixture.agent.nextDeadline(at: .boot + .seconds(90)))
    expect(fixture.handle(.deadline, at: 90).events.isEmpty)
    expectEqual(needs(fixture.handle(.resume, at: 100.5)), [true])
    let first = try fixture.drive(to: 101)
    expectEqual(first.brief, ["keep 101.0", "send 2"])
    // The time is not known yet.
    var other = try AgentFixture()
    expect(needs(other.handle(.pause(nil), at: 0)).isEmpty)
    expect(try needs(other.drive(to: 1)).isEmpty)
    try expectEqual((2...9).flatMap { needs(try other.drive(to: Double($0))) }, [false])
  }

  @Test("a second pause is stored again and not reported; resume without a pause only removes the stored pause")
  func twice() throws {
    var fixture = try AgentFixture()
    expectEqual(fixture.handle(.resume, at: 0).brief, ["keep pause no more"])
    _ = fixture.handle(.pause(nil), at: 5)
    let again = fixture.handle(.pause(nil), at: 6)
    expectEqual(again.brief, ["keep pause \(Self.since)"])
    expect(again.events.isEmpty)
  }

  @Test("a vehicle can be paused while the time is unknown")
  func noClock() throws {
    var fixture = try AgentFixture()
    let effects = fixture.agent.handle(
      .pause(nil), at: Moment(boot: .boot + .seconds(5), wall: Timestamp(seconds: 100)))
    expectEqual(effects.brief.first, "keep pause unknown")
    expectEqual(fixture.snapshot(at: 6).pause, PauseRecord(since: nil))
  }

  @Test(
    "a pause file without a valid time means a pause with an unknown start",
    arguments: ["", "\n", "unknown\n", "\0\0\0", "2026-13-41", String(repeating: "x", count: 5000)])
  func note(text: String) {
    expectNil(PauseRecord(text: text).since)
  }

  @Test("a token file that changes during a pause is read after the pause")
  func tokenFile() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = fixture.handle(.pause(nil), at: 5)
    expect(fixture.handle(.tokenFileChanged, at: 6).brief.isEmpty)
    expect(fixture.handle(.resume, at: 7).brief.contains { $0.hasPrefix("fetch 2") })
  }
}
