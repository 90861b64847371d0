// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import Testing
import Timekeeping

struct ReceiverProtocolTests {
  /// Two or three messages of each protocol with valid framing; most have a shortened payload.
  private static let messages: [(ReceiverProtocol, [UInt8])] = [
    // NAV-PVT with length 0, twice.
    (.ubx, [0xB5, 0x62, 0x01, 0x07, 0, 0, 0x08, 0x19, 0xB5, 0x62, 0x01, 0x07, 0, 0, 0x08, 0x19]),
    (.sirf, Array(repeating: [0xA0, 0xA2, 0, 2, 0x02, 0x0B, 0, 0x0D, 0xB0, 0xB3], count: 3).flatMap { $0 }),
    (.tsip, Array(repeating: [0x10, 0x8F, 0xAB, 0, 1, 2, 0x10, 0x10, 0x03], count: 3).flatMap { $0 }),
    (.rtcm, Array(repeating: [0xD3, 0x00, 0x04, 0x4C, 0xE0, 0x00, 0x80, 1, 2, 3], count: 3).flatMap { $0 }),
    (.taip, Array(">RPV15714+3739438-1220384601512612;ID=1234;*7F<>RLN15714<".utf8)),
    (.at, Array("AT+CGNSINF\r\r\n+CGNSINF: 1,1\r\n\r\nOK\r\n".utf8)),
  ]

  /// The protocol that is recognized in these bytes, received in chunks.
  private static func found(in bytes: [UInt8], chunk size: Int) -> ReceiverProtocol? {
    var detector = ReceiverProtocolDetector()
    for start in stride(from: 0, to: bytes.count, by: size) {
      let chunk = Array(bytes[start..<min(start + size, bytes.count)])
      detector.read(chunk.span)
    }
    return detector.found
  }

  @Test("each protocol is recognized after two or three messages, in chunks of any size", arguments: messages.indices)
  func recognized(index: Int) {
    let (name, bytes) = ReceiverProtocolTests.messages[index]
    for size in [1, 2, 3, bytes.count] {
      expectEqual(ReceiverProtocolTests.found(in: bytes, chunk: size), name, "\(size)")
    }
    expectNil(ReceiverProtocolTests.found(in: Array(bytes.prefix(6)), chunk: 6))
  }

  @Test("one final result of a modem, such as OK, is enough to recognize AT commands, if it is a complete line")
  func answer() {
    for text in ["\r\nOK\r\n", "AT\r\nERROR\r\n", "\nNO CARRIER\r"] {
      expectEqual(ReceiverProtocolTests.found(in: Array(text.utf8), chunk: 3), .at)
    }
    for text in ["OK\r\n", "\r\n\u{7F}OK\r\n", "\r\n+CREG: 1\r\n", "\r\nOK"] {
      expectNil(ReceiverProtocolTests.found(in: Array(text.utf8), chunk: 3))
    }
  }

  @Test(
    "neither noise at a wrong baud rate nor NMEA is recognized as another protocol",
    arguments: [1, 2, 3, 4, 5] as [UInt64])
  func noise(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    // The bytes of half a minute at 115,200 baud.
    let noise = (0..<350_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    expectNil(ReceiverProtocolTests.found(in: noise, chunk: 1000))
    let epoch = "$GPGGA,083000,5230.000,N,01324.000,E,1,08,0.9,34.5,M,40.5,M,,*5B\r\n$PUBX,00,OK*12\r\n"
    let sentences = [[UInt8]](repeating: Array(epoch.utf8), count: 100).flatMap { $0 }
    expectNil(ReceiverProtocolTests.found(in: sentences, chunk: 100))
  }

  @Test("every protocol has a name and advice", arguments: ReceiverProtocol.allCases)
  func texts(name: ReceiverProtocol) {
    expect(name.name.count > 3 && !name.name.hasSuffix("."))
    expect(name.advice.count > 30 && !name.advice.hasSuffix("."))
  }
}
