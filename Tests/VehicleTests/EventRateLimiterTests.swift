// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import ExternalInput
import Authorization
import FleetEngine
import Positioning
import Testing
import Timekeeping

@testable import Vehicle

/// Rate limits of repeated events.
struct EventRateLimiterTests {
  private var eventLimiter = EventRateLimiter()

  private func at(_ second: Int) -> BootInstant { .boot + .seconds(second) }

  @Test(
    "each reason for rejection is reported once in ten minutes, and again after an accepted fix; duplicates never are")
  mutating func rejections() {
    expectEqual(eventLimiter.fixRejected(.stale, at: at(0)), .fixRejected(.stale, suppressed: 0))
    expectNil(eventLimiter.fixRejected(.stale, at: at(1)))
    expectEqual(eventLimiter.fixRejected(.inaccurate, at: at(2)), .fixRejected(.inaccurate, suppressed: 0))
    expectEqual(eventLimiter.fixRejected(.stale, at: at(600)), .fixRejected(.stale, suppressed: 1))
    expectNil(eventLimiter.fixRejected(.duplicate, at: at(601)))
    eventLimiter.fixAccepted()
    expectEqual(eventLimiter.fixRejected(.stale, at: at(602)), .fixRejected(.stale, suppressed: 0))
  }

  @Test("an unknown date is not reported at the start of a receiver, where it is normal, but if it persists")
  mutating func unknownDate() {
    for start in [0, 600] {
      expectNil(eventLimiter.fixRejected(.noDate, at: at(start)))
      expectNil(eventLimiter.fixRejected(.noDate, at: at(start + 1)))
      eventLimiter.fixAccepted()
    }
    expectNil(eventLimiter.fixRejected(.noDate, at: at(700)))
    expectEqual(eventLimiter.fixRejected(.noDate, at: at(702)), .fixRejected(.noDate, suppressed: 0))
  }

  @Test("a failure of the token provider is reported again after a token was obtained, and after new settings")
  mutating func tokens() {
    let failure = TokenFailure(.missingField, "no token")
    func report(left: Duration? = nil) -> Event { .tokenFailed(failure, left: left, suppressed: 0) }
    expectEqual(eventLimiter.tokenFailed(failure, left: .seconds(60), at: at(0)), report(left: .seconds(60)))
    expectNil(eventLimiter.tokenFailed(failure, left: nil, at: at(5)))
    eventLimiter.tokenObtained()
    expectEqual(eventLimiter.tokenFailed(failure, left: nil, at: at(10)), report())
    eventLimiter.configured(isOtherVehicle: false)
    expectEqual(eventLimiter.tokenFailed(failure, left: nil, at: at(20)), report())
  }

  @Test("positions that are removed undelivered are reported once in ten minutes; delivered ones never are")
  mutating func removals() {
    expectNil(eventLimiter.removed(3, .delivered, interpolationError: 0, at: at(0)))
    expectEqual(
      eventLimiter.removed(3, .rejected, interpolationError: 12, at: at(0)),
      .positionsDropped(3, .rejected, interpolationError: 12, suppressed: 0))
    expectNil(eventLimiter.removed(1, .rejected, interpolationError: 12, at: at(10)))
    expectEqual(
      eventLimiter.removed(1, .rejected, interpolationError: 12, at: at(600)),
      .positionsDropped(1, .rejected, interpolationError: 12, suppressed: 1)
    )
  }

  @Test("a store failure is reported once, then the recovery, then the next failure")
  mutating func store() {
    let failed = BacklogStoreState.memoryOnly("no space")
    expectEqual(
      eventLimiter.storeChanged(from: .off, to: failed, count: 2, at: at(0)),
      .backlogInMemory("no space", suppressed: 0))
    expectNil(eventLimiter.storeChanged(from: failed, to: failed, count: 3, at: at(5)))
    expectEqual(eventLimiter.storeChanged(from: failed, to: .healthy, count: 3, at: at(9)), .backlogOnDisk(count: 3))
    expectEqual(
      eventLimiter.storeChanged(from: .healthy, to: failed, count: 3, at: at(12)),
      .backlogInMemory("no space", suppressed: 0))
    expectNil(eventLimiter.storeChanged(from: .off, to: .healthy, count: 0, at: at(20)))
  }

  @Test("a flapping network is reported once in ten minutes, and its return only after a reported loss")
  mutating func network() {
    expectEqual(eventLimiter.networkChanged(.lost, links: [], at: at(0)), .networkLost(suppressed: 0))
    expectEqual(
      eventLimiter.networkChanged(.back(after: .seconds(5)), links: ["wwan0"], at: at(5)),
      .networkBack(["wwan0"], after: .seconds(5)))
    expectNil(eventLimiter.networkChanged(.lost, links: [], at: at(10)))
    expectNil(eventLimiter.networkChanged(.back(after: .seconds(5)), links: ["wwan0"], at: at(15)))
    expectNil(eventLimiter.networkChanged(.pathChanged, links: ["wwan0"], at: at(20)))
    expectEqual(eventLimiter.networkChanged(.lost, links: [], at: at(600)), .networkLost(suppressed: 1))
  }

  @Test("clock steps are reported at most once a minute, with the number of suppressed reports")
  mutating func clockSteps() {
    expectEqual(eventLimiter.clockStepped(.seconds(5), at: at(0)), .clockStepped(.seconds(5), suppressed: 0))
    for second in [10, 20, 59] { expectNil(eventLimiter.clockStepped(.seconds(-5), at: at(second))) }
    expectEqual(eventLimiter.clockStepped(.seconds(7), at: at(60)), .clockStepped(.seconds(7), suppressed: 3))
    expectEqual(eventLimiter.clockStepped(.seconds(7), at: at(200)), .clockStepped(.seconds(7), suppressed: 0))
  }

  @Test("the first accepted update after a pause, or of a new vehicle, is reported", arguments: [true, false])
  mutating func online(isPause: Bool) {
    expectEqual(
      eventLimiter.updateAccepted(past: 0, pending: 0, at: at(0)), [.online(after: nil, delivered: 0, pending: 0)])
    expectEqual(eventLimiter.updateAccepted(past: 0, pending: 0, at: at(10)), [])
    if isPause { eventLimiter.paused() } else { eventLimiter.configured(isOtherVehicle: true) }
    expectEqual(
      eventLimiter.updateAccepted(past: 0, pending: 0, at: at(20)), [.online(after: nil, delivered: 0, pending: 0)])
  }

  @Test("positions of the previous run are reported when they are restored, and when they are delivered")
  mutating func restored() {
    _ = eventLimiter.updateAccepted(past: 0, pending: 2, at: at(0))
    expectEqual(eventLimiter.backlogRestored(2), .backlogRestored(2))
    expectEqual(eventLimiter.updateAccepted(past: 2, pending: 0, at: at(10)), [.backfilled(2)])
  }
}
