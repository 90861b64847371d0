// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import NMEA
import NMEATesting
import Testing
import Timekeeping

struct LineStatisticsTests {
  private static func counters(_ sentences: UInt64, wrong: UInt64) -> NMEADecoder.Counters {
    var counters = NMEADecoder.Counters()
    (counters.sentences, counters.wrongChecksum) = (sentences, wrong)
    return counters
  }

  @Test("no error rate is computed from few lines, and a low error rate is not reported as a problem")
  func share() {
    var statistics = LineStatistics(.serial)
    statistics.observe(Self.counters(40, wrong: 9))
    expect(statistics.wrongChecksumShare == nil && statistics.problem == nil)
    statistics.observe(Self.counters(96, wrong: 9))
    expectEqual(statistics.problem, "9 % of lines have wrong checksums: cable or baud rate")
    statistics.observe(Self.counters(491, wrong: 9))
    expectNil(statistics.problem)
  }

  @Test("for a network source the problem names the sender's receiver or its cable as the cause")
  func network() {
    var statistics = LineStatistics(.network)
    statistics.observe(Self.counters(96, wrong: 4))
    expectEqual(statistics.problem, "4 % of lines have wrong checksums: the sender's receiver or its cable")
  }

  @Test("old errors are counted, but no longer reported as a problem")
  func window() {
    var statistics = LineStatistics(.serial)
    var counters = Self.counters(0, wrong: 400)
    statistics.observe(counters)
    expect(statistics.problem != nil)
    for _ in 0..<1100 {
      counters.sentences += 1
      statistics.observe(counters)
    }
    expectNil(statistics.problem)
    expectEqual(statistics.counters.wrongChecksum, 400)
  }

  @Test("the counters continue when the decoder is replaced")
  func replaced() {
    var statistics = LineStatistics(.serial)
    statistics.observe(Self.counters(70, wrong: 3))
    statistics.decoderReplaced()
    statistics.observe(Self.counters(30, wrong: 1))
    expectEqual(statistics.counters, Self.counters(100, wrong: 4))
  }

  @Test(
    "other protocols, proprietary sentences and tag blocks count as foreign, and a sentence after them is read")
  func foreign() {
    let fix = "GPGLL,4500.0,N,00100.0,E,083002,A,A"
    func sentence(_ body: String) -> String {
      let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
      return "$\(body)*\(sum.count < 2 ? "0" : "")\(sum)\r\n"
    }
    let lines = [
      "!AIVDM,1,1,,B,177KQJ5000G?tO`K>RA1wUbN0TKH,0*5C\r\n", ">RPV15714+3739438-1220384601500022;ID=1234;*7F<\r\n",
      sentence("PCPTI,router,130915,190209"), "\\s:gps0,c:1120959341*51\\" + sentence(fix),
    ]
    let bytes = Array(("\r\n" + lines.joined()).utf8)
    for split in 0...bytes.count {
      var decoder = NMEADecoder()
      var fixes = 0
      decoder.decode(Array(bytes[..<split]), at: .boot) { _ in fixes += 1 }
      decoder.decode(Array(bytes[split...]), at: .boot) { _ in fixes += 1 }
      decoder.finish { _ in fixes += 1 }
      expectEqual(fixes, 1, "split at \(split)")
      expectEqual(decoder.counters.foreign, 4, "split at \(split)")
      expect(decoder.counters.sentences == 2 && decoder.counters.unchecked == 0, "split at \(split)")
    }
  }

  @Test("the counters of a serial line survive reopening, and exclude data at baud rates that are only probed")
  func session() {
    var session = SerialSession(device: "/dev/gps0", baud: nil, silenceTimeout: .seconds(10), seed: 1)
    var now = BootInstant.boot
    _ = session.handle(.start, at: now)
    _ = session.handle(.opened(isTerminal: true), at: now)
    let noise = Array("$garbage\u{1}$GPGLL,1*00\r\n".utf8)
    _ = session.receive(noise.span, at: now)
    expectEqual(session.lineStatistics.counters.lines, 0)
    let good = Array("$GPGLL,4500.0,N,00100.0,E,083002,A,A*4E\r\n$GPGLL,4500.0,N,00100.0,E,083002,A,A*4F\r\n".utf8)
    now = now + .milliseconds(200)
    _ = session.receive(good.span, at: now)
    expectEqual(session.lineStatistics.counters.sentences, 1)
    _ = session.handle(.ended("unplugged"), at: now)
    _ = session.handle(.appeared, at: now)
    _ = session.handle(.opened(isTerminal: true), at: now)
    _ = session.receive(good.span, at: now)
    expectEqual(session.lineStatistics.counters.sentences, 2)
  }
}
