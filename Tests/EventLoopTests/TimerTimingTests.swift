// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import LoopTesting
import Testing
import Timekeeping

/// How late a timer fires; a machine that stalls is given further attempts. `make test` runs this suite after all
/// others, like all `…TimingTests`.
@Suite(.serialized) struct TimerTimingTests {
  @Test("A timer never fires early, and less than 200 ms late unless the machine stalls")
  func timer() throws {
    let loop = try EventLoop()
    let isPunctual = try (1...5).contains { _ in
      var fired: BootInstant?
      let timer = try loop.makeTimer { fired = loop.now.boot }
      let due = loop.now.boot + .milliseconds(20)
      timer.arm(at: due)
      expect(try loop.runs { fired != nil })
      let lateness = try #require(fired) - due
      expect(lateness >= .zero)
      return lateness < .milliseconds(200)
    }
    expect(isPunctual)
  }
}
