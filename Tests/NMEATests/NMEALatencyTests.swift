// SPDX-License-Identifier: Apache-2.0
import Expectations
import NMEA
import NMEATesting
import Positioning
import Testing
import Timekeeping

/// The delay of a fix after the last sentence of its epoch, on a serial line at a given baud rate.
struct NMEALatencyTests {
  /// The types of the sentences that a receiver sends with each fix, and of those that it sends only once a second.
  private struct Output: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var kinds: [String]
    var onceASecond: [String] = []
  }

  private static let outputs = [
    Output(testDescription: "RMC alone", kinds: ["RMC"]), Output(testDescription: "GLL alone", kinds: ["GLL"]),
    Output(testDescription: "GGA and ZDA", kinds: ["GGA", "ZDA"]),
    Output(testDescription: "RMC and GGA", kinds: ["RMC", "GGA"]),
    Output(testDescription: "u-blox", kinds: ["RMC", "VTG", "GGA", "GSA", "GSV", "GSV", "GLL"]),
    Output(testDescription: "SiRF", kinds: ["GGA", "GSA", "RMC", "VTG"], onceASecond: ["GSV", "GSV", "GSV"]),
    Output(testDescription: "accuracies reported", kinds: ["GNS", "GST", "RMC"]),
  ]

  private static func body(_ kind: String, _ time: String) -> String {
    let place = "5230.00000,N,01324.00000,E"
    switch kind {
    case "RMC": return "GNRMC,\(time),A,\(place),10.0,045.5,211126,,,A,V"
    case "GGA": return "GNGGA,\(time),\(place),1,12,0.9,34.5,M,40.5,M,,"
    case "GLL": return "GNGLL,\(place),\(time),A,A"
    case "GNS": return "GNGNS,\(time),\(place),AANN,14,0.7,34.5,40.1,,,V"
    case "GST": return "GNGST,\(time),8.1,,,,3.0,4.0,6.5"
    case "VTG": return "GNVTG,45.5,T,,M,10.0,N,18.52,K,A"
    case "GSA": return "GNGSA,A,3,08,10,23,27,,,,,,,,,1.2,0.7,0.9,1"
    case "ZDA": return "GNZDA,\(time),21,11,2026,00,00"
    default: return "GPGSV,2,1,08,08,61,184,45,10,20,100,40,23,33,200,41,27,70,010,44"
    }
  }

  /// The sentences of the epoch this many milliseconds after noon.
  private static func sentences(_ output: Output, _ milliseconds: Int) -> [[UInt8]] {
    let (second, rest) = (milliseconds / 1000, milliseconds % 1000)
    func padded(_ number: Int, _ width: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(width - digits.utf8.count, 0)) + digits
    }
    let time = "12\(padded(second / 60, 2))\(padded(second % 60, 2)).\(padded(rest, 3))"
    return (output.kinds + (rest == 0 ? output.onceASecond : [])).map { Array(sentence(body($0, time)).utf8) }
  }

  @Test(
    "After three seconds, every fix is available within 100 ms of the last sentence of its epoch that is not a GSV",
    arguments: outputs, [1, 5, 10])
  private func latency(output: Output, rate: Int) {
    for baud in [4800, 9600, 19_200, 38_400, 57_600, 115_200] {
      let load = NMEALatencyTests.sentences(output, 0).reduce(0) { $0 + $1.count }
      // Ten bits a byte; a receiver that has to send more than its line can carry is misconfigured.
      guard load * 10 * rate < baud * 9 / 10 else { continue }
      let worst = NMEALatencyTests.worstLatency(output, rate: rate, baud: baud)
      expect(worst.milliseconds <= 100, "\(rate) Hz at \(baud) baud: \(worst.milliseconds) ms")
      expectEqual(worst.missing, 0, "\(rate) Hz at \(baud) baud")
    }
  }

  /// The longest delay of a fix, and the number of missing fixes. Bytes arrive in chunks of a UART's FIFO, some
  /// milliseconds after the time of the epoch.
  private static func worstLatency(_ output: Output, rate: Int, baud: Int) -> (milliseconds: Int64, missing: Int) {
    var decoder = NMEADecoder()
    var worst: Int64 = 0
    var lastSentence: [Int64: BootInstant] = [:]
    var found: [(stamp: Int64, at: BootInstant)] = []
    func note(_ fix: Fix, _ now: BootInstant) {
      switch fix.time {
      case .utc(let stamp): found.append((stamp.millisecondsOfDay, now))
      case .ofDay(let milliseconds): found.append((milliseconds, now))
      case nil: break
      }
    }
    let period = 1000 / rate
    for epoch in 0..<(20 * rate) {
      let milliseconds = epoch * period
      let noon: Int64 = 43_200_000
      // The receiver's processing time varies.
      var now = BootInstant.boot + .seconds(100) + .milliseconds(milliseconds + 30 + epoch * 7 % 11)
      for sentence in sentences(output, milliseconds) {
        for start in stride(from: 0, to: sentence.count, by: 16) {
          let portion = Array(sentence[start..<min(start + 16, sentence.count)])
          now = now + .microseconds(portion.count * 10_000_000 / baud)
          if let deadline = decoder.deadline, deadline <= now { decoder.expire(at: deadline) { note($0, deadline) } }
          decoder.decode(portion, at: now) { note($0, now) }
        }
        if sentence.starts(with: Array("$GPGSV".utf8)) { continue }
        lastSentence[noon + Int64(milliseconds)] = now
      }
    }
    if let deadline = decoder.deadline { decoder.expire(at: deadline) { note($0, deadline) } }
    for (stamp, at) in found where stamp >= 43_203_000 {
      guard let last = lastSentence[stamp] else { continue }
      worst = max(worst, (at - last).nanoseconds / 1_000_000)
    }
    return (worst, 20 * rate - Set(found.map(\.stamp)).count)
  }
}
