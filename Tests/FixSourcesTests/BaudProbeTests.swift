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
