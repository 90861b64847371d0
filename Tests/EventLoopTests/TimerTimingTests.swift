// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import LoopTesting
import Testing
import Timekeeping

/// How late a timer is; run alone, as all `…TimingTests` are by `make test`.
@Suite(.serialized) struct TimerTimingTests {
  @Test("A timer fires at its instant, never before, and less than a quarter of a second after")
  func timer() throws {
    let loop = try EventLoop()
    var fired: BootInstant?
    let timer = try loop.makeTimer { fired = loop.now.boot }
    let due = loop.now.boot + .milliseconds(20)
    timer.arm(at: due)
    expect(try loop.runs { fired != nil })
    let lateness = try #require(fired) - due
    expect(lateness >= .zero)
    expect(lateness < .milliseconds(200))
  }
}
