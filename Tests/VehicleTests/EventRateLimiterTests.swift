// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import ExternalInput
import Authorization
import FleetEngine
import Positioning
import SourceSelection
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

  @Test("a store failure is reported once in ten minutes, and a recovery only after a reported failure")
  mutating func store() {
    let failed = BacklogStoreState.memoryOnly("no space")
    expectEqual(
      eventLimiter.storeChanged(from: .off, to: failed, count: 2, at: at(0)),
      .backlogInMemory("no space", suppressed: 0))
    expectNil(eventLimiter.storeChanged(from: failed, to: failed, count: 3, at: at(5)))
    expectEqual(eventLimiter.storeChanged(from: failed, to: .healthy, count: 3, at: at(9)), .backlogOnDisk(count: 3))
    // On a disk that is almost full, every other commit may fail.
    expectNil(eventLimiter.storeChanged(from: .healthy, to: failed, count: 3, at: at(12)))
    expectNil(eventLimiter.storeChanged(from: failed, to: .healthy, count: 0, at: at(20)))
    expectEqual(
      eventLimiter.storeChanged(from: .healthy, to: failed, count: 3, at: at(600)),
      .backlogInMemory("no space", suppressed: 2))
    expectEqual(eventLimiter.storeChanged(from: failed, to: .healthy, count: 3, at: at(609)), .backlogOnDisk(count: 3))
  }

  private func source(_ name: String) -> SourceOverview.Source {
    SourceOverview.Source(id: 3, name: name, condition: .searching(nil))
  }

  @Test("a flapping source is reported five times at once, then once in ten minutes; its return only after a report")
  mutating func sources() {
    func report(at second: Int) -> [Event?] {
      let lost = eventLimiter.sourceLost(source("gps0"), "gone", nil, at: at(second))
      return [lost, eventLimiter.sourceOpened(source("gps0"), nil, isRenamed: false, at: at(second + 1))]
    }
    for cycle in 0..<5 { expectEqual(report(at: cycle * 2), [.sourceLost("gone"), .sourceOpened("gps0")]) }
    for cycle in 5..<300 { expectEqual(report(at: cycle * 2), [nil, nil]) }
    expectEqual(report(at: 600), [.sourceLost("gone", suppressed: 295), .sourceOpened("gps0")])
    expectEqual(report(at: 602), [nil, nil])
    expectEqual(
      eventLimiter.sourceLost(source("gps0"), "no SIM", nil, at: at(604)), .sourceLost("no SIM"), "another reason")
    // After an hour of rest, several are reported again.
    expectEqual((0..<7).map { report(at: 4300 + $0 * 2)[0] != nil }, [true, true, true, true, true, false, false])
    eventLimiter.configured(isOtherVehicle: false)
    expectEqual(report(at: 4400), [.sourceLost("gone"), .sourceOpened("gps0")])
  }

  @Test("a source whose name changes all the time, and sources that are chosen in turn, are reported at a limited rate")
  mutating func sourceChanges() {
    let names = (0..<100).compactMap {
      eventLimiter.sourceOpened(source("gps\($0)"), nil, isRenamed: true, at: at($0))
    }
    expectEqual(names.count, 5)
    let none = Event.noSourceGood(SourceOverview(sources: []))
    let chosen = Event.sourceChosen(0, in: SourceOverview(sources: []))
    let turns = (0..<100).compactMap { eventLimiter.sourceChosen($0 % 2 == 0 ? none : chosen, at: at($0)) }
    expectEqual(turns.count { $0 == none }, 5)
    expectEqual(turns.count { $0 == chosen }, 5)
  }

  @Test("a fix that comes and goes is reported five times at once, then once in ten minutes")
  mutating func fixes() {
    let reported = (0..<70).flatMap { cycle in
      [Event.fixLost(nil), .fixRegained(after: .seconds(40))].compactMap {
        eventLimiter.fixChanged($0, at: at(cycle * 60))
      }
    }
    expectEqual(reported.count { $0 == .fixLost(nil) }, 11)
    expectEqual(reported.count, 22)
  }

  @Test("what a token program writes to standard error is reported three times at once, then once in ten minutes")
  mutating func remarks() {
    let lines = [ExternalText(Array("one".utf8)), ExternalText(Array("two".utf8))]
    let counts = (0..<20).map { eventLimiter.tokenRemarks(lines, at: at($0 * 60)).count }
    expectEqual(counts.count { $0 == 2 }, 4)
    expectEqual(counts.count { $0 == 0 }, 16)
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
