// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import Testing
import Timekeeping

/// The daemon's wake-ups and the delays of fixes when the bursts of a receiver on a UART are predicted.
struct BurstForecastTests {
  @Test(
    "a burst takes about one wake-up, with much jitter two; fixes are on average as early as with reads every 100 ms",
    arguments: [
      (115_200, 12, 0, 1.25), (115_200, 12, 5, 1.3), (115_200, 1, 0, 1.25), (115_200, 1, 20, 1.4),
      (115_200, 12, 50, 2.4),
      (38_400, 12, 0, 1.25), (9600, 9, 0, 1.3), (9600, 9, 5, 1.4), (9600, 1, 2, 1.3), (4800, 1, 0, 1.3),
      (4800, 3, 3, 1.5),
    ] as [(Int, Int, Int, Double)])
  func regular(baud: Int, sentences: Int, jitter: Int, most: Double) {
    var line = UARTLine(baud: baud)
    line.sentences = Array(UARTLine.manySentences.prefix(sentences + 1))
    var random = SplitMix64(seed: 7)
    for second in 0..<300 {
      line.burst(at: Int64(second) * 1000, late: Double.random(in: Double(-jitter)...Double(jitter), using: &random))
    }
    line.run()
    expectEqual(line.lost, [])
    expect(line.wakeUps(20_000..<300_000) < most, "\(line.wakeUps(20_000..<300_000))")
    let lags = line.lags(from: 20_000)
    let mean = lags.reduce(.zero, +) / lags.count
    expect(mean <= .zero, "\(mean) \(lags.max() ?? .zero)")
    expect(lags.allSatisfy { $0 <= .milliseconds(20 + 2 * jitter) }, "\(lags.max() ?? .zero)")
  }

  @Test(
    "bursts are still predicted if the receiver's clock is fast or slow, or if they shift once or permanently",
    arguments: [
      { $0 * 0.1 }, { $0 * -0.1 }, { $0 * -0.3 }, { $0 == 60 ? 350 : 0 }, { $0 == 60 ? -45 : 0 }, { $0 < 60 ? 0 : 300 },
      { $0 < 60 ? 0 : -40 },
    ] as [@Sendable (Double) -> Double])
  func drift(late: @Sendable (Double) -> Double) {
    var line = UARTLine(baud: 115_200)
    line.sentences = UARTLine.manySentences
    for second in 0..<300 { line.burst(at: Int64(second) * 1000, late: late(Double(second))) }
    line.run()
    expectEqual(line.lost, [])
    expect(line.wakeUps(20_000..<300_000) < 1.4, "\(line.wakeUps(20_000..<300_000))")
    expect(
      line.delays(from: 20_000).allSatisfy { $0 <= .milliseconds(100) }, "\(line.delays(from: 20_000).max() ?? .zero)")
  }

  @Test("if all bursts from some moment on arrive much earlier, at most 16 fixes are delayed by more than 200 ms")
  func early() {
    var line = UARTLine(baud: 115_200)
    line.sentences = UARTLine.manySentences
    for second in 0..<200 { line.burst(at: Int64(second) * 1000, late: second < 60 ? 0 : -500) }
    line.run()
    expectEqual(line.lost, [])
    let delays = line.delays()
    expect(delays.count { $0 > .milliseconds(200) } <= 16)
    expect(delays.allSatisfy { $0 <= .milliseconds(600) })
    expect(line.wakeUps(100_000..<200_000) < 1.3)
  }

  @Test("in a tunnel there are no more wake-ups than without predictions, and the first fix after it is not delayed")
  func tunnel() {
    var line = UARTLine(baud: 115_200)
    line.sentences = UARTLine.manySentences
    for second in 0..<160 { line.burst(at: Int64(second) * 1000, isValid: !(60..<100).contains(second)) }
    line.run()
    expectEqual(line.lost, [])
    expect(line.wakeUps(65_000..<100_000) <= 2.1, "\(line.wakeUps(65_000..<100_000))")
    expect(line.lags(from: 10_000).allSatisfy { $0 <= .milliseconds(20) }, "\(line.lags(from: 10_000).max() ?? .zero)")
    expect(line.wakeUps(110_000..<160_000) < 1.4)
  }

  @Test(
    "bursts at 5 Hz are predicted, and at 10 Hz take at most two wake-ups each; no fix is delayed by more than 200 ms",
    arguments: [(115_200, 5, 12, 6.5), (115_200, 10, 12, 20.1), (38_400, 5, 1, 6.5), (9600, 5, 0, 8)])
  func fast(baud: Int, rate: Int, sentences: Int, most: Double) {
    var line = UARTLine(baud: baud)
    line.sentences = Array(UARTLine.manySentences.prefix(sentences))
    for number in 0..<100 * rate { line.burst(at: Int64(number * 1000 / rate)) }
    line.run()
    expectEqual(line.lost, [])
    expect(line.wakeUps(20_000..<100_000) < most, "\(line.wakeUps(20_000..<100_000))")
    expect(line.delays(from: 10_000).allSatisfy { $0 <= .milliseconds(200) }, "\(line.delays().max() ?? .zero)")
  }

  @Test(
    "when a receiver changes its update rate, at most four fixes are delayed, each by less than a second",
    arguments: [1, 5])
  func rate(first: Int) {
    var line = UARTLine(baud: 115_200)
    line.sentences = Array(UARTLine.manySentences.prefix(2))
    for number in 0..<60 * first { line.burst(at: Int64(number * 1000 / first)) }
    for number in 0..<60 * (6 - first) { line.burst(at: 60_000 + Int64(number * 1000 / (6 - first))) }
    line.run()
    expectEqual(line.lost, [])
    let delays = line.delays(from: 10_000)
    expect(delays.count { $0 > .milliseconds(100) } <= 4)
    expect(delays.allSatisfy { $0 < .seconds(1) })
  }
}
