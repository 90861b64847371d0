// SPDX-License-Identifier: Apache-2.0
package import NMEA
package import Positioning
import Timekeeping

/// A sentence with its checksum and line end.
package func sentence(_ body: String) -> String {
  let checksum = body.utf8.reduce(0, ^)
  let digits = String(checksum, radix: 16, uppercase: true)
  return "$\(body)*\(digits.utf8.count == 1 ? "0" : "")\(digits)\r\n"
}

/// Several sentences.
package func recording(_ bodies: String...) -> String {
  bodies.map(sentence).joined()
}

/// The fixes of a whole recording.
package func fixes(_ text: String) -> [Fix] {
  decode([Array(text.utf8)]).fixes
}

/// The fixes of a recording that is received in portions, and the counters.
package func decode(_ portions: [[UInt8]]) -> (fixes: [Fix], counters: NMEADecoder.Counters) {
  var decoder = NMEADecoder()
  var fixes: [Fix] = []
  for portion in portions { decoder.decode(portion, at: .boot) { fixes.append($0) } }
  decoder.finish { fixes.append($0) }
  return (fixes, decoder.counters)
}

/// Three seconds of a receiver that sends every kind of sentence, with noise and other devices in between.
package let mixedRecording: [UInt8] = {
  var bytes: [UInt8] = Array("\u{7F}4,N*00\r\n".utf8)
  for second in 0..<3 {
    bytes += Array(
      recording(
        "GNRMC,23595\(7 + second).00,A,5230.12345,N,01324.54321,E,22.35,45.1,211126,,,A,V",
        "GNVTG,45.1,T,,M,22.35,N,41.39,K,A"
      ).utf8)
    bytes += [0xB5, 0x62, 0x01, 0x07, 0x24, 0x00, 0x2A, 0x24, 0x24, 0xFF]
    bytes += Array(
      recording(
        "GNGNS,23595\(7 + second).00,5230.12345,N,01324.54321,E,AANN,14,0.7,34.5,40.1,,,V",
        "GNGGA,23595\(7 + second).00,5230.12345,N,01324.54321,E,1,12,0.7,34.5,M,40.1,M,,"
      ).utf8)
    bytes += Array("!AIVDM,1,1,,A,14eG;o@034o8sd<L9i:a;WF>062D,0*7D\r\n$GPGGA,1200".utf8)
    bytes += Array(
      recording(
        "GNGSA,A,3,08,10,23,27,,,,,,,,,1.2,0.7,0.9,1", "GNGSA,A,3,85,68,69,84,,,,,,,,,1.2,0.7,0.9,2",
        "GNGST,23595\(7 + second).00,8.1,,,,3.0,4.0,6.5", "GNZDA,23595\(7 + second).00,21,11,2026,00,00",
        "GPTXT,01,01,02,*not a checksum", "GNGLL,5230.12345,N,01324.54321,E,23595\(7 + second).00,A,A",
        "GPGSV,3,1,10,08,45,120,40,10,30,210,35,23,60,300,42,27,15,050,30,1", "PGRME,9.5,M,12.4,M,13.6,M",
        "PUBX,00,23595\(7 + second).00,5230.12345,N,01324.54321,E,75.0,G3,2.1,3.5,41.39,45.1,0.007,,0.7,1.19,0.77,12,0,0",
        "PQTMEPE,2,1.000,1.100,1.200,1.487,1.911"
      ).utf8)
  }
  return bytes
}()
