// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import NMEATesting
import Positioning
import Testing
import Timekeeping

struct GPSDRecordingDecoderTests {
  private func decode(_ text: String, portion: Int) -> [Fix] {
    var decoder = GPSDRecordingDecoder()
    var fixes: [Fix] = []
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: portion) {
      decoder.decode(bytes[start..<min(start + portion, bytes.count)].span) { fixes.append($0) }
    }
    decoder.finish { fixes.append($0) }
    return fixes
  }

  private static func position(_ second: Int, device: String = "/dev/ttyUSB0") -> String {
    #"{"class":"TPV","device":"\#(device)","mode":3,"time":"2026-11-21T08:30:\#(second).000Z","lat":52.5,"lon":13.4}"#
  }

  @Test(
    "every fix is read, however the data is split, even without a final line end", arguments: [1, 7, 64, 100_000])
  func portions(portion: Int) {
    let text =
      #"{"class":"VERSION","release":"3.25","proto_major":3,"proto_minor":15}"# + "\r\n"
      + [10, 11, 12].map { GPSDRecordingDecoderTests.position($0) }.joined(separator: "\n")
    expectEqual(
      decode(text, portion: portion).map(\.timestamp?.rfc3339),
      [
        "2026-11-21T08:30:10.000Z", "2026-11-21T08:30:11.000Z", "2026-11-21T08:30:12.000Z",
      ])
  }

  @Test("time advances with the recorded fixes: satellite counts expire, and after 10 s another receiver is used")
  func time() {
    let sky = #"{"class":"SKY","device":"/dev/ttyUSB0","hdop":0.9,"uSat":9}"#
    let lines = [
      sky, GPSDRecordingDecoderTests.position(10), GPSDRecordingDecoderTests.position(12, device: "/dev/ttyUSB1"),
      GPSDRecordingDecoderTests.position(18), GPSDRecordingDecoderTests.position(30),
      // The count expires one fix later, because a report is decoded at the time of the previous fix.
      GPSDRecordingDecoderTests.position(31), GPSDRecordingDecoderTests.position(50, device: "/dev/ttyUSB1"),
      GPSDRecordingDecoderTests.position(55, device: "/dev/ttyUSB1"),
    ]
    let fixes = decode(lines.joined(separator: "\n"), portion: 4096)
    expectEqual(fixes.map(\.satellites), [9, 9, 9, nil, nil])
  }
}
