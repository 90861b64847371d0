// SPDX-License-Identifier: Apache-2.0
// Feeds the NMEA decoder with inputs from libFuzzer. The input's lines become sentences with the right checksum, so
// that the fuzzer does not have to find checksums; then the input is decoded unchanged, whole and in two portions, with
// the same result.
//
//   scripts/fuzz.sh 180 FuzzNMEA
import FixSources
import NMEA
import Positioning
import RecordingReview
import Timekeeping

@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  checked(confirmed(input))
  let split = count == 0 ? 0 : Int(input[0]) * count / 256
  let whole = decoded([input])
  let parts = decoded([Array(input[..<split]), Array(input[split...])])
  precondition(whole.fixes == parts.fixes && whole.counters == parts.counters, "a split changes the result")
  precondition(
    recognized([input]) == recognized([Array(input[..<split]), Array(input[split...])]), "a split changes the protocol")
  return 0
}

/// Decodes while time elapses, and checks that the results are in range.
private func checked(_ bytes: [UInt8]) {
  var decoder = NMEADecoder()
  var writer = FixLineWriter(source: "replay")
  var now = BootInstant.boot
  func check(_ fix: Fix) {
    precondition(fix.heading.map { (0..<360).contains($0) } ?? true)
    precondition(fix.speed.map { $0 >= 0 && $0.isFinite } ?? true)
    precondition(fix.horizontalAccuracy.map { $0 > 0 && $0.isFinite } ?? true)
    writer.append(fix)
  }
  for line in bytes.split(separator: 10) {
    decoder.decode(Array(line), at: now, into: check)
    now = now + .milliseconds(Int(line.last ?? 0))
    if let deadline = decoder.deadline, deadline <= now { decoder.expire(at: now, into: check) }
  }
  decoder.finish(into: check)
}

private func decoded(_ portions: [[UInt8]]) -> (fixes: [Fix], counters: NMEADecoder.Counters) {
  var decoder = NMEADecoder()
  var fixes: [Fix] = []
  for portion in portions { decoder.decode(portion, at: .boot) { fixes.append($0) } }
  decoder.finish { fixes.append($0) }
  return (fixes, decoder.counters)
}

/// The protocol of a receiver that does not send NMEA.
private func recognized(_ portions: [[UInt8]]) -> ReceiverProtocol? {
  var detector = ReceiverProtocolDetector()
  for portion in portions { detector.read(portion.span) }
  return detector.found
}

/// Each line as a sentence with its checksum.
private func confirmed(_ input: [UInt8]) -> [UInt8] {
  let digits = Array("0123456789ABCDEF".utf8)
  var bytes: [UInt8] = []
  for line in input.split(separator: 10) {
    let body = line.drop { $0 == UInt8(ascii: "$") }.prefix { $0 != UInt8(ascii: "*") }
    let checksum = body.reduce(0, ^)
    bytes.append(UInt8(ascii: "$"))
    bytes += body
    bytes += [UInt8(ascii: "*"), digits[Int(checksum >> 4)], digits[Int(checksum & 15)], 10]
  }
  return bytes
}
