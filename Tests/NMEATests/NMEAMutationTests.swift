// SPDX-License-Identifier: Apache-2.0
import Expectations
import NMEA
import NMEATesting
import Positioning
import Testing
import Timekeeping

struct NMEAMutationTests {
  /// SplitMix64: the same numbers in every run.
  private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var value = state
      value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
      value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
      return value ^ (value >> 31)
    }
  }

  private static let bodies = [
    "GNRMC,235957.00,A,5230.12345,N,01324.54321,E,22.35,45.1,211126,1.0,E,A,V", "GNVTG,45.1,T,,M,22.35,N,41.39,K,A",
    "GNGNS,235957.00,5230.12345,N,01324.54321,E,AANN,14,0.7,34.5,40.1,,,V",
    "GNGGA,235957.00,5230.12345,N,01324.54321,E,1,12,0.7,34.5,M,40.1,M,,", "GNGSA,A,3,08,10,,,,,,,,,,,1.2,0.7,0.9,1",
    "GNGST,235957.00,8.1,,,,3.0,4.0,6.5", "GNZDA,235957.00,21,11,2026,00,00",
    "GNGLL,5230.12345,N,01324.54321,E,235957.00,A,A",
    "GPGSV,3,1,10,08,45,120,40,10,30,210,35,23,60,300,42,27,15,050,30,1",
    "PGRME,9.5,M,12.4,M,13.6,M", "PQTMEPE,2,1.000,1.100,1.200,1.487,1.911",
    "PUBX,00,235957.00,5230.12345,N,01324.54321,E,75.0,G3,2.1,3.5,41.39,45.1,0.007,,0.7,1.19,0.77,12,0,0",
  ].map { Array($0.utf8) }

  @Test("100,000 damaged sentences with valid checksums do not crash the decoder, and give no fix out of range")
  func mutations() {
    var generator = Generator(state: 20_261_121)
    let interesting = Array("0123456789,,,.-+*$NSEWAV \u{0}\n9999999".utf8)
    var decoder = NMEADecoder()
    var now = BootInstant.boot
    var count = 0
    func check(_ fix: Fix) {
      count += 1
      if let heading = fix.heading { expect((0..<360).contains(heading)) }
      if let speed = fix.speed { expect(speed >= 0 && speed.isFinite) }
      if let altitude = fix.altitudeHAE { expect(altitude.isFinite) }
      if let accuracy = fix.horizontalAccuracy { expect(accuracy > 0 && accuracy.isFinite) }
    }
    for round in 0..<100_000 {
      var body = Self.bodies[Int.random(in: 0..<Self.bodies.count, using: &generator)]
      for _ in 0..<Int.random(in: 0...4, using: &generator) where !body.isEmpty {
        let place = Int.random(in: 0..<body.count, using: &generator)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: body.remove(at: place)
        case 1: body.insert(interesting[Int.random(in: 0..<interesting.count, using: &generator)], at: place)
        case 2: body[place] = UInt8.random(in: 0...255, using: &generator)
        case 3: body.replaceSubrange(place..<place, with: body[..<min(20, body.count)])
        default: body[place] = interesting[Int.random(in: 0..<interesting.count, using: &generator)]
        }
      }
      let checksum = body.reduce(0, ^)
      let digits = Array("0123456789abcdef".utf8)
      let line =
        [UInt8(ascii: "$")] + body + [UInt8(ascii: "*"), digits[Int(checksum >> 4)], digits[Int(checksum & 15)], 10]
      now = now + .milliseconds(Int.random(in: 0...200, using: &generator))
      decoder.decode(line, at: now, into: check)
      if round % 7 == 0 { decoder.expire(at: now + .milliseconds(100), into: check) }
    }
    decoder.finish(into: check)
    expect(count > 100)
  }

  @Test("Noise gives no fix, and does not crash the decoder")
  func noise() {
    var generator = Generator(state: 1)
    let bytes = (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
    expect(decode([bytes]).fixes.isEmpty)
  }
}
