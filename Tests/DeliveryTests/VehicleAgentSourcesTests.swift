// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import HTTPMessages
import Observability
import Positioning
import Testing
import Timekeeping

@testable import Delivery

/// Several sources, with receivers whose clocks may differ, and what is said of them.
@Suite struct VehicleAgentSourcesTests {
  /// Two receivers on one roof, and a Fleet Engine that answers at once.
  private struct Bench {
    var fixture: AgentFixture
    /// Seconds by which the clock of each is ahead.
    var clocks: [Double]
    /// Indices of those that give fixes.
    var giving: Set<Int> = []
    /// Times of `lastLocation` of all updates, in their order.
    var live: [String] = []
    var sentences: [String] = []

    init(clocks: [Double] = [0, 0]) throws {
      self.clocks = clocks
      fixture = try AgentFixture()
      let list = clocks.indices.map {
        SourceSelector.Candidate(id: $0 + 1, label: "/dev/gps\($0)", silenceTimeout: .seconds(10))
      }
      follow(fixture.tell(.sources(list), at: 0))
    }

    mutating func tell(_ index: Int, _ report: SourceReport) -> [String] {
      sentences = []
      follow(fixture.tell(.source(index + 1, report), at: fixture.now))
      return sentences
    }

    /// Plays this number of seconds, at 14 m/s.
    @discardableResult
    mutating func play(_ seconds: Int) throws -> [String] {
      sentences = []
      for _ in 0..<seconds {
        fixture.now += 1
        for index in giving.sorted() { follow(fixture.tell(.source(index + 1, .fix(try fix(index))), at: fixture.now)) }
        follow(fixture.tell(.deadline, at: fixture.now))
      }
      return sentences
    }

    private func fix(_ index: Int) throws -> Fix {
      let place = try #require(Coordinate(latitude: 48 + fixture.now * 14 / 111_200, longitude: 11))
      var fix = Fix(coordinate: place, time: .utc(fixture.moment.wall + .seconds(clocks[index])))
      fix.speed = 14
      fix.horizontalAccuracy = 3
      return fix
    }

    private mutating func follow(_ effects: [VehicleAgent.Effect]) {
      for effect in effects {
        switch effect {
        case .event(let event): sentences.append("\(event.kind.rawValue): \(event.sentence)")
        case .fetchToken(let id, _): follow(fixture.tell(.tokenEnded(id: id, fixture.token()), at: fixture.now))
        case .sendUpdate(let id, let request):
          let body = String(decoding: request.body, as: UTF8.self)
          let last = body.split(separator: "\"lastLocation\"").last ?? ""
          let time = last.split(separator: "\"supplementalLocationTime\":\"").dropFirst().first?.prefix { $0 != "\"" }
          live.append(String(time ?? "none"))
          follow(fixture.tell(.updateEnded(id: id, AgentFixture.accepted), at: fixture.now))
        default: break
        }
      }
    }

    var report: StatusReport { StatusReport(fixture.snapshot()) }
    var status: String { fixture.snapshot().statusLine }
  }

  @Test(
    "failover between clocks that differ: nothing is refused, nothing goes back in time, and status and explain say why",
    arguments: [[0.0, 0.0], [0, -3], [0, -8], [-3, 0], [-8, 0], [-3, -8]])
  func clocksDiffer(clocks: [Double]) throws {
    var bench = try Bench(clocks: clocks)
    bench.giving = [0, 1]
    try bench.play(21)
    let lag = clocks[0] - clocks[1]
    // The first report is at 1 s, the last before this at 21 s.
    let chosen = bench.tell(0, .lost("/dev/gps0: the device is gone")).last ?? ""
    bench.giving = [1]
    if lag > 0 {
      let words = "its clock is behind: its positions are \(Int(lag)) s older than the last one reported"
      #expect(
        chosen == "sourceChosen: Using source 2 of 2, /dev/gps1 (1: /dev/gps0: the device is gone); \(words)")
      #expect(bench.status.contains("\(words); "))
      #expect(bench.report.sources?.last?.explanation == "none before it is good; \(words)")
      try bench.play(1)
      #expect(bench.report.explanation.reason == "held")
      #expect(
        bench.report.explanation.sentence
          == "Fixes of /dev/gps1 wait: its clock is behind: its positions are \(Int(lag) - 1) s older than "
          + "the last one reported.")
      try bench.play(Int(lag) - 1)
      #expect(bench.report.counters["held"] == Int(lag))
      try bench.play(1)
    } else {
      #expect(
        chosen == "sourceChosen: Using source 2 of 2, /dev/gps1 (1: /dev/gps0: the device is gone)")
      try bench.play(1)
    }
    #expect(!bench.status.contains("clock") && bench.report.explanation.reason != "held")
    let before = bench.live.count
    // Positions go on at their interval, however the clocks differ.
    try bench.play(30)
    #expect(bench.live.count >= before + 3)
    _ = bench.tell(0, .reading("/dev/gps0"))
    bench.giving = [0, 1]
    try bench.play(60)
    #expect(bench.fixture.agent.selector.overview.used == 0)
    #expect(bench.report.counters.filter { $0.key.hasPrefix("rejected") }.isEmpty)
    #expect(bench.live == bench.live.sorted() && bench.live.count >= 10)
  }

  @Test("a failover and a failback read as a story, and nothing is said twice")
  func story() throws {
    var bench = try Bench()
    #expect(bench.sentences == [])
    #expect(
      bench.tell(0, .reading("/dev/gps0 at 9600 baud")) == [
        "sourceOpened: Reading source 1 of 2, /dev/gps0 at 9600 baud"
      ])
    bench.giving = [0]
    #expect(
      try bench.play(1).prefix(2) == [
        "sourceChosen: Using source 1 of 2, /dev/gps0 at 9600 baud (the first in the list)",
        "firstFix: First fix: 3D, ±3 m",
      ])
    #expect(
      bench.tell(1, .reading("/dev/gps1 at 9600 baud")) == [
        "sourceOpened: Reading source 2 of 2, /dev/gps1 at 9600 baud"
      ])
    bench.giving = [0, 1]
    try bench.play(69)
    #expect(
      bench.tell(0, .lost("/dev/gps0: the device is gone")) == [
        "sourceLost: No source 1 of 2: /dev/gps0: the device is gone",
        "sourceChosen: Using source 2 of 2, /dev/gps1 at 9600 baud (1: /dev/gps0: the device is gone)",
      ])
    bench.giving = [1]
    #expect(try bench.play(3).filter { $0.hasPrefix("source") } == [])
    #expect(bench.tell(0, .lost("/dev/gps0: the device is gone")) == [])
    #expect(
      bench.tell(0, .reading("/dev/gps0 at 9600 baud")) == [
        "sourceOpened: Reading source 1 of 2, /dev/gps0 at 9600 baud"
      ])
    bench.giving = [0, 1]
    #expect(
      try bench.play(13).filter { $0.hasPrefix("source") } == [
        "sourceChosen: Using source 1 of 2, /dev/gps0 at 9600 baud (it has been good for 10 s)"
      ])
    bench.giving = []
    #expect(
      try bench.play(12).filter { $0.hasPrefix("noSource") } == [
        "noSourceGood: None of 2 sources gives a believable position: 1: /dev/gps0 at 9600 baud gives no believable "
          + "position; 2: /dev/gps1 at 9600 baud gives no believable position"
      ])
  }

  @Test("the status says which is used and why, and that there is none")
  func status() throws {
    var bench = try Bench()
    #expect(bench.status.hasPrefix("No source: 1: /dev/gps0 is not open yet; 2: /dev/gps1 is not open yet; "))
    _ = bench.tell(0, .lost("/dev/gps0: gone"))
    _ = bench.tell(1, .reading("/dev/gps1 at 9600 baud"))
    bench.giving = [1]
    try bench.play(1)
    #expect(bench.status.contains("; source 2 of 2 (1: /dev/gps0: gone); "))
    #expect(bench.report.source == "/dev/gps1 at 9600 baud")
    #expect(bench.report.sources?.map(\.isUsed) == [false, true])
    #expect(bench.report.sources?.map(\.condition) == ["lost", "good"])
    #expect(bench.report.sources?.map(\.explanation) == ["/dev/gps0: gone", "none before it is good"])
    _ = bench.tell(1, .ended)
    #expect(bench.status.hasPrefix("No source: 1: /dev/gps0: gone; 2: /dev/gps1 at 9600 baud has ended; "))
  }

  @Test("one source alone is named without a number")
  func alone() throws {
    var fixture = try AgentFixture()
    func tell(_ report: SourceReport) -> [String] {
      fixture.tell(.source(0, report), at: fixture.now).compactMap {
        if case .event(let event) = $0 { "\(event.kind.rawValue): \(event.sentence)" } else { nil }
      }
    }
    #expect(tell(.reading("/dev/gps0")) == [])
    #expect(tell(.reading("/dev/gps0 at 9600 baud")) == ["sourceOpened: Reading /dev/gps0 at 9600 baud"])
    #expect(tell(.lost("/dev/gps0: gone")) == ["sourceLost: No source: /dev/gps0: gone"])
    #expect(tell(.lost("/dev/gps0: gone")) == [])
    #expect(tell(.reading("/dev/gps0 at 9600 baud")) == ["sourceOpened: Reading /dev/gps0 at 9600 baud"])
    #expect(StatusReport(fixture.snapshot()).sources == nil)
  }

  @Test("when the only source ends without a position, that is said, and the agent finishes")
  func endsWithoutPosition() throws {
    var fixture = try AgentFixture()
    let effects = fixture.tell(.source(0, .ended), at: 1)
    #expect(effects.brief == ["stopping", "finished 0"])
    guard case .event(let event) = effects.first else { return #expect(Bool(false), "no event") }
    #expect(event.sentence == "No source: /dev/gps0 has ended without a position that can be believed")
  }

  @Test("simulated positions are announced once, and again after new settings; not on this machine's own Fleet Engine")
  func simulated() throws {
    var fixture = try AgentFixture { $0.remoteEndpoint = "https://e.test" }
    func alarms(at second: Double) throws -> [String] {
      let place = try #require(Coordinate(latitude: 48, longitude: 11 + second / 10_000))
      var fix = Fix(coordinate: place, time: .utc(AgentFixture.start + .seconds(second)))
      fix.quality = .simulated
      return fixture.tell(.source(0, .fix(fix)), at: second).compactMap {
        if case .event(let event) = $0, event.kind == .simulatedSource { event.sentence } else { nil }
      }
    }
    #expect(try alarms(at: 1) == ["Simulated positions are being sent to https://e.test"])
    #expect(try alarms(at: 2) == [])
    var configuration = try AgentFixture.configuration()
    configuration.remoteEndpoint = "https://other.test"
    _ = fixture.tell(.configure(configuration), at: 3)
    #expect(try alarms(at: 4) == ["Simulated positions are being sent to https://other.test"])
    _ = fixture.tell(.configure(try AgentFixture.configuration()), at: 5)
    #expect(try alarms(at: 6) == [])
  }
}
