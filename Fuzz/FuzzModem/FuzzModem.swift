// SPDX-License-Identifier: Apache-2.0
// Answers a modem's session with inputs from libFuzzer: answers are separated by bytes of 0xFF, and the first byte of
// each says what else happens before it.
//
//   scripts/fuzz.sh 60 FuzzModem
import FixSources
import Positioning
import Timekeeping

@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  var session = ModemSession(selection: ModemSelection(), silenceTimeout: .seconds(10), seed: 1)
  var modem = Modem(path: "/org/freedesktop/ModemManager1/Modem/0")
  modem.location = Modem.Location(offered: .positions, enabled: .nmea)
  var now = BootInstant.boot
  var effects = session.handle(.start, at: now)
  var before: [ArraySlice<UInt8>] = []
  for answer in input.split(separator: 0xFF, omittingEmptySubsequences: false) {
    // Every request of the session is answered, until it waits.
    while let effect = effects.popLast() {
      switch effect {
      case .open: effects += session.handle(.opened, at: now)
      case .list: effects += session.handle(answer.first == 1 ? .refused(.gone) : .modems([modem]), at: now)
      case .enable: effects += session.handle(.enabled, at: now)
      case .locate:
        let raw = ModemPosition.Raw(
          time: String(decoding: answer.dropFirst(), as: UTF8.self), latitude: Double(answer.last ?? 0) / 2,
          longitude: 11)
        let isRaw = answer.first == 2
        let news = session.handle(
          .position(ModemPosition(sentences: isRaw ? nil : Array(answer), raw: isRaw ? raw : nil)), at: now)
        // A repeated answer is not a new position, unless it completes an epoch.
        if before.count == 2, before.allSatisfy({ $0 == answer }) {
          precondition(!news.contains { if case .report(.fix) = $0 { true } else { false } }, "a fix came twice")
        }
        before = before.suffix(1) + [answer]
        effects += news
      case .report(.fix(let fix)):
        precondition(fix.heading.map { (0..<360).contains($0) } ?? true)
        precondition([fix.altitude, fix.altitudeHAE].allSatisfy { $0?.isFinite ?? true })
      case .report: break
      }
    }
    if answer.first == 3 { effects += session.handle(.changed, at: now) }
    guard effects.isEmpty else { continue }
    // The session never waits forever while there is a modem.
    guard let deadline = session.nextDeadline else { preconditionFailure("it has stopped asking") }
    precondition(deadline >= now && deadline <= now + .seconds(60))
    now = deadline
    effects += session.handle(.deadline, at: now)
  }
  return 0
}
