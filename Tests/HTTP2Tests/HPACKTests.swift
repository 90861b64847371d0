// SPDX-License-Identifier: Apache-2.0
import Expectations
import Synchronization
import Testing
import Timekeeping

@testable import HTTP2

/// Header blocks: the examples of RFC 7541, appendix C, and our own sequences.
struct HPACKTests {
  private typealias Fields = [(String, String)]

  private static let request: Fields = [
    (":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com"),
  ]

  private func bytes(_ hex: String) -> [UInt8] {
    let digits: [Int] = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { (index: Int) -> UInt8 in
      UInt8(digits[index] * 16 + digits[index + 1])
    }
  }

  private func read(_ decoder: inout HPACKDecoder, _ block: [UInt8]) throws -> [String] {
    try decoder.decode(block, limit: 65_536).map { "\($0.name): \($0.value)" }
  }

  @Test("requests are decoded with a persistent table, plain (RFC 7541, C.3) and Huffman-coded (C.4)")
  func requests() throws {
    let expected = [
      [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"],
      [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com", "cache-control: no-cache"],
      [
        ":method: GET", ":scheme: https", ":path: /index.html", ":authority: www.example.com",
        "custom-key: custom-value",
      ],
    ]
    let plain = [
      "828684410f7777772e6578616d706c652e636f6d", "828684be58086e6f2d6361636865",
      "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
    ]
    let coded = [
      "828684418cf1e3c2e5f23a6ba0ab90f4ff", "828684be5886a8eb10649cbf",
      "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
    ]
    for blocks in [plain, coded] {
      var decoder = HPACKDecoder()
      for (block, fields) in zip(blocks, expected) { try expectEqual(read(&decoder, bytes(block)), fields) }
    }
  }

  @Test("requests are encoded as in RFC 7541, C.4")
  func written() {
    var encoder = HPACKEncoder()
    let examples: [(Fields, String)] = [
      (HPACKTests.request, "828684418cf1e3c2e5f23a6ba0ab90f4ff"),
      (HPACKTests.request + [("cache-control", "no-cache")], "828684be5886a8eb10649cbf"),
      (
        [
          (":method", "GET"), (":scheme", "https"), (":path", "/index.html"), (":authority", "www.example.com"),
          ("custom-key", "custom-value"),
        ], "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"
      ),
    ]
    for (fields, hex) in examples {
      var block: [UInt8] = []
      encoder.encode(fields.map { HPACKField($0, $1) }, into: &block)
      expectEqual(block, bytes(hex))
    }
  }

  @Test("responses are decoded with a table of 256 bytes that evicts the oldest entries (RFC 7541, C.6)")
  func responses() throws {
    var decoder = HPACKDecoder()
    // The size update replaces the setting that the example assumes.
    let first =
      "3fe101"
      + "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3"
    let date = "date: Mon, 21 Oct 2013 20:13:21 GMT"
    let location = "location: https://www.example.com"
    try expectEqual(
      read(&decoder, bytes(first)), [":status: 302", "cache-control: private", date, location])
    try expectEqual(
      read(&decoder, bytes("4883640effc1c0bf")), [":status: 307", "cache-control: private", date, location])
    let third =
      "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007"
    try expectEqual(
      read(&decoder, bytes(third)),
      [
        ":status: 200", "cache-control: private", "date: Mon, 21 Oct 2013 20:13:22 GMT", location,
        "content-encoding: gzip", "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
      ])
  }

  @Test(
    "an invalid block is rejected",
    arguments: [
      ("80", "index 0"), ("be", "an entry that is not there"),
      ("007f8080808000" + String(repeating: "61", count: 127) + "00", "a number of more than five bytes"),
      ("ff", "a number without end"), ("4085", "a string without end"), ("8220", "a size update after a field"),
      ("3fe21f", "a size beyond 4,096"), ("408125a8", "a name of eight bits that are no code"),
      ("4003616263", "a field without value"), ("00016184ffffffff", "EOS"),
    ] as [(String, String)])
  func malformed(hex: String, what: String) {
    var decoder = HPACKDecoder()
    #expect(throws: HPACKDecoder.Failure.malformed, "\(what)") {
      try decoder.decode(bytes(hex), limit: 65_536)
    }
  }

  @Test("text with any bytes and of any length is unchanged by Huffman encoding and decoding")
  func huffman() throws {
    let all = (0...255).map { UInt8($0) }
    for count in 0...all.count {
      let text = Array(all.suffix(count))
      var coded: [UInt8] = []
      HuffmanCode.encode(text, into: &coded)
      expectEqual(coded.count, HuffmanCode.size(of: text))
      expectEqual(HuffmanCode.decode(coded[...]), text)
    }
  }

  @Test("Huffman padding that is not all ones, or that fills a whole byte, is rejected, and so is EOS")
  func padding() {
    // "a" is 00011.
    expectEqual(HuffmanCode.decode([0b0001_1111]), [UInt8(ascii: "a")])
    expectNil(HuffmanCode.decode([0b0001_1110]))
    expectNil(HuffmanCode.decode([0b0001_1111, 0xFF]))
    // EOS is 30 ones; the padding is valid.
    expectNil(HuffmanCode.decode([0xFF, 0xFF, 0xFF, 0xFF]))
  }

  @Test("fields beyond the size limit are skipped, but still added to the table")
  func limit() throws {
    var encoder = HPACKEncoder()
    var decoder = HPACKDecoder()
    let fields = [HPACKField("a", "1"), HPACKField("b", String(repeating: "x", count: 300)), HPACKField("c", "3")]
    for _ in 0..<2 {
      var block: [UInt8] = []
      encoder.encode(fields, into: &block)
      try expectEqual(decoder.decode(block, limit: 100).map(\.name), ["a"])
    }
    var block: [UInt8] = []
    encoder.encode(fields, into: &block)
    expectEqual(block.count, 3)
    try expectEqual(decoder.decode(block, limit: 65_536).map(\.name), ["a", "b", "c"])
  }

  // MARK: - Our own sequences

  private static func update(token: String, length: Int) -> [HPACKField] {
    [
      HPACKField(":method", "PATCH"), HPACKField(":scheme", "https"),
      HPACKField(":authority", "fleetengine.googleapis.com"),
      HPACKField(":path", "/v1/providers/example/deliveryVehicles/van-1?updateMask=lastLocation%2CpastLocations"),
      HPACKField("authorization", "Bearer " + token), HPACKField("content-type", "application/json"),
      HPACKField("content-length", "\(length)", repeats: false),
    ]
  }

  private static func token(_ seed: UInt64) -> String {
    var random = SplitMix64(seed: seed)
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    return String((0..<777).map { _ in letters[Int(random.next() % 64)] })
  }

  @Test("from the second update on, an unchanged field takes one byte, and a new token is sent once as a literal")
  func steady() {
    var encoder = HPACKEncoder()
    var sizes: [Int] = []
    for (token, length) in [(1, 298), (1, 298), (1, 299), (1, 298), (1, 299), (2, 299), (2, 299)] {
      var block: [UInt8] = []
      encoder.encode(HPACKTests.update(token: HPACKTests.token(UInt64(token)), length: length), into: &block)
      sizes.append(block.count)
    }
    expect(sizes[0] > 650)
    expectEqual(sizes[1], 7)
    expectEqual(sizes[2], 11)
    expect(sizes[3] == 7 && sizes[4] == 7)
    expect((600...800).contains(sizes[5]))
    expectEqual(sizes[6], 7)
  }

  @Test("in a table with room for only the token, the path does not evict the token")
  func smallTable() {
    var encoder = HPACKEncoder()
    encoder.setPeerCapacity(900)
    var sizes: [Int] = []
    for _ in 0..<3 {
      var block: [UInt8] = []
      encoder.encode(HPACKTests.update(token: HPACKTests.token(1), length: 298), into: &block)
      sizes.append(block.count)
    }
    expect(sizes[1] < 150 && sizes[2] == sizes[1])
  }

  @Test(
    "with any sequence of table sizes, tokens and lengths, the decoder reads what was encoded", arguments: 0..<200)
  func randomSequences(seed: Int) throws {
    var random = SplitMix64(seed: UInt64(seed))
    var encoder = HPACKEncoder()
    var decoder = HPACKDecoder()
    for _ in 0..<30 {
      switch random.next() % 8 {
      case 0:
        // Several changes between two blocks: the smallest is signalled, then the last.
        for _ in 0...(random.next() % 3) {
          encoder.setPeerCapacity([0, 32, 100, 900, 1200, 4096, 65_536][Int(random.next() % 7)])
        }
      default: break
      }
      var fields = HPACKTests.update(
        token: HPACKTests.token(random.next() % 3), length: 290 + Int(random.next() % 12))
      if random.next() % 4 == 0 { fields.append(HPACKField("x-\(random.next() % 40)", "\(random.next())")) }
      var block: [UInt8] = []
      encoder.encode(fields, into: &block)
      try expectEqual(
        decoder.decode(block, limit: 1 << 20).map { HPACKField($0.name, $0.value) },
        fields.map {
          HPACKField(String(decoding: $0.name, as: UTF8.self), String(decoding: $0.value, as: UTF8.self))
        })
      expect(!encoder.hasPendingUpdate)
    }
  }

  private final class Count: Sendable {
    let value = Mutex(0)
  }

  private struct Probe: HPACKEntry {
    let count = Count()
    func wipe() { count.value.withLock { $0 += 1 } }
  }

  @Test("an entry is wiped when it is evicted, and when the table shrinks or is wiped")
  func wipedEntries() {
    var table = HPACKDynamicTable<Probe>()
    let probes = (0..<3).map { _ in Probe() }
    for probe in probes { table.add(probe, length: 1500) }
    expectEqual(probes.map { $0.count.value.withLock { $0 } }, [1, 0, 0])
    table.setCapacity(2000)
    expectEqual(probes.map { $0.count.value.withLock { $0 } }, [1, 1, 0])
    table.wipe()
    expectEqual(probes.map { $0.count.value.withLock { $0 } }, [1, 1, 1])
  }

  @Test("if the table shrinks to zero and grows again between two blocks, both changes are signalled")
  func sizeUpdates() {
    var encoder = HPACKEncoder()
    var block: [UInt8] = []
    encoder.encode([HPACKField("a", "b")], into: &block)
    encoder.setPeerCapacity(0)
    encoder.setPeerCapacity(100)
    block = []
    encoder.encode([HPACKField(":method", "GET")], into: &block)
    expectEqual(block, [0x20, 0x3F, 69, 0x82])
    encoder.setPeerCapacity(0)
    block = []
    encoder.encode([HPACKField("a", "b")], into: &block)
    expectEqual(block, [0x20, 0x00, 1, 0x61, 1, 0x62])
  }

  @Test("the size of a field that is not UTF-8 is that of the received bytes, so that both tables stay in sync")
  func rawLengths() throws {
    var decoder = HPACKDecoder()
    // 500 bytes that are not UTF-8. With replacement characters they would be 1,500.
    let junk: [UInt8] = [0x7F, 0xF5, 0x02] + [UInt8](repeating: 0xFF, count: 500)
    let first = try decoder.decode([0x40] + junk + junk, limit: 65_536)
    expectEqual(first.count, 1)
    // The first entry takes 1,032 bytes of the table's 4,096, and each of the five others 533 bytes.
    for _ in 0..<5 { _ = try decoder.decode([0x7E, 1, 0x61], limit: 65_536) }
    try expectEqual(decoder.decode([0xC3], limit: 65_536), first)
    _ = try decoder.decode([0x7E, 1, 0x61], limit: 65_536)
    #expect(throws: HPACKDecoder.Failure.malformed) { try decoder.decode([0xC4], limit: 65_536) }
  }

  @Test(
    "a field whose name or value is not allowed in a message is recognized",
    arguments: [
      ("Upper", "v", false), ("a b", "v", false), ("", "v", false), ("a:b", "v", false), (":a", "v", true),
      ("a", "v\r\nx: y", false), ("a", " v", false), ("a", "v\t", false), ("a", "v w", true), ("a", "", true),
      ("ä", "v", false), ("a", "ä", true),
    ])
  func validity(name: String, value: String, isValid: Bool) throws {
    var encoder = HPACKEncoder()
    var decoder = HPACKDecoder()
    var block: [UInt8] = []
    encoder.encode([HPACKField(name, value)], into: &block)
    try expectEqual(decoder.decode(block, limit: 1000).map(\.isValid), [isValid])
  }
}
