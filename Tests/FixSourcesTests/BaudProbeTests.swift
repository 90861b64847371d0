// SPDX-License-Identifier: Apache-2.0
import FixSources
import Testing
import Timekeeping

@Suite struct BaudProbeTests {
  @Test(
    "Every usual speed is tried for its time, in a circle, until two sentences are right", arguments: BaudProbe.rates)
  func search(right: Int) {
    var probe = BaudProbe()
    var now = BootInstant.boot
    probe.opened(at: now)
    var tried = [probe.baud]
    while probe.baud != right {
      let deadline = probe.nextDeadline ?? now
      #expect(deadline == now + BaudProbe.dwell)
      now = deadline
      if let next = probe.advance(at: now) { tried.append(next) }
    }
    #expect(tried == Array(BaudProbe.rates.prefix(tried.count)))
    #expect(probe.received(sentences: 1) == 0)
    #expect(probe.received(sentences: 2) == 3)
    #expect(probe.isFound)
    #expect(probe.nextDeadline == nil)
    #expect(probe.advance(at: now + .seconds(100)) == nil)
    #expect(probe.received(sentences: 5) == 5)
    // After a replug it comes first, and all others after it.
    probe.closed()
    #expect(probe.baud == right)
    probe.opened(at: now)
    var again = [probe.baud]
    while again.count < BaudProbe.rates.count {
      now = now + BaudProbe.dwell
      if let next = probe.advance(at: now) { again.append(next) }
    }
    #expect(Set(again) == Set(BaudProbe.rates))
  }

  @Test("A first sentence earns its speed more time, once")
  func promise() {
    var probe = BaudProbe()
    probe.opened(at: .boot)
    _ = probe.received(sentences: 1)
    #expect(probe.advance(at: .boot + BaudProbe.dwell) == nil)
    #expect(probe.baud == 9600)
    #expect(probe.advance(at: .boot + BaudProbe.dwell * 2) == 4800)
  }

  @Test("A speed that the device does not do is not tried again")
  func refused() {
    var probe = BaudProbe()
    probe.opened(at: .boot)
    #expect(probe.advance(at: .boot + BaudProbe.dwell) == 4800)
    #expect(probe.refused() == 38_400)
    for _ in 1..<BaudProbe.rates.count - 1 { _ = probe.refused() }
    #expect(probe.refused() == nil)
  }

  @Test("A closed port has no deadline")
  func closed() {
    var probe = BaudProbe()
    #expect(probe.nextDeadline == nil)
    probe.opened(at: .boot)
    probe.closed()
    #expect(probe.nextDeadline == nil)
    #expect(probe.baud == 9600)
  }
}
