// SPDX-License-Identifier: Apache-2.0
// Feeds the gpsd decoder and session with inputs from libFuzzer, whole and in two portions, with the same result.
//
//   scripts/fuzz.sh 60 FuzzGPSD
import FixSources
import Positioning
import RecordingReview
import Timekeeping

@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let split = count == 0 ? 0 : Int(input[0]) * count / 256
  let whole = decoded([input])
  let parts = decoded([Array(input[..<split]), Array(input[split...])])
  precondition(whole.events == parts.events && whole.counters == parts.counters, "a split changes the result")
  for case .report(_, let fix?) in whole.events { check(fix) }
  converse(input)
  return 0
}

private func decoded(_ portions: [[UInt8]]) -> (events: [GPSDDecoder.Event], counters: GPSDDecoder.Counters) {
  var decoder = GPSDDecoder(device: nil, silenceTimeout: .seconds(10))
  var events: [GPSDDecoder.Event] = []
  for portion in portions { decoder.decode(portion, at: .boot) { events.append($0) } }
  return (events, decoder.counters)
}

/// Checks that a decoded fix is in range, and can be written.
private func check(_ fix: Fix) {
  precondition(fix.timestamp != nil)
  precondition(fix.heading.map { (0..<360).contains($0) } ?? true)
  precondition(fix.speed.map { $0 >= 0 && $0.isFinite } ?? true)
  for accuracy in [fix.horizontalAccuracy, fix.verticalAccuracy, fix.speedAccuracy, fix.headingAccuracy] {
    precondition(accuracy.map { $0 > 0 && $0.isFinite } ?? true)
  }
  precondition([fix.altitude, fix.altitudeHAE].allSatisfy { $0?.isFinite ?? true })
  var writer = FixLineWriter(source: "gpsd")
  writer.append(fix)
}

/// Feeds the session line by line, while time elapses, connections end and deadlines pass.
private func converse(_ input: [UInt8]) {
  var session = GPSDSession(
    address: "localhost:2947", device: input.first == 0 ? "/dev/a" : nil, silenceTimeout: .seconds(10), seed: 1)
  var now = BootInstant.boot
  _ = session.handle(.start, at: now)
  _ = session.handle(.opened(), at: now)
  for line in input.split(separator: 10) {
    let portion = Array(line) + [10]
    let effects = session.receive(portion.span, at: now)
    // After a line that ends with } or a carriage return 1 s, so that several are within the silence timeout.
    now = now + .seconds(Int((line.last ?? 0) &+ 4) % 16)
    let later = session.handle(.deadline, at: now)
    if (effects + later).contains(.line(.close)) {
      // A closed connection is opened again after its wait.
      if let deadline = session.nextDeadline { now = max(now, deadline) }
      precondition(later.contains(.line(.open())) || session.handle(.deadline, at: now) == [.line(.open())])
      _ = session.handle(.opened(), at: now)
    }
  }
}
