// SPDX-License-Identifier: Apache-2.0
import Expectations
import Reporting
import Vehicle
import FleetEngine
import FoundationEssentials
import Glibc
import Positioning
import Testing
import Timekeeping

/// The daemon's reports for recorded drives, byte by byte in virtual time. A change that improves a figure should also
/// tighten its bound, so that the improvement is not lost later.
struct RoadReportTests {
  @Test("a vehicle at standstill is reported with the course before or after, not that of its drifting position")
  func headings() throws {
    let total = try RoadDrive.allCases.map { RoadReport(try RoadRun($0, over: .uart(baud: $0.baud))) }
      .reduce(RoadReport(), +)
    expect(total.standing >= 2500, "\(total.standing)")
    expect(total.misdirectedShare <= 0.025, "\(total.misdirected) of \(total.standing)")
    expectStated(ReportingDocument.standstill(total))
  }

  @Test(
    "at least 97 % of updates contain the fix nearest in time despite arrival jitter, and their mean interval is 10 s",
    arguments: ReportingDocument.kinds.indices)
  func freshness(index: Int) throws {
    let kind = ReportingDocument.kinds[index]
    let reports = try ReportingDocument.jitters.map { try ReportingDocument.outdated(over: kind.line, jitter: $0) }
    for (total, share) in zip(reports, [0.02, 0.03, 0.03]) {
      expect(total.driving > 2000)
      expect(total.outdatedShare <= share, "\(total.outdated) of \(total.driving)")
      expect(abs(RoadReport.mean(total.intervals) - 10) < 0.15, "\(RoadReport.mean(total.intervals)) s")
    }
    expectStated(ReportingDocument.freshnessRow(kind.name, reports))
  }

  /// Records an issue unless docs/reporting.md has this text.
  private func expectStated(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) {
    guard getenv("UPDATE_GOLDENS") == nil else { return }
    let page = try? String(contentsOfFile: RoadReportTests.page, encoding: .utf8)
    expect(page?.contains(text) == true, "UPDATE_GOLDENS=1 adds \(text)", sourceLocation: sourceLocation)
  }

  @Test("with deviation = 5 m the reported track follows corners better, for at most a quarter more updates")
  func corner() throws {
    let (usual, early) = try (
      RoadReport(RoadRun(.geniviMunich, over: .uart(baud: 38_400))),
      RoadReport(RoadRun(.geniviMunich, .init(deviation: 5), over: .uart(baud: 38_400)))
    )
    expect(RoadReport.quantile(0.95, of: early.track) < 0.8 * RoadReport.quantile(0.95, of: usual.track))
    expect(early.track.max() ?? 0 < 0.7 * (usual.track.max() ?? 0))
    expect(early.updates < usual.updates * 5 / 4)
  }

  @Test("the errors of an RTK receiver are consistent with its reported accuracy")
  func accuracy() throws {
    let run = try RoadRun(.mountainView, over: .uart(baud: 38_400))
    let truth = try RoadDrive.mountainView.truth()
    var (known, within, withinThree, least) = (0, 0, 0, Double.infinity)
    // A parked vehicle is reported at the position where it stopped.
    for update in run.updates where !run.fixes[update.index].isParked {
      let location = run.fixes[update.index].location
      guard let accuracy = location.horizontalAccuracy else { continue }
      least = min(least, accuracy)
      guard let next = truth.firstIndex(where: { $0.time > location.time }), next > 0 else { continue }
      let (before, after) = (truth[next - 1], truth[next])
      guard after.time - before.time <= .seconds(2) else { continue }
      let fraction = (location.time - before.time).inSeconds / (after.time - before.time).inSeconds
      let error = before.coordinate.interpolated(to: after.coordinate, fraction: fraction)
        .distance(to: location.coordinate)
      known += 1
      if error <= accuracy { within += 1 }
      if error <= 3 * accuracy { withinThree += 1 }
    }
    expect(known > 90 && least >= 0.5)
    expect(within * 5 >= known * 2 && withinThree * 20 >= known * 19, "\(within), \(withinThree) of \(known)")
  }

  private static let page = root + "/docs/reporting.md"
  private static let picture = root + "/docs/images/corner.svg"
  private static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

  @Test(
    "docs/reporting.md and its picture are current: UPDATE_GOLDENS=1 writes them, and FILTER_SCORE=1 checks them",
    .enabled(if: getenv("FILTER_SCORE") != nil || getenv("UPDATE_GOLDENS") != nil))
  func document() throws {
    let choices = [ReportingDocument.usual] + ReportingDocument.deviations + ReportingDocument.others
    let corners = try choices.map { ($0, try ReportingDocument.report($0)) }
    let freshness = try ReportingDocument.kinds.map { kind in
      try ReportingDocument.jitters.map { try ReportingDocument.outdated(over: kind.line, jitter: $0) }
    }
    let standing = try RoadDrive.allCases.map { RoadReport(try RoadRun($0, over: .uart(baud: $0.baud))) }
      .reduce(RoadReport(), +)
    let page = ReportingDocument.page(corners: corners, freshness: freshness, standing: standing)
    let line = RoadLine.uart(baud: RoadDrive.mountainView.baud)
    let picture = ReportingDocument.picture(
      try RoadRun(.mountainView, over: line), try RoadRun(.mountainView, ReportingDocument.chosen, over: line))
    if getenv("UPDATE_GOLDENS") != nil {
      try page.write(toFile: RoadReportTests.page, atomically: true, encoding: .utf8)
      try picture.write(toFile: RoadReportTests.picture, atomically: true, encoding: .utf8)
    }
    try expectEqual(String(contentsOfFile: RoadReportTests.page, encoding: .utf8), page)
    try expectEqual(String(contentsOfFile: RoadReportTests.picture, encoding: .utf8), picture)
  }
}
