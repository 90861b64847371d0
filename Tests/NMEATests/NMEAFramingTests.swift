// SPDX-License-Identifier: Apache-2.0
import Expectations
import NMEA
import NMEATesting
import Testing
import Timekeeping

struct NMEAFramingTests {
  @Test("A recording that is split anywhere gives the same fixes and the same counts")
  func everySplit() {
    let whole = decode([mixedRecording])
    expectEqual(whole.fixes.count, 3)
    for split in 0...mixedRecording.count {
      let parts = decode([Array(mixedRecording[..<split]), Array(mixedRecording[split...])])
      expectEqual(parts.fixes, whole.fixes, "split at \(split)")
      expectEqual(parts.counters, whole.counters, "split at \(split)")
    }
  }

  @Test("Chunks of every size give the same fixes and the same counts", arguments: 1...100)
  func everySize(size: Int) {
    let chunks = stride(from: 0, to: mixedRecording.count, by: size).map {
      Array(mixedRecording[$0..<min($0 + size, mixedRecording.count)])
    }
    let whole = decode([mixedRecording])
    let parts = decode(chunks)
    expectEqual(parts.fixes, whole.fixes)
    expectEqual(parts.counters, whole.counters)
  }

  @Test("The checksum may be in lower case")
  func lowerCase() {
    expectEqual(fixes("$GPRMC,205206.00,A,4405.556,N,12118.398,W,000.0,000.0,090605,0.0,E*49\n").count, 1)
    let text = sentence("GPGLL,4500.0,N,00100.0,E,083002,A,A")
    expect(text.contains("*4E"))
    expectEqual(fixes(text.replacing("*4E", with: "*4e")).count, 1)
  }

  @Test(
    "Without a valid checksum a sentence is ignored",
    arguments: [
      ("$GPGLL,4500.0,N,00100.0,E,083002,A,A*4F\r\n", 1, 0), ("$GPGLL,4500.0,N,00100.0,E,083002,A,A\r\n", 0, 1),
      ("$GPGLL,4500.0,N,00100.0,E,083002,A,A*\r\n", 0, 1), ("$GPGLL,4500.0,N,00100.0,E,083002,A,A*4\r\n", 0, 1),
      ("$GPGLL,4500.0,N,00100.0,E,083002,A,A*4G\r\n", 0, 1), ("$GPGLL,4500.0,N,00100.0,E,083002,A,A*4", 0, 1),
    ])
  func wrongChecksum(text: String, wrong: UInt64, unchecked: UInt64) {
    let (fixes, counters) = decode([Array(text.utf8)])
    expect(fixes.isEmpty)
    expectEqual(counters.wrongChecksum, wrong)
    expectEqual(counters.unchecked, unchecked)
    expectEqual(counters.sentences, 0)
  }

  @Test("A sentence ends with its checksum, whatever follows", arguments: ["", "\n", "\r\n", "$", " junk", "\u{0}"])
  func ends(tail: String) {
    expectEqual(fixes("$GPGLL,4500.0,N,00100.0,E,083002,A,A*4E" + tail).count, 1)
  }

  @Test("A truncated line does not affect the next one")
  func cutLine() {
    expectEqual(fixes("$GPGLL,4500.0,N,001" + sentence("GPGLL,4500.0,N,00100.0,E,083002,A,A")).count, 1)
  }

  @Test("Sentences longer than the standard's 82 characters are read, and endless sentences are skipped")
  func long() {
    let padding = String(repeating: "0", count: 300)
    expectEqual(fixes(sentence("GPGLL,4500.0\(padding),N,00100.0,E,083002,A,A")).count, 1)
    let endless = "$GPGLL," + String(repeating: "0", count: 2000)
    let (fixes, counters) = decode([Array((endless + sentence("GPGLL,4500.0,N,00100.0,E,083002,A,A")).utf8)])
    expectEqual(fixes.count, 1)
    expectEqual(counters.overlong, 1)
  }

  @Test("Sentences of other types and proprietary sentences are counted as unknown")
  func unknown() {
    let text = recording("GPGSV,1,1,01,08,61,184,45", "PUBX,00,1", "GYOACC,090624", "GP", "", "SDDBT,7.7,f,2.3,M,1.3,F")
    let (fixes, counters) = decode([Array(text.utf8)])
    expect(fixes.isEmpty)
    expectEqual(counters.sentences, 6)
    expectEqual(counters.unknown, 6)
  }
}
