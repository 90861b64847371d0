// SPDX-License-Identifier: Apache-2.0
import Expectations
import GzipCoding
import Testing

@testable import FleetEngineEmulator

/// Compressed bodies: the output of the daemon's encoder, and invalid bodies.
struct GzipBodyTests {
  private static let limit = 10_000_000

  private func compressed(_ text: [UInt8]) throws -> [UInt8] { try #require(GzipEncoder().encode(text)) }

  @Test("each output of the encoder decompresses to its input, whatever was encoded before")
  func roundTrip() throws {
    let encoder = GzipEncoder()
    let texts = [
      "", "{}", String(repeating: "ab", count: 100_000),
      String((0..<9999).map { Character(Unicode.Scalar(UInt8(truncatingIfNeeded: $0 &* 7919 >> 5))) }),
    ]
    for text in texts + texts.reversed() {
      let bytes = Array(text.utf8)
      try expectEqual(GzipBody.decoded(try #require(encoder.encode(bytes)), limit: Self.limit), bytes)
    }
  }

  /// The first bytes of a block with the precomputed code.
  private static let prepared: [UInt8] = [0x6D, 0x4E, 0xB7, 0x0E]

  private func location(_ index: Int) -> String {
    #"{"heading":\#(200 + index * 7 % 40),"speed":\#(12 + index % 5).\#(17 + index * 13 % 80),"#
      + #""supplementalLocation":{"latitude":52.\#(516_274 + index * 131),"longitude":-13.\#(377_703 + index * 97)},"#
      + #""supplementalLocationTime":"2026-11-25T03:\#(10 + index / 6 % 50):\#(index % 6)0.250Z","#
      + #""supplementalLocationAccuracy":2.\#(index % 9),"altitude":\#(34 + index % 7).\#(index % 10),"altitudeAccuracy":3.1}"#
  }

  @Test("an update is compressed to at most two thirds of its size, and a hundred positions to a ninth")
  func sizes() throws {
    let live = Array(#"{"lastLocation":\#(location(0))}"#.utf8)
    expect(try compressed(live).count * 3 <= live.count * 2)
    let past = (1...100).map(location).joined(separator: ",")
    let batch = Array(#"{"lastLocation":\#(location(101)),"pastLocations":[\#(past)]}"#.utf8)
    expect(try compressed(batch).count * 9 <= batch.count)
  }

  @Test("a short update uses the precomputed code; a body with other characters or 512 bytes does not")
  func prepared() throws {
    let encoder = GzipEncoder()
    func isPrepared(_ text: String) throws -> Bool {
      let (bytes, encoded) = (Array(text.utf8), try #require(encoder.encode(Array(text.utf8))))
      try expectEqual(GzipBody.decoded(encoded, limit: Self.limit), bytes)
      return encoded[10..<14].elementsEqual(Self.prepared)
    }
    for index in 0..<500 { expect(try isPrepared(#"{"lastLocation":\#(location(index))}"#)) }
    expect(try !isPrepared(#"{"lastLocation":\#(location(0)),"vehicleState":"ONLINE"}"#))
    expect(try isPrepared("a") && isPrepared(String(repeating: "a", count: 511)))
    expect(try !isPrepared(String(repeating: "a", count: 512)))
  }

  @Test("text that repeats at any distance and length is restored")
  func repetitions() throws {
    let encoder = GzipEncoder()
    let characters = Array("\"0123456789:,-.ALTZacdeghilmnoprstuy{}".utf8)
    var random = SystemRandomNumberGenerator()
    for _ in 0..<2000 {
      var body: [UInt8] = []
      while body.count < 480 {
        if body.count > 3, Bool.random(using: &random) {
          let start = Int.random(in: 0..<body.count, using: &random)
          for index in start..<start + Int.random(in: 1...25, using: &random) where index < body.count {
            body.append(body[index])
          }
        } else {
          body += (1...Int.random(in: 1...9, using: &random)).map { _ in characters.randomElement(using: &random) ?? 0 }
        }
      }
      let encoded = try #require(encoder.encode(body))
      let decoded = try? GzipBody.decoded(encoded, limit: Self.limit)
      expect(decoded == body && encoded[10..<14].elementsEqual(Self.prepared), "\(body)")
    }
  }

  @Test("a small body that expands beyond the limit is rejected with status 413")
  func bomb() throws {
    let bomb = try compressed([UInt8](repeating: 0, count: 200_000_000))
    expect(bomb.count < 300_000)
    #expect(throws: APIError.self) { try GzipBody.decoded(bomb, limit: Self.limit) }
    do {
      _ = try GzipBody.decoded(bomb, limit: Self.limit)
    } catch {
      expectEqual(error.httpStatus, 413)
    }
  }

  @Test("a body that is truncated, damaged, followed by data or not compressed is rejected with status 400")
  func damaged() throws {
    let whole = try compressed(Array(#"{"lastLocation":{"speed":1}}"#.utf8))
    var bodies = (0..<whole.count).map { Array(whole.prefix($0)) }
    bodies += [whole + [0], Array("{}".utf8), Array(whole.dropFirst(2))]
    for index in 10..<whole.count {
      var body = whole
      body[index] ^= 0x55
      bodies.append(body)
    }
    for body in bodies {
      do {
        _ = try GzipBody.decoded(body, limit: Self.limit)
        Issue.record("accepted: \(body)")
      } catch {
        expectEqual(error.httpStatus, 400)
      }
    }
  }

  @Test("a compressed update is recorded with its text and its compressed bytes, which the statistics count")
  func update() throws {
    let bench = try FleetBench()
    let token = try bench.token()
    func send(_ body: [UInt8], coding: String) -> Reply {
      bench.service.handle(
        Request(
          "PATCH", "/v1/providers/p/deliveryVehicles/truck-17?updateMask=lastLocation&prettyPrint=false",
          headers: [
            ("Authorization", "Bearer \(token)"), ("Content-Type", "application/json"), ("Content-Encoding", coding),
            ("X-Goog-FieldMask", "navigationStatus"),
          ], body: body), at: bench.now)
    }
    let text = #"{"lastLocation":{"speed":1}}"#
    let body = try compressed(Array(text.utf8))
    let reply = send(body, coding: "gzip")
    expect(reply.status == 200 && reply.text == "{}\n")
    let record = try #require(bench.records.last)
    expectEqual(record["body"]?.string, text)
    expectEqual(record["encoded"]?.string.flatMap { Base64.decode($0[...], alphabet: .url) }, body)
    let stats = try bench.json(bench.send("GET", "/debug/stats"))
    expectEqual(stats["vehicles"]?["truck-17"]?["bytes_in"]?.integer, Int64(body.count))
    expectEqual(send(Array(text.utf8), coding: "gzip").status, 400)
    expectEqual(send(body, coding: "br").status, 415)
    expectEqual(send(Array(text.utf8), coding: "identity").status, 200)
  }

  @Test("a fault can apply to compressed updates only, like a gateway that does not support the coding")
  func fault() throws {
    let bench = try FleetBench()
    let token = try bench.token()
    try bench.fault(#"{"target":"update","status":415,"for":"compressed","times":2}"#)
    expectEqual(bench.update(token: token).status, 200)
    let body = try compressed(Array(#"{"lastLocation":{"speed":1}}"#.utf8))
    let request = Request(
      "PATCH", "/v1/providers/p/deliveryVehicles/truck-17?updateMask=lastLocation",
      headers: [
        ("Authorization", "Bearer \(token)"), ("Content-Type", "application/json"), ("Content-Encoding", "gzip"),
      ], body: body)
    for status in [415, 415, 200] { expectEqual(bench.service.handle(request, at: bench.now).status, status) }
  }
}
