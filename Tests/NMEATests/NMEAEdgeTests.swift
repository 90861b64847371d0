// SPDX-License-Identifier: Apache-2.0
import Expectations
import NMEA
import NMEATesting
import Positioning
import Testing
import Timekeeping

/// Positions and times at which numbers wrap around: the filter accepts all decoded fixes of a vehicle that crosses
/// them, except a duplicate at a leap second.
struct NMEAEdgeTests {
  /// The result for each fix of these NMEA sentences, which arrive one per second: why it is rejected; nil if it is
  /// accepted.
  private static func results(_ sentences: [String]) -> [FixRejection?] {
    var filter = FixFilter(FixFilter.Configuration(buildDate: Timestamp(seconds: 1_400_000_000)))
    var decoder = NMEADecoder()
    var results: [FixRejection?] = []
    for (second, text) in sentences.enumerated() {
      let now = Moment(boot: .boot + .seconds(100 + second), wall: Timestamp(milliseconds: 0))
      var found: [Fix] = []
      decoder.decode(Array(sentence(text).utf8), at: now.boot) { found.append($0) }
      decoder.expire(at: now.boot + .milliseconds(900)) { found.append($0) }
      for fix in found {
        if case .failure(let rejection) = filter.evaluate(fix, at: now) {
          results.append(rejection)
        } else {
          results.append(nil)
        }
      }
    }
    return results
  }

  private static func padded(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

  /// An NMEA angle (`ddmm.mmmm`): these degrees plus `value` ten-thousandths of a minute; `digits` is the width of the
  /// degrees.
  private static func angle(_ value: Int, degrees: Int, digits: Int) -> String {
    let whole = degrees + value / 600_000
    let minutes = value % 600_000
    let head = String(repeating: "0", count: max(digits - "\(whole)".count, 0)) + "\(whole)"
    let fraction = "\(10_000 + minutes % 10_000)".dropFirst()
    return "\(head)\(padded(minutes / 10_000)).\(fraction)"
  }

  private static func sentences(_ count: Int, _ body: (Int) -> String) -> [String] { (0..<count).map(body) }

  @Test("fixes along the equator across the antimeridian are accepted: a latitude of zero is valid")
  func antimeridian() {
    // 108 ten-thousandths of a minute of longitude are 20 m on the equator.
    let east = Self.sentences(60) { second in
      let offset = (second - 30) * 108
      let longitude =
        offset < 0
        ? Self.angle(600_000 + offset, degrees: 179, digits: 3) + ",E"
        : Self.angle(600_000 - offset, degrees: 179, digits: 3) + ",W"
      return "GNRMC,1200\(Self.padded(second)),A,0000.0000,N,\(longitude),38.88,90,211126,,,A"
    }
    expectEqual(Self.results(east), Array(repeating: nil, count: 60))
  }

  @Test("fixes southward across the equator are accepted: the change of the hemisphere is not a jump")
  func equator() {
    let south = Self.sentences(60) { second in
      let offset = (30 - second) * 108
      let latitude = Self.angle(abs(offset), degrees: 0, digits: 2) + (offset >= 0 ? ",N" : ",S")
      return "GNRMC,1200\(Self.padded(second)),A,\(latitude),03700.0000,E,38.88,180,211126,,,A"
    }
    expectEqual(Self.results(south), Array(repeating: nil, count: 60))
  }

  @Test("fixes across the pole are accepted, although longitude and heading turn by half a circle")
  func pole() {
    let over = Self.sentences(60) { second in
      let offset = (second - 30) * 108
      let latitude = Self.angle(600_000 - abs(offset), degrees: 89, digits: 2) + ",N"
      let (longitude, heading) = offset < 0 ? ("01500.0000,E", 0) : ("16500.0000,W", 180)
      return "GNRMC,1200\(Self.padded(second)),A,\(latitude),\(longitude),38.88,\(heading),211126,,,A"
    }
    expectEqual(Self.results(over), Array(repeating: nil, count: 60))
  }

  @Test("fixes across midnight and the end of a year are accepted")
  func yearEnd() {
    let text = Self.sentences(20) { second in
      let time = second < 10 ? "2359\(50 + second),A" : "0000\(Self.padded(second - 10)),A"
      return "GNRMC,\(time),4800.0000,N,01100.0000,E,0.0,,\(second < 10 ? "311226" : "010127"),,,A"
    }
    expectEqual(Self.results(text), Array(repeating: nil, count: 20))
  }

  @Test("a leap second occurs twice in POSIX time: one fix is a duplicate, and the next is accepted")
  func leapSecond() {
    let text = Self.sentences(20) { second in
      let time = second < 10 ? "2359\(51 + second)" : "0000\(Self.padded(second - 10))"
      return "GNRMC,\(time),A,4800.0000,N,01100.0000,E,0.0,,\(second < 10 ? "311216" : "010117"),,,A"
    }
    var expected: [FixRejection?] = Array(repeating: nil, count: 20)
    expected[10] = .duplicate
    expectEqual(Self.results(text), expected)
  }
}
