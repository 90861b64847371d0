// SPDX-License-Identifier: Apache-2.0
import Expectations
import Foundation
import Vehicle
import Observability
import Testing
import Timekeeping

@testable import SimulatedWorld

/// The output of `journalctl -u fleet-locationd -p notice` for a day.
struct DiaryTests {
  /// A working day. Its times are seconds since the box was powered on, at 05:58.
  private static let day = Scenario(
    duration: 36_000,
    drive: .stretches([
      (720, 0), (3000, 14), (300, 0), (3180, 22), (2100, 0), (3300, 14), (1800, 0), (7200, 18), (600, 0), (9000, 14),
      (600, 0),
    ]),
    faults: [
      // In the depot.
      Fault(.noFix, 0..<95),
      // A tunnel.
      Fault(.noFix, 4200..<4440), Fault(.silent, 4200..<4440),
      // In an underground car park.
      Fault(.noFix, 7200..<9300), Fault(.unreachable, 7230..<9290),
      Fault(.providerDown, 12_240..<13_920),
      Fault(.answers(503, "UNAVAILABLE"), 18_000..<21_600),
      // A road at the edge of coverage.
      Fault(.loss(0.7), 24_000..<25_200),
    ],
    acts: acts, wallError: -75)

  private static var acts: [(second: Int, act: Scenario.Act)] {
    var acts: [(second: Int, act: Scenario.Act)] = [
      (420, .clockStep(75)), (7230, .network(false)), (9290, .network(true)), (14_400, .pause), (16_200, .resume),
    ]
    for second in stride(from: 24_000, to: 25_200, by: 50) {
      acts += [(second, .network(false)), (second + 20, .network(true))]
    }
    return acts + [(28_920, .stop(within: 3))]
  }

  @Test("the journal of a day has the expected notices in order, and docs/journal.md quotes them")
  func diary() throws {
    let world = try World.drive(DiaryTests.day)
    var events = [(BootInstant.boot, Event.started(vehicle: "truck-17", version: "1.0.0"))]
    events += world.events.map { ($0.at, $0.event) }
    let end = try #require(world.finishedAt)
    events.append((end, .stopped(undelivered: world.undelivered ?? -1)))
    let diary = events.filter { $0.1.kind.priority <= .notice }
      .map { "\(DiaryTests.timeOfDay($0.0))  \($0.1.sentence)\n" }.joined()

    let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("diary.txt")
    if ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] != nil {
      try diary.write(to: golden, atomically: true, encoding: .utf8)
    }
    try expectEqual(diary, String(contentsOf: golden, encoding: .utf8))

    let root = (0..<3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    let journal = try String(contentsOf: root.appendingPathComponent("docs/journal.md"), encoding: .utf8)
    let quoted = journal.split(separator: "\n").filter { $0.wholeMatch(of: /\d\d:\d\d:\d\d  .*/) != nil }
    expect(quoted.count > 10)
    for line in quoted { expect(diary.contains("\(line)\n"), "docs/journal.md: \(line)") }
  }

  private static func timeOfDay(_ instant: BootInstant) -> String {
    let seconds = 5 * 3600 + 58 * 60 + Int(World.seconds(instant))
    return [seconds / 3600, seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
  }
}
