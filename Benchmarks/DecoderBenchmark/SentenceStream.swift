// SPDX-License-Identifier: Apache-2.0

/// Made-up output of a receiver with four constellations.
enum SentenceStream {
  /// One hour at 1 Hz: RMC, VTG, GGA, four GSA, eight GSV and GLL a second.
  static func hour() -> [UInt8] {
    var bytes: [UInt8] = []
    for second in 0..<3600 {
      let time = "12\(padded(second / 60))\(padded(second % 60)).00"
      let minutes = "\(padded(second / 90)).\(10_000 + second)"
      let position = "52\(minutes),N,013\(minutes),E"
      append("GNRMC,\(time),A,\(position),22.350,45.12,211126,,,A,V", to: &bytes)
      append("GNVTG,45.12,T,,M,22.350,N,41.392,K,A", to: &bytes)
      append("GNGGA,\(time),\(position),1,12,0.69,109.2,M,47.0,M,,", to: &bytes)
      for system in 1...4 {
        append("GNGSA,A,3,08,10,23,27,32,24,28,21,,,,,1.05,0.69,0.79,\(system)", to: &bytes)
      }
      for part in 1...8 {
        append("GPGSV,8,\(part),32,08,61,184,45,10,64,059,40,23,54,297,44,27,44,156,45,1", to: &bytes)
      }
      append("GNGLL,\(position),\(time),A,A", to: &bytes)
    }
    return bytes
  }

  private static func padded(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

  private static func append(_ body: String, to bytes: inout [UInt8]) {
    let checksum = body.utf8.reduce(0, ^)
    let digits = String(checksum, radix: 16, uppercase: true)
    bytes += Array("$\(body)*\(digits.utf8.count == 1 ? "0" : "")\(digits)\r\n".utf8)
  }
}
