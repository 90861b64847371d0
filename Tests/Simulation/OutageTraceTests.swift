// SPDX-License-Identifier: Apache-2.0
import Expectations
import Glibc
import Testing

@testable import SimulatedWorld

/// The drive that `docs/images/outage.svg` shows.
struct OutageTraceTests {
  /// Four minutes without coverage, including a tunnel, and later two minutes in which Fleet Engine is down.
  private static let scenario = Scenario(
    duration: 900,
    faults: [
      Fault(.silent, 180..<420), Fault(.noFix, 270..<330), Fault(.answers(503, "UNAVAILABLE"), 600..<720),
    ])

  @Test("after a lack of coverage, a tunnel and an outage of Fleet Engine, the track is complete except for the tunnel")
  func outage() throws {
    let world = try World.drive(OutageTraceTests.scenario)
    expect(world.applied(181..<420).isEmpty && world.applied(600..<720).isEmpty)
    expect(world.longestGap(5..<269) <= 13 && world.longestGap(331..<890) <= 13)
    expectEqual(world.waiting.count, 900)
    expect(world.waiting[410] >= 15 && world.waiting[899] == 0)
    expectEqual(Set(world.attempts.map { $0.status ?? 0 }), [0, 200, 503])
    expectEqual(StrictJSON([UInt8](world.trace.utf8))?.object?["applied"]?.array?.count, world.server.applied.count)
    try OutageTraceTests.write(world.trace)
  }

  /// Writes the trace to the file that `OUTAGE_TRACE` names, if it is set.
  private static func write(_ text: String) throws {
    guard let path = getenv("OUTAGE_TRACE") else { return }
    let file = try #require(fopen(path, "w"), "OUTAGE_TRACE names a file that cannot be written")
    let isWritten = fputs(text, file) >= 0
    expect(fclose(file) == 0 && isWritten)
  }
}
