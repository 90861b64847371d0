// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import FixSources
import NMEATesting

struct ModemSentencesTests {
  private func bytes(_ bodies: [String]) -> [UInt8] { Array(bodies.map(sentence).joined().utf8) }

  private func examine(_ sentences: inout ModemSentences, _ bodies: [String]) -> ModemSentences.Finding {
    let bytes = bytes(bodies)
    return sentences.examine(bytes.span, acceptsPartial: true, acceptsUntimed: true)
  }

  private func rmc(_ time: String, _ talker: String = "GP") -> String {
    "\(talker)RMC,\(time).00,A,4807.038,N,01131.000,E,022.4,084.4,230326,,,A"
  }

  @Test("stored sentences of a type that is no longer sent are omitted, even if their time of day is later")
  func abandoned() {
    var sentences = ModemSentences()
    let old = [rmc("235959"), "GPVTG,084.4,T,,M,099.0,N,183.0,K", "GPGSA,A,3,01,02,03,,,,,,,,,,1.5,0.9,1.2"]
    let gsa = "GNGSA,A,3,11,12,13,14,,,,,,,,,1.5,0.9,1.2"
    expectEqual(examine(&sentences, old + [rmc("120000", "GN"), gsa]), .first)
    expectEqual(examine(&sentences, old + [gsa, rmc("120001", "GN")]), .epoch(bytes([rmc("120001", "GN"), gsa])))
    expectEqual(examine(&sentences, old + [rmc("120001", "GN"), gsa]), .repeated)
  }

  @Test("a late sentence gives no second position, and later epochs are complete only with a sentence of its type")
  func late() {
    var sentences = ModemSentences()
    func gga(_ time: String) -> String { "GPGGA,\(time).00,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,," }
    _ = examine(&sentences, [rmc("120000"), gga("115959")])
    expectEqual(examine(&sentences, [rmc("120001"), gga("115959")]), .epoch(bytes([rmc("120001")])))
    expectEqual(examine(&sentences, [rmc("120001"), gga("120000")]), .repeated)
    expectEqual(examine(&sentences, [rmc("120001"), gga("120001")]), .repeated)
    let half = bytes([rmc("120002"), gga("120001")])
    expectEqual(sentences.examine(half.span, acceptsPartial: false, acceptsUntimed: true), .partial)
    expectEqual(
      examine(&sentences, [rmc("120002"), gga("120002")]), .epoch(bytes([rmc("120002"), gga("120002")])))
    // A clock that is set back invalidates all earlier times.
    expectEqual(
      examine(&sentences, [rmc("110000"), gga("110000")]), .epoch(bytes([rmc("110000"), gga("110000")])))
  }

  @Test("a second sentence of the same type, left over from a garbled line, is not a new position")
  func secondOfKind() {
    var sentences = ModemSentences()
    let old = [rmc("120043"), rmc("120013")]
    expectEqual(examine(&sentences, old), .first)
    expectEqual(examine(&sentences, old), .repeated)
    expectEqual(examine(&sentences, [rmc("120044"), rmc("120013")]), .epoch(bytes([rmc("120044")])))
    expectEqual(examine(&sentences, [rmc("120044"), rmc("120013")]), .repeated)
  }

  @Test("after a complete first epoch, the next epoch is expected to have the same types of sentences")
  func half() {
    var sentences = ModemSentences()
    func gga(_ time: String) -> String { "GPGGA,\(time).00,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,," }
    expectEqual(examine(&sentences, [gga("120000"), rmc("120000")]), .first)
    let half = bytes([gga("120001"), rmc("120000")])
    expectEqual(sentences.examine(half.span, acceptsPartial: false, acceptsUntimed: true), .partial)
    expectEqual(
      sentences.examine(half.span, acceptsPartial: true, acceptsUntimed: true), .epoch(bytes([gga("120001")])))
  }

  @Test("if the first response mixes two epochs, the next one is still recognized as incomplete until its rest arrives")
  func mixedFirstResponse() {
    var sentences = ModemSentences()
    func gga(_ time: String) -> String { "GPGGA,\(time).00,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,," }
    _ = examine(&sentences, [gga("120000"), rmc("115959")])
    let half = bytes([gga("120001"), rmc("120000")])
    expectEqual(sentences.examine(half.span, acceptsPartial: false, acceptsUntimed: true), .partial)
    let whole = bytes([gga("120001"), rmc("120001")])
    expectEqual(sentences.examine(whole.span, acceptsPartial: false, acceptsUntimed: true), .epoch(whole))
  }

  @Test("an epoch at midnight is newer than an epoch at the last second of the day")
  func midnight() {
    var sentences = ModemSentences()
    _ = examine(&sentences, [rmc("235958")])
    _ = examine(&sentences, [rmc("235959")])
    expectEqual(examine(&sentences, [rmc("000000")]), .epoch(bytes([rmc("000000")])))
  }

  @Test("ZDA is moved to the start of its epoch, and omitted if it is not new")
  func date() {
    var sentences = ModemSentences()
    let zda = "GPZDA,120000.00,23,03,2026,00,00"
    _ = examine(&sentences, [rmc("115959")])
    expectEqual(examine(&sentences, [rmc("120000"), zda]), .epoch(bytes([zda, rmc("120000")])))
    expectEqual(examine(&sentences, [rmc("120001"), zda]), .epoch(bytes([rmc("120001")])))
  }

  @Test("beside an old sentence with a time, new ones without a time mean no fix; the same ones again are a repetition")
  func untimedBesideAbandoned() {
    var sentences = ModemSentences()
    let old = rmc("120000")
    let void = "GNRMC,,V,,,,,,,,,,N"
    let sky = "GPGSV,1,1,01,05,40,120,30"
    expectEqual(examine(&sentences, [old]), .first)
    let early = bytes([old, void])
    expectEqual(sentences.examine(early.span, acceptsPartial: true, acceptsUntimed: false), .repeated)
    expectEqual(examine(&sentences, [void, old]), .repeated)
    expectEqual(examine(&sentences, [old, void, sky]), .untimed(bytes([void, sky])))
    expectEqual(examine(&sentences, [sky, old, void]), .repeated)
    expectEqual(examine(&sentences, [old, rmc("120009", "GN")]), .epoch(bytes([rmc("120009", "GN")])))
  }

  @Test("damaged sentences and noise are skipped, and sentences without a time are not compared with earlier ones")
  func damage() {
    var sentences = ModemSentences()
    for noise in ["$GPRMC,1*00\r\n$$$,*", ""] {
      let bytes = Array(noise.utf8)
      let finding = sentences.examine(bytes.span, acceptsPartial: true, acceptsUntimed: true)
      expectEqual(finding, .empty)
    }
    let void = "GPRMC,,V,,,,,,,,,,N"
    expectEqual(examine(&sentences, [void]), .untimed(bytes([void])))
    expectEqual(examine(&sentences, [void]), .untimed(bytes([void])))
  }
}
