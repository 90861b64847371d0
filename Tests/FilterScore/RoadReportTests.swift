// SPDX-License-Identifier: Apache-2.0
import Testing

/// What the daemon reports of recorded drives, byte by byte in virtual time. What it has reached is not to be lost: a
/// change that makes it better sets the bounds anew.
@Suite struct RoadReportTests {
  @Test("a vehicle that stands is reported with the heading of the road, not of a drifting position")
  func headings() throws {
    let total = try RoadDrive.allCases.map { RoadReport(try RoadRun($0, over: .uart(baud: $0.baud))) }
      .reduce(RoadReport(), +)
    #expect(total.standing >= 2500, "\(total.standing)")
    #expect(total.misdirectedShare <= 0.025, "\(total.misdirected) of \(total.standing)")
  }
}
