// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import Testing
import Timekeeping

struct BaudProbeTests {
  @Test(
    "common baud rates are tried in turn, each for a fixed time, until two sentences are valid",
    arguments: BaudProbe.rates)
  func search(right: Int) {
    var probe = BaudProbe()
    var now = BootInstant.boot
    probe.opened(at: now)
    var tried = [probe.baud]
    while probe.baud != right {
      let deadline = probe.nextDeadline ?? now
      expectEqual(deadline, now + BaudProbe.dwell)
      now = deadline
      if let next = probe.advance(at: now) { tried.append(next) }
    }
    expectEqual(tried, Array(BaudProbe.rates.prefix(tried.count)))
    expectEqual(probe.received(sentences: 1), 0)
    expectEqual(probe.received(sentences: 2), 3)
    expect(probe.isFound)
    expectNil(probe.nextDeadline)
    expectNil(probe.advance(at: now + .seconds(100)))
    expectEqual(probe.received(sentences: 5), 5)
    // After a replug the detected rate is tried first, and then all others.
    probe.closed()
    expectEqual(probe.baud, right)
    probe.opened(at: now)
    var again = [probe.baud]
    while again.count < BaudProbe.rates.count {
      now = now + BaudProbe.dwell
      _ = probe.received(sentences: 0)
      if let next = probe.advance(at: now) { again.append(next) }
    }
    expectEqual(Set(again), Set(BaudProbe.rates))
  }

  @Test("the first valid sentence extends the time for the current baud rate once")
  func firstSentence() {
    var probe = BaudProbe()
    probe.opened(at: .boot)
    _ = probe.received(sentences: 1)
    expectNil(probe.advance(at: .boot + BaudProbe.dwell))
    expectEqual(probe.baud, 9600)
    expectEqual(probe.advance(at: .boot + BaudProbe.dwell * 2), 4800)
  }

  @Test("two sentences within two periods confirm the rate, even of a receiver that sends one every three seconds")
  func slowReceiver() {
    var probe = BaudProbe()
    probe.opened(at: .boot)
    expectEqual(probe.received(sentences: 1), 0)
    expectNil(probe.advance(at: .boot + BaudProbe.dwell))
    expectEqual(probe.received(sentences: 1), 2)
    expect(probe.isFound)
  }

  /// A probe that has detected 4800 baud, and whose port was closed at boot.
  private func detected() -> BaudProbe {
    var probe = BaudProbe()
    probe.opened(at: .boot)
    expectEqual(probe.advance(at: .boot + BaudProbe.dwell), 4800)
    expectEqual(probe.received(sentences: 2), 2)
    probe.closed()
    return probe
  }

  @Test("a silent receiver is awaited at the baud rate that last worked; all are tried within a quarter of an hour")
  func silence() {
    var probe = detected()
    var now = BootInstant.boot
    var dwells: [Int: Int] = [:]
    // A silent port is reopened after two rounds.
    for _ in 0..<16 {
      probe.opened(at: now)
      for _ in 0..<2 * BaudProbe.rates.count {
        dwells[probe.baud, default: 0] += 1
        now = now + BaudProbe.dwell
        _ = probe.advance(at: now)
      }
      probe.closed()
    }
    expectEqual(Set(dwells.keys), Set(BaudProbe.rates))
    expectEqual(dwells[4800], 15 * 18 + 2)
  }

  @Test("noise does not keep a silent port away from the baud rate that last worked")
  func noise() {
    var probe = detected()
    var now = BootInstant.boot
    func advance(afterBytes: Bool) -> Int? {
      if afterBytes { expectEqual(probe.received(sentences: 0), 0) }
      now = now + BaudProbe.dwell
      return probe.advance(at: now)
    }
    probe.opened(at: now)
    expectNil(advance(afterBytes: true))
    expectNil(advance(afterBytes: false))
    expectNil(advance(afterBytes: true))
    expectEqual(advance(afterBytes: true), 9600)
    expectEqual(advance(afterBytes: false), 38_400)
    expectEqual(advance(afterBytes: false), 4800)
    expectNil(advance(afterBytes: false))
  }

  @Test("a receiver that now sends at another baud rate, and only every five seconds, is detected within 15 minutes")
  func slowExchanged() {
    var probe = detected()
    var now = BootInstant.boot
    probe.opened(at: now)
    for dwell in 0..<360 where !probe.isFound {
      if dwell.isMultiple(of: 2) { _ = probe.received(sentences: probe.baud == 38_400 ? 3 : 0) }
      now = now + BaudProbe.dwell
      _ = probe.advance(at: now)
    }
    expectEqual(probe.isFound ? probe.baud : nil, 38_400)
  }

  @Test("if the device refuses the baud rate that last worked, all others are tried without bytes too")
  func refusedConfirmed() {
    var probe = detected()
    probe.opened(at: .boot)
    expectEqual(probe.refused(), 9600)
    expectEqual(probe.advance(at: .boot + BaudProbe.dwell), 38_400)
  }

  @Test("a baud rate that the device does not support is not tried again")
  func refused() {
    var probe = BaudProbe()
    probe.opened(at: .boot)
    expectEqual(probe.advance(at: .boot + BaudProbe.dwell), 4800)
    expectEqual(probe.refused(), 38_400)
    for _ in 1..<BaudProbe.rates.count - 1 { _ = probe.refused() }
    expectNil(probe.refused())
    // The next device of this name does them.
    probe.closed()
    probe.opened(at: .boot)
    var tried: Set = [probe.baud]
    for round in 1..<BaudProbe.rates.count {
      if let baud = probe.advance(at: .boot + BaudProbe.dwell * round) { tried.insert(baud) }
    }
    expectEqual(tried, Set(BaudProbe.rates))
  }

  @Test("a closed port has no deadline")
  func closed() {
    var probe = BaudProbe()
    expectNil(probe.nextDeadline)
    probe.opened(at: .boot)
    probe.closed()
    expectNil(probe.nextDeadline)
    expectEqual(probe.baud, 9600)
  }
}
