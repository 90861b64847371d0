// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

struct RetryGateTests {
  private let bounds = Backoff.Bounds.seconds(2, cap: 16)

  private func at(_ seconds: Double) -> BootInstant { .boot + .milliseconds(Int64(seconds * 1000)) }

  @Test("the first attempt is allowed at once, and the next attempt after a second")
  func spacing() {
    var gate = RetryGate(seed: 1)
    expectEqual(gate.earliest, .boot)
    gate.attempted(at: at(10))
    expect(gate.earliest == at(11) && gate.notBefore == .boot)
  }

  /// Expects that none of the `n`th waits is above the `n`th of these bounds, in seconds, and that the longest nearly
  /// reaches it.
  private func expectBounds(_ bounds: [Int], of waits: [[Duration]]) {
    for (index, bound) in bounds.enumerated() {
      let longest = waits.map { $0[index] }.max() ?? .zero
      expect(longest <= .seconds(bound) && longest > .milliseconds(900 * bound), "\(index): \(longest)")
    }
  }

  @Test("waits after failures grow up to the cap, and start over after a reset")
  func growth() {
    let waits = (UInt64(0)..<200).map { seed -> [Duration] in
      var gate = RetryGate(seed: seed)
      return (0..<6).map { index -> Duration in
        if index == 5 {
          gate.reset()
          expectEqual(gate.earliest, .boot)
        }
        let wait = gate.failed(bounds, at: at(100))
        expectEqual(gate.notBefore, at(100) + wait)
        return wait
      }
    }
    expectBounds([2, 4, 8, 16, 16, 2], of: waits)
  }

  @Test("the wait is at least the duration that the server requests")
  func floor() {
    var gate = RetryGate(seed: 1)
    expectEqual(gate.failed(bounds, minimum: .seconds(60), at: at(5)), .seconds(60))
    expectEqual(gate.earliest, at(65))
  }

  @Test("the backoff is added to the wait that the server requests, so that the retries of a fleet are spread")
  func pushback() {
    let waits = (UInt64(0)..<100).map { seed in
      var gate = RetryGate(seed: seed)
      return gate.failed(bounds, minimum: .seconds(1), after: .seconds(60), at: at(5))
    }
    expect(waits.allSatisfy { $0 >= .seconds(61) && $0 <= .seconds(62) })
    expect(Set(waits).count > 40)
  }

  @Test("ending a wait early does not reset the growth of the backoff")
  func endWait() {
    var (one, other) = (RetryGate(seed: 1), RetryGate(seed: 1))
    for _ in 0..<4 {
      _ = one.failed(bounds, at: at(0))
      _ = other.failed(bounds, at: at(0))
    }
    one.endWait()
    expectEqual(one.notBefore, .boot)
    expectEqual(one.failed(bounds, at: at(0)), other.failed(bounds, at: at(0)))
    var waits: [Duration] = []
    for seed in 0..<100 {
      var gate = RetryGate(seed: UInt64(seed))
      for _ in 0..<4 { _ = gate.failed(bounds, at: at(0)) }
      gate.endWait()
      waits.append(gate.failed(bounds, at: at(0)))
    }
    expect(waits.contains { $0 > .seconds(8) })
  }

  @Test("a failure that grows another backoff does not change the gate's own backoff")
  func otherBackoff() {
    let waits = (UInt64(0)..<200).map { seed -> [Duration] in
      var gate = RetryGate(seed: seed)
      var other = Backoff()
      let others = (0..<4).map { _ -> Duration in
        let wait = gate.failed(.seconds(120, cap: 900), growing: &other, at: at(0))
        expectEqual(gate.notBefore, at(0) + wait)
        return wait
      }
      return others + [gate.failed(bounds, at: at(0))]
    }
    expectBounds([120, 240, 480, 900, 2], of: waits)
  }

  @Test("network events reset the backoff at most once in 30 s, however often a link flaps")
  func resetUnlessRecent() {
    var gate = RetryGate(seed: 1)
    _ = gate.failed(bounds, minimum: .seconds(600), at: at(0))
    gate.resetUnlessRecent(at: at(1))
    expectEqual(gate.earliest, .boot)
    gate.hold(for: .seconds(600), at: at(2))
    gate.resetUnlessRecent(at: at(30.9))
    expectEqual(gate.earliest, at(602))
    gate.resetUnlessRecent(at: at(31))
    expectEqual(gate.earliest, .boot)
  }

  @Test("network events do not lift the limit of twelve attempts a minute")
  func limit() {
    var gate = RetryGate(seed: 1)
    var now = at(0)
    var attempts: [BootInstant] = []
    for second in 0..<300 {
      gate.resetUnlessRecent(at: at(Double(second)))
      gate.endWait()
      now = max(now, at(Double(second)))
      guard now >= gate.earliest else { continue }
      gate.attempted(at: now)
      attempts.append(now)
    }
    for (first, thirteenth) in zip(attempts, attempts.dropFirst(AttemptLimiter.perMinute)) {
      expect(thirteenth - first >= .seconds(60))
    }
    expect(attempts.count > 50)
  }

  @Test("300 vehicles that fail at the same moment do not retry at the same moment")
  func fleet() {
    for bounds in [Backoff.Bounds.seconds(1, cap: 10), .equalJitter(.seconds(1), cap: .seconds(10))] {
      for failures in 1...5 {
        let waits = (0..<300).map { seed in
          var gate = RetryGate(seed: UInt64(seed))
          var wait = Duration.zero
          for _ in 0..<failures { wait = gate.failed(bounds, at: at(0)) }
          return wait
        }
        let longest = waits.max() ?? .zero
        // With equal jitter all waits are in ten of these twenty slots, 30 in each on average. No slot has more than
        // twice that.
        let slots = Dictionary(grouping: waits) { $0.nanoseconds * 20 / (longest.nanoseconds + 1) }
        expect(slots.values.allSatisfy { $0.count <= 60 }, "after \(failures)")
        expectEqual(Set(waits).count, 300)
      }
    }
  }

  @Test("with equal jitter, no wait is shorter than half of its bound")
  func half() {
    for seed in 0..<200 {
      var gate = RetryGate(seed: UInt64(seed))
      for bound in [5, 10, 20, 40, 80, 160, 300, 300] {
        let wait = gate.failed(.equalJitter(.seconds(5), cap: .seconds(300)), at: at(0))
        expect(wait >= .milliseconds(500 * bound) && wait <= .seconds(bound))
      }
    }
  }

  @Test("after a success, earlier attempts increase the spacing only if they reached the server")
  func outage() {
    func earliest(_ neverArrive: Bool) -> BootInstant {
      var gate = RetryGate(seed: 1)
      for second in stride(from: 24, to: 60, by: 3) {
        gate.attempted(at: at(Double(second)))
        if neverArrive { gate.failedUnsent() }
        _ = gate.failed(Backoff.Bounds.seconds(0, cap: 0), at: at(Double(second)))
      }
      // During the outage all attempts count towards the limit.
      expect(gate.earliestByLimit >= at(84))
      gate.attempted(at: at(60))
      gate.succeeded()
      for second in [65.0, 70] { gate.attempted(at: at(second)) }
      return gate.earliestByLimit
    }
    expectEqual(earliest(true), at(71))
    expect(earliest(false) > at(75))
  }
}
