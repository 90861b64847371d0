// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import LoopTesting
import Testing
import Timekeeping

/// How late a timer fires. `make test` runs this suite after all others, like all `…TimingTests`.
@Suite(.serialized) struct TimerTimingTests {
  @Test("A timer never fires early, and always fires less than 200 ms late")
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
