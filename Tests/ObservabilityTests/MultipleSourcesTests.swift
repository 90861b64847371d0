// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Expectations
import Vehicle
import FixSources
import Testing
import Timekeeping

@testable import Observability

/// The texts of the journal, `status` and `explain` about several sources.
struct MultipleSourcesTests {
  private var receivers: TwoReceivers

  init() throws {
    receivers = try TwoReceivers()
  }

  private var report: StatusReport { StatusReport(receivers.fixture.snapshot()) }
  private var line: String { receivers.fixture.snapshot().statusLine }

  private static func words(_ events: [Event]) -> [String] { events.map { "\($0.kind.rawValue): \($0.sentence)" } }

  @Test("a source whose clock is behind is named, with the reason why its fixes are suppressed", arguments: [3, 8])
  mutating func held(lag: Int) throws {
    receivers = try TwoReceivers(clocks: [0, Double(-lag)])
    receivers.reporting = [0, 1]
    try receivers.play(21)
    let chosen = receivers.report(0, .lost("/dev/gps0: the device is gone")).last
    receivers.reporting = [1]
    let words = "its clock is behind: its positions are \(lag) s older than the last one reported"
    expectEqual(chosen?.sentence, "Using source 2 of 2, /dev/gps1 (1: /dev/gps0: the device is gone); \(words)")
    expect(
      line.hasPrefix(
        "Waiting for a newer fix of /dev/gps1: \(words); source 2 of 2 (1: /dev/gps0: the device is gone); "))
    expectEqual(report.sources?.last?.explanation, "no source of higher priority is good; \(words)")
    try receivers.play(1)
    expectEqual(
      report.explanation,
      Explanation(
        "held",
        "Fixes of /dev/gps1 are held: its clock is behind: its positions are \(lag - 1) s older than the last one reported."
      ))
    try receivers.play(lag - 1)
    expectEqual(report.counters["held"], lag)
    try receivers.play(1)
    expect(!line.contains("clock") && report.explanation.reason != "held")
  }

  @Test("a failover and a failback are in the journal")
  mutating func story() throws {
    var story = receivers.report(0, .reading("/dev/gps0 at 9600 baud"))
    receivers.reporting = [0]
    story += try receivers.play(1).prefix(2)
    story += receivers.report(1, .reading("/dev/gps1 at 9600 baud"))
    receivers.reporting = [0, 1]
    try receivers.play(69)
    story += receivers.report(0, .lost("/dev/gps0: the device is gone"))
    receivers.reporting = [1]
    try receivers.play(3)
    story += receivers.report(0, .reading("/dev/gps0 at 9600 baud"))
    receivers.reporting = [0, 1]
    story += try receivers.play(13).filter { $0.kind == .sourceChosen }
    receivers.reporting = []
    story += try receivers.play(12).filter { $0.kind == .noSourceGood }
    expectEqual(
      MultipleSourcesTests.words(story),
      [
        "sourceOpened: Reading source 1 of 2, /dev/gps0 at 9600 baud",
        "sourceChosen: Using source 1 of 2, /dev/gps0 at 9600 baud (the first in the list)",
        "firstFix: First fix: 3D, ±3 m",
        "sourceOpened: Reading source 2 of 2, /dev/gps1 at 9600 baud",
        "sourceLost: Source 1 of 2 unavailable: /dev/gps0: the device is gone",
        "sourceChosen: Using source 2 of 2, /dev/gps1 at 9600 baud (1: /dev/gps0: the device is gone)",
        "sourceOpened: Reading source 1 of 2, /dev/gps0 at 9600 baud",
        "sourceChosen: Using source 1 of 2, /dev/gps0 at 9600 baud (it has been good for 10 s)",
        "noSourceGood: None of 2 sources has an acceptable position: 1: /dev/gps0 at 9600 baud has no acceptable "
          + "position; 2: /dev/gps1 at 9600 baud has no acceptable position",
      ])
  }

  @Test("the status says which source is used and why, or that there is none")
  mutating func status() throws {
    expect(line.hasPrefix("No source: 1: no data from /dev/gps0 yet; 2: no data from /dev/gps1 yet; "))
    receivers.report(0, .lost("/dev/gps0: gone"))
    expectEqual(report.state?.level, "warning")
    receivers.report(1, .reading("/dev/gps1 at 9600 baud"))
    receivers.reporting = [1]
    try receivers.play(1)
    expect(line.contains("; source 2 of 2 (1: /dev/gps0: gone); "))
    expectEqual(report.source, "/dev/gps1 at 9600 baud")
    expectEqual(report.sources?.map(\.isUsed), [false, true])
    expectEqual(report.sources?.map(\.condition), ["lost", "good"])
    expectEqual(report.sources?.map(\.explanation), ["/dev/gps0: gone", "no source of higher priority is good"])
    receivers.report(1, .ended)
    expect(line.hasPrefix("No source: 1: /dev/gps0: gone; 2: /dev/gps1 at 9600 baud has ended; "))
    expectEqual(report.state?.level, "bad")
  }

  @Test("a single source is named without a number, even when it ends without an accepted position")
  func alone() throws {
    var fixture = try AgentFixture()
    func words(_ report: SourceReport) -> [String] {
      MultipleSourcesTests.words(
        fixture.handle(.source(0, report), at: 1).compactMap { if case .event(let event) = $0 { event } else { nil } })
    }
    expectEqual(words(.reading("/dev/gps0 at 9600 baud")), ["sourceOpened: Reading /dev/gps0 at 9600 baud"])
    expectEqual(words(.lost("/dev/gps0: gone")), ["sourceLost: Source unavailable: /dev/gps0: gone"])
    expectNil(StatusReport(fixture.snapshot()).sources)
    expectEqual(
      words(.ended),
      [
        "sourceLost: Source unavailable: /dev/gps0 at 9600 baud has ended without an accepted position",
        "stopping: Stopping: the source has no more positions",
      ])
  }
}
