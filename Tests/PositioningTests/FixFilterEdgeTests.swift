// SPDX-License-Identifier: Apache-2.0
import Expectations
import NMEA
import NMEATesting
import Positioning
import Testing
import Timekeeping

/// Positions and times at which numbers wrap around: all fixes of a vehicle that crosses them are accepted.
struct FixFilterEdgeTests {
  /// The rejections of an NMEA recording that is received at its own times, a sentence per second.
  private static func refused(_ sentences: [String]) -> [FixRejection?] {
    var filter = FixFilter(FixFilter.Configuration(buildDate: Timestamp(seconds: 1_400_000_000)))
    var decoder = NMEADecoder()
    var rejections: [FixRejection?] = []
    for (second, text) in sentences.enumerated() {
      let now = Moment(boot: .boot + .seconds(100 + second), wall: Timestamp(milliseconds: 0))
      var found: [Fix] = []
      decoder.decode(Array(sentence(text).utf8), at: now.boot) { found.append($0) }
      decoder.expire(at: now.boot + .milliseconds(900)) { found.append($0) }
      for fix in found {
        if case .failure(let rejection) = filter.evaluate(fix, at: now) {
          rejections.append(rejection)
        } else {
          rejections.append(nil)
        }
      }
    }
    return rejections
  }

  private static func padded(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

  /// Ten-thousandths of a minute in the digits of an angle, degrees first.
  private static func angle(_ value: Int, degrees: Int, digits: Int) -> String {
    let whole = degrees + value / 600_000
    let minutes = value % 600_000
    let head = String(repeating: "0", count: max(digits - "\(whole)".count, 0)) + "\(whole)"
    let fraction = "\(10_000 + minutes % 10_000)".dropFirst()
    return "\(head)\(padded(minutes / 10_000)).\(fraction)"
  }

  private static func times(_ count: Int, _ body: (Int) -> String) -> [String] { (0..<count).map(body) }

  @Test("across the antimeridian, eastward on the equator: a latitude of zero is valid")
  func antimeridian() {
    // 108 ten-thousandths of a minute of longitude are 20 m on the equator.
    let east = Self.times(60) { second in
      let offset = (second - 30) * 108
      let longitude =
        offset < 0
        ? Self.angle(600_000 + offset, degrees: 179, digits: 3) + ",E"
        : Self.angle(600_000 - offset, degrees: 179, digits: 3) + ",W"
      return "GNRMC,1200\(Self.padded(second)),A,0000.0000,N,\(longitude),38.88,90,211126,,,A"
    }
    expectEqual(Self.refused(east), Array(repeating: nil, count: 60))
  }

  @Test("across the equator, southward: the hemisphere changes without a jump")
  func equator() {
    let south = Self.times(60) { second in
      let offset = (30 - second) * 108
      let latitude = Self.angle(abs(offset), degrees: 0, digits: 2) + (offset >= 0 ? ",N" : ",S")
      return "GNRMC,1200\(Self.padded(second)),A,\(latitude),03700.0000,E,38.88,180,211126,,,A"
    }
    expectEqual(Self.refused(south), Array(repeating: nil, count: 60))
  }

  @Test("across the pole: longitude and heading turn by half a circle, and the position is continuous")
  func pole() {
    let over = Self.times(60) { second in
      let offset = (second - 30) * 108
      let latitude = Self.angle(600_000 - abs(offset), degrees: 89, digits: 2) + ",N"
      let (longitude, heading) = offset < 0 ? ("01500.0000,E", 0) : ("16500.0000,W", 180)
      return "GNRMC,1200\(Self.padded(second)),A,\(latitude),\(longitude),38.88,\(heading),211126,,,A"
    }
    expectEqual(Self.refused(over), Array(repeating: nil, count: 60))
  }

  @Test("across midnight and the end of a year")
  func yearEnd() {
    let text = Self.times(20) { second in
      let time = second < 10 ? "2359\(50 + second),A" : "0000\(Self.padded(second - 10)),A"
      return "GNRMC,\(time),4800.0000,N,01100.0000,E,0.0,,\(second < 10 ? "311226" : "010127"),,,A"
    }
    expectEqual(Self.refused(text), Array(repeating: nil, count: 20))
  }

  @Test("a leap second occurs twice in POSIX time: one fix is a duplicate, and the next is accepted")
  func leapSecond() {
    let text = Self.times(20) { second in
      let time = second < 10 ? "2359\(51 + second)" : "0000\(Self.padded(second - 10))"
      return "GNRMC,\(time),A,4800.0000,N,01100.0000,E,0.0,,\(second < 10 ? "311216" : "010117"),,,A"
    }
    var expected: [FixRejection?] = Array(repeating: nil, count: 20)
    expected[10] = .duplicate
    expectEqual(Self.refused(text), expected)
  }
}
