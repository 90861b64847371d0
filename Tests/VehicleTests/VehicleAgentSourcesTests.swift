// SPDX-License-Identifier: Apache-2.0
import Expectations
import SourceSelection
import AgentTesting
import FixSources
import Observability
import Positioning
import Testing
import Timekeeping

@testable import Vehicle

/// Several sources, with receivers whose clocks may differ.
struct VehicleAgentSourcesTests {
  @Test(
    "failover between receivers with different clocks rejects no fix, sends none out of order, and reports a hold",
    arguments: [[0.0, 0.0], [0, -3], [0, -8], [-3, 0], [-8, 0], [-3, -8]])
  func clocksDiffer(clocks: [Double]) throws {
    var bench = try TwoReceivers(clocks: clocks)
    bench.reporting = [0, 1]
    try bench.play(21)
    let lag = clocks[0] - clocks[1]
    // The first report is at 1 s, the last one before the failover at 21 s.
    let chosen = bench.report(0, .lost("/dev/gps0: the device is gone")).last
    expectEqual(chosen?.kind, .sourceChosen)
    bench.reporting = [1]
    if lag > 0 {
      expectEqual(bench.fixture.snapshot().cause, .held(.behind(by: .seconds(lag))))
      try bench.play(1)
      expectEqual(bench.fixture.snapshot().cause, .held(.behind(by: .seconds(lag - 1))))
      try bench.play(Int(lag) - 1)
      expectEqual(bench.fixture.agent.statistics.held, Int(lag))
      try bench.play(1)
    } else {
      expectNil(bench.fixture.snapshot().sources.hold)
      try bench.play(1)
    }
    expectNil(bench.fixture.snapshot().sources.hold)
    let before = bench.live.count
    // Positions keep their interval, however the clocks differ.
    try bench.play(30)
    expect(bench.live.count >= before + 3)
    bench.report(0, .reading("/dev/gps0"))
    bench.reporting = [0, 1]
    try bench.play(60)
    expectEqual(bench.fixture.agent.selector.overview.used, 0)
    expect(bench.fixture.agent.statistics.rejected.isEmpty)
    expect(bench.live == bench.live.sorted() && bench.live.count >= 10)
  }

  @Test("a first fix that is missing a minute after a source was opened is reported once, with the satellites in view")
  func noFix() throws {
    var fixture = try AgentFixture()
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .seconds(60))
    expectEqual(fixture.handle(.source(0, .sky(inView: 3)), at: 2).events, [])
    expectEqual(fixture.handle(.deadline, at: 59.9).events, [])
    let effects = fixture.handle(.deadline, at: 60)
    expectEqual(effects, [.event(.noFix(after: .seconds(60), inView: 3, nil))])
    expectEqual(fixture.snapshot(at: 75).fixMissingSince, .boot)
    expectNil(fixture.agent.nextDeadline(at: fixture.moment.boot))
    // The missing fix is not reported again when the receiver returns without one.
    _ = fixture.handle(.source(0, .lost("gone")), at: 80)
    expect(fixture.snapshot().fixMissingSince == nil && fixture.snapshot().sources.satellitesInView == nil)
    expectEqual(fixture.handle(.source(0, .reading("/dev/gps0")), at: 90).events, [.sourceOpened])
    expectEqual(fixture.handle(.deadline, at: 200).events, [])
    try expectEqual(fixture.drive(to: 201).events, [.firstFix])
    expectNil(fixture.snapshot().fixMissingSince)
    // After the first fix, a missing fix is reported as lost.
    expect(fixture.handle(.deadline, at: 231).events.contains(.fixLost))
    expectEqual(fixture.snapshot().fixMissingSince, .boot + .seconds(201))
  }

  @Test("while the source is lost, a missing first fix is not reported")
  func noFixUnread() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.source(0, .lost("gone")), at: 10)
    expectEqual(fixture.handle(.deadline, at: 100).events, [])
  }

  @Test("a failover and a failback are each reported once")
  func failover() throws {
    var bench = try TwoReceivers()
    expectEqual(bench.events, [])
    expectEqual(bench.report(0, .reading("gps0")), [.sourceOpened("gps0", SourceNumber(0, of: 2))])
    bench.reporting = [0]
    try expectEqual(bench.play(1).prefix(2).map(\.kind), [.sourceChosen, .firstFix])
    expectEqual(bench.report(1, .reading("gps1")), [.sourceOpened("gps1", SourceNumber(1, of: 2))])
    bench.reporting = [0, 1]
    expect(try bench.play(69).filter(\.isOfSources).isEmpty)
    expectEqual(bench.report(0, .lost("gone")).map(\.kind), [.sourceLost, .sourceChosen])
    bench.reporting = [1]
    expect(try bench.play(3).filter(\.isOfSources).isEmpty)
    expect(bench.report(0, .lost("gone")).isEmpty)
    expectEqual(bench.report(0, .reading("gps0")), [.sourceOpened("gps0", SourceNumber(0, of: 2))])
    bench.reporting = [0, 1]
    try expectEqual(bench.play(13).filter(\.isOfSources).map(\.kind), [.sourceChosen])
    bench.reporting = []
    try expectEqual(bench.play(12).filter(\.isOfSources).map(\.kind), [.noSourceGood])
  }

  @Test("a single source is reported when its name changes, when it is lost, and when it returns")
  func alone() throws {
    var fixture = try AgentFixture()
    func events(_ report: SourceReport) -> [Event] {
      fixture.handle(.source(0, report), at: fixture.now).compactMap {
        if case .event(let event) = $0 { event } else { nil }
      }
    }
    expectEqual(events(.reading("/dev/gps0")), [])
    expectEqual(events(.reading("/dev/gps0 at 9600 baud")), [.sourceOpened("/dev/gps0 at 9600 baud")])
    expectEqual(events(.lost("gone")), [.sourceLost("gone")])
    expectEqual(events(.lost("gone")), [])
    expectEqual(events(.reading("/dev/gps0 at 9600 baud")), [.sourceOpened("/dev/gps0 at 9600 baud")])
  }

  @Test("when the only source ends without a position, the agent reports that and finishes")
  func endsWithoutPosition() throws {
    var fixture = try AgentFixture()
    let effects = fixture.handle(.source(0, .ended), at: 1)
    expectEqual(effects.brief, ["stopping", "finished 0"])
    expectEqual(effects.events, [.sourceLost, .stopping])
    expect(effects.contains(.stopping(within: VehicleAgent.drainLimit)))
    guard case .finished(let ending) = effects.last else { return expect(Bool(false), "no end") }
    expectEqual(ending.result, .rejected)
  }

  @Test("simulated positions are reported once, and again after new settings, unless the endpoint is on this machine")
  func simulated() throws {
    var fixture = try AgentFixture { $0.remoteEndpoint = "https://e.test" }
    func alarms(at second: Double) throws -> [Event] {
      let place = try #require(Coordinate(latitude: 48, longitude: 11 + second / 10_000))
      var fix = Fix(coordinate: place, time: .utc(AgentFixture.start + .seconds(second)))
      fix.quality = .simulated
      return fixture.handle(.source(0, .fix(fix)), at: second).compactMap {
        if case .event(let event) = $0, event.kind == .simulatedSource { event } else { nil }
      }
    }
    try expectEqual(alarms(at: 1), [.simulatedSource(endpoint: "https://e.test")])
    try expectEqual(alarms(at: 2), [])
    var configuration = try AgentFixture.configuration()
    configuration.remoteEndpoint = "https://other.test"
    _ = fixture.handle(.configure(configuration), at: 3)
    try expectEqual(alarms(at: 4), [.simulatedSource(endpoint: "https://other.test")])
    _ = fixture.handle(.configure(try AgentFixture.configuration()), at: 5)
    try expectEqual(alarms(at: 6), [])
  }
}

extension Event {
  fileprivate var isOfSources: Bool {
    [.sourceOpened, .sourceLost, .sourceChosen, .noSourceGood].contains(kind)
  }
}
