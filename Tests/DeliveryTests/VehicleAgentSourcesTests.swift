// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Observability
import Positioning
import Testing
import Timekeeping

@testable import Delivery

/// What is told of several sources.
@Suite struct VehicleAgentSourcesTests {
  private typealias Condition = SourceOverview.Condition

  private func overview(
    _ conditions: [Condition], used: Int? = nil, reason: SourceOverview.Reason = .best
  ) -> SourceOverview {
    SourceOverview(
      sources: conditions.enumerated().map {
        SourceOverview.Source(label: "/dev/gps\($0)", name: "/dev/gps\($0) at 9600 baud", condition: $1)
      }, used: used, reason: reason)
  }

  /// The events' sentences.
  private func tell(_ overview: SourceOverview, _ fixture: inout AgentFixture) -> [String] {
    fixture.tell(.sources(overview), at: fixture.now).compactMap {
      if case .event(let event) = $0 { "\(event.kind.rawValue): \(event.sentence)" } else { nil }
    }
  }

  @Test("a take-over and a take-back read as a story, and nothing is told twice")
  func story() throws {
    var fixture = try AgentFixture()
    #expect(tell(overview([.waiting, .waiting]), &fixture) == [])
    #expect(
      tell(overview([.searching(nil), .waiting]), &fixture) == [
        "sourceOpened: Reading source 1 of 2, /dev/gps0 at 9600 baud"
      ])
    #expect(
      tell(overview([.good, .waiting], used: 0), &fixture) == [
        "sourceChosen: Using source 1 of 2, /dev/gps0 at 9600 baud (the first in the list)"
      ])
    #expect(tell(overview([.good, .good], used: 0), &fixture).map { $0.prefix(13) } == ["sourceOpened:"])
    #expect(
      tell(overview([.lost("/dev/gps0: the device is gone"), .good], used: 1), &fixture) == [
        "sourceLost: No source 1 of 2: /dev/gps0: the device is gone",
        "sourceChosen: Using source 2 of 2, /dev/gps1 at 9600 baud (1: /dev/gps0: the device is gone)",
      ])
    #expect(tell(overview([.lost("/dev/gps0: the device is gone"), .good], used: 1), &fixture) == [])
    #expect(tell(overview([.good, .good], used: 1), &fixture).map { $0.prefix(13) } == ["sourceOpened:"])
    #expect(
      tell(overview([.good, .good], used: 0, reason: .takenBack(after: .seconds(10))), &fixture) == [
        "sourceChosen: Using source 1 of 2, /dev/gps0 at 9600 baud (it has been good for 10 s)"
      ])
    #expect(
      tell(overview([.searching(nil), .searching(.diluted)]), &fixture) == [
        "noSourceGood: None of 2 sources gives a believable position: 1: /dev/gps0 at 9600 baud gives no believable "
          + "position; 2: /dev/gps1 at 9600 baud gives no believable position (refused: HDOP worse than filter.max_hdop)"
      ])
  }

  @Test("the status says which is used and why, and that none is to be had")
  func status() throws {
    var fixture = try AgentFixture()
    _ = tell(overview([.lost("/dev/gps0: gone"), .good], used: 1), &fixture)
    #expect(fixture.snapshot(at: 0).statusLine.contains("; source 2 of 2 (1: /dev/gps0: gone); "))
    let report = StatusReport(fixture.snapshot(at: 0))
    #expect(report.source == "/dev/gps1 at 9600 baud")
    #expect(report.sources?.map(\.isUsed) == [false, true])
    #expect(report.sources?.map(\.condition) == ["lost", "good"])
    #expect(report.sources?.map(\.explanation) == ["/dev/gps0: gone", "none before it is good"])
    _ = tell(overview([.lost("/dev/gps0: gone"), .ended]), &fixture)
    #expect(
      fixture.snapshot(at: 0).statusLine.hasPrefix(
        "No source: 1: /dev/gps0: gone; 2: /dev/gps1 at 9600 baud has ended; "))
  }

  @Test("one source alone is told of without a number")
  func alone() throws {
    var fixture = try AgentFixture()
    #expect(
      tell(overview([.searching(nil)]), &fixture) == ["sourceOpened: Reading /dev/gps0 at 9600 baud"])
    #expect(tell(overview([.good], used: 0), &fixture) == [])
    #expect(tell(overview([.lost("/dev/gps0: gone")]), &fixture) == ["sourceLost: No source: /dev/gps0: gone"])
    #expect(StatusReport(fixture.snapshot(at: 0)).sources == nil)
  }
}
