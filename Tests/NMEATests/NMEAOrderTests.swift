// SPDX-License-Identifier: Apache-2.0
import Expectations
import NMEA
import NMEATesting
import Positioning
import Testing
import Timekeeping

/// The assignment of VTG and GSA, which have no time, to epochs.
struct NMEAOrderTests {
  private static let position = "5230.000,N,01324.000,E"

  /// A sentence of the epoch at this second. GSA's HDOP is the second plus a half, and VTG's speed in knots is the
  /// second.
  private static func sentence(_ kind: String, _ second: Int, isTimed: Bool = true) -> String {
    let time = isTimed ? "0830\(second < 10 ? "0" : "")\(second).000" : ""
    switch kind {
    case "RMC": return NMEATesting.sentence("GPRMC,\(time),A,\(position),,,211126,,,A")
    case "GGA": return NMEATesting.sentence("GPGGA,\(time),\(position),1,08,,34.5,M,40.5,M,,")
    case "GLL": return NMEATesting.sentence("GPGLL,\(position),\(time),A,A")
    case "GSA": return NMEATesting.sentence("GPGSA,A,3,04,07,13,23,,,,,,,,,2.4,\(second).5,1.9")
    default: return NMEATesting.sentence("GPVTG,45.0,T,,M,\(second).0,N,,K,A")
    }
  }

  private static func burst(_ kinds: String, _ second: Int, isTimed: Bool = true) -> String {
    kinds.split(separator: " ").map { sentence(String($0), second, isTimed: isTimed) }.joined()
  }

  /// Bursts in SiRF's order, with GGA only in seconds that are divisible by `period`.
  private static func sirf(_ seconds: Range<Int>, every period: Int = 4) -> [String] {
    seconds.map { burst($0 % period == 0 ? "GGA GSA RMC" : "GSA RMC", $0) }
  }

  /// The HDOP of each fix: its second plus a half if it has its own GSA.
  private func hdops(_ fixes: [Fix]) -> [Double?] { fixes.map(\.hdop) }

  private func expectedHDOPs(_ seconds: Range<Int>) -> [Double?] { seconds.map { Double($0) + 0.5 } }

  @Test("in a recording, a GSA before RMC belongs to the epoch of that RMC, once two epochs have shown the order")
  func learnt() {
    let text = NMEAOrderTests.sirf(0..<20).joined()
    expectEqual(hdops(fixes(text)).dropFirst(4), expectedHDOPs(4..<20)[...])
  }

  @Test(
    "if the start of a recording is analysed first, even epochs before the one that shows the order are correct")
  func studied() {
    let bytes = Array(NMEAOrderTests.sirf(1..<20).joined().utf8)
    var decoder = NMEADecoder()
    decoder.learnSentenceOrder(from: bytes.span)
    var found: [Fix] = []
    decoder.decode(bytes, at: .boot) { found.append($0) }
    decoder.finish { found.append($0) }
    expectEqual(hdops(found), expectedHDOPs(1..<20))
    expect(decoder.counters.late == 0 && decoder.counters.fixes == 19)
  }

  @Test(
    "unless the order shows otherwise, a sentence without a time belongs to the last epoch before it",
    arguments: ["RMC GGA GSA", "RMC VTG GGA GSA GLL", "GGA GLL GSA RMC VTG", "RMC GSA", "GGA VTG GSA"])
  func trailing(order: String) {
    let text = (0..<20).map { NMEAOrderTests.burst(order, $0) }.joined()
    expectEqual(hdops(fixes(text)), expectedHDOPs(0..<20))
  }

  @Test("if a receiver sends each burst twice, GSA is still assigned to the right epoch")
  func doubled() {
    let text = (0..<20).map { second in
      String(repeating: NMEAOrderTests.burst("GGA GSA RMC", second), count: 2)
    }.joined()
    let (found, counters) = decode([Array(text.utf8)])
    expectEqual(hdops(found), expectedHDOPs(0..<20))
    expectEqual(counters.late, 0)
  }

  @Test("VTG is assigned like GSA, and several GSA sentences of one epoch stay together")
  func several() {
    let text = (0..<20).map { second in
      NMEAOrderTests.burst(second % 3 == 0 ? "GGA VTG GSA GSA RMC" : "VTG GSA GSA RMC", second)
    }.joined()
    let found = fixes(text).dropFirst(4)
    expectEqual(hdops(Array(found)), expectedHDOPs(4..<20))
    expect(found.allSatisfy { $0.satellites == 8 })
    let knots: [Double?] = found.map { fix in fix.speed.map { ($0 * 1.943_844_5).rounded() } }
    let expected: [Double?] = (4..<20).map { Double($0) }
    expectEqual(knots, expected)
  }

  /// Decodes bursts with pauses between them, as they arrive live.
  private func live(_ bursts: [String]) -> [Fix] {
    var decoder = NMEADecoder()
    var found: [Fix] = []
    for (second, burst) in bursts.enumerated() {
      let now = BootInstant.boot + .seconds(second)
      decoder.expire(at: now) { found.append($0) }
      decoder.decode(Array(burst.utf8), at: now) { found.append($0) }
    }
    decoder.finish { found.append($0) }
    return found
  }

  @Test("live, pauses separate the bursts, whatever their order, and a recording gives the same fixes")
  func live() {
    let bursts = NMEAOrderTests.sirf(0..<20)
    expectEqual(hdops(live(bursts)), expectedHDOPs(0..<20))
    expectEqual(live(bursts).dropFirst(4), fixes(bursts.joined()).dropFirst(4))
    for order in ["RMC GGA GSA", "GSA RMC GGA", "VTG GSA RMC"] {
      expectEqual(hdops(live((0..<20).map { NMEAOrderTests.burst(order, $0) })), expectedHDOPs(0..<20))
    }
  }

  @Test("live, a sentence without a time begins an epoch even if its first bytes arrive 100 ms before the rest")
  func partial() {
    var decoder = NMEADecoder()
    var found: [Fix] = []
    for second in 0..<20 {
      let now = BootInstant.boot + .seconds(second)
      let burst = Array(NMEAOrderTests.burst("GSA RMC GGA", second).utf8)
      decoder.decode(Array(burst.prefix(2)), at: now) { found.append($0) }
      decoder.noteActivity(at: now + .milliseconds(100))
      decoder.decode(Array(burst.dropFirst(2)), at: now + .milliseconds(100)) { found.append($0) }
      decoder.expire(at: now + .milliseconds(200)) { found.append($0) }
    }
    expectEqual(hdops(found), expectedHDOPs(0..<20))
    expectEqual(decoder.counters.late, 0)
  }

  @Test("live, at most two fixes have a missing or wrong GSA when a receiver changes its order")
  func changed() {
    let bursts = NMEAOrderTests.sirf(0..<20, every: 1) + (20..<40).map { NMEAOrderTests.burst("GGA RMC GSA", $0) }
    let found = hdops(live(bursts))
    expectEqual(found.count, 40)
    let wrong = zip(found, expectedHDOPs(0..<40)).count { $0 != $1 }
    expect(wrong <= 2)
  }

  @Test("live, two bursts without a pause between them are separated by the order of their sentences")
  func merged() {
    let bursts = NMEAOrderTests.sirf(0..<20)
    let merged = stride(from: 0, to: 20, by: 2).map { bursts[$0] + bursts[$0 + 1] }
    expectEqual(hdops(live(merged)).dropFirst(4), expectedHDOPs(4..<20)[...])
  }

  @Test("an epoch without a time gives one fix, even if the next epoch arrives in the same burst")
  func untimed() {
    let bursts = (0..<5).map { NMEAOrderTests.burst("RMC VTG GGA GSA GLL", $0) }
    let untimed = (5..<7).map { second in
      NMEAOrderTests.burst("RMC VTG GGA GSA GLL", second, isTimed: false)
    }
    expectEqual(hdops(live(bursts + untimed)), expectedHDOPs(0..<7))
    expectEqual(hdops(live(Array(bursts.prefix(2)) + [untimed.joined()])), expectedHDOPs(0..<2) + expectedHDOPs(5..<7))
  }
}
