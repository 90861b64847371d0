// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import FleetEngine
import Testing
import Timekeeping

@testable import Vehicle

struct OutageReporterTests {
  private var reporter = OutageReporter()

  private func at(_ second: Int) -> BootInstant { .boot + .seconds(second) }
  private func failure(_ category: UpdateFailure.Category = .network) -> UpdateFailure {
    UpdateFailure(category, "no response", from: .deliveries)
  }

  private mutating func fail(_ second: Int, _ category: UpdateFailure.Category = .network) -> Event? {
    reporter.failed(failure(category), at: at(second))
  }

  private mutating func accept(_ second: Int, delivered: Int = 0, pending: Int = 0) -> [Event] {
    reporter.accepted(delivered: delivered, pending: pending, at: at(second))
  }

  @Test("the start of an outage is reported, then its end with the duration and the number of delivered positions")
  mutating func outage() {
    expectEqual(accept(0), [.online(after: nil, delivered: 0, pending: 0)])
    expectEqual(fail(100), .offline(failure(), after: .zero, suppressed: 0))
    expectNil(fail(110))
    expectEqual(accept(340, delivered: 24), [.online(after: .seconds(240), delivered: 24, pending: 0)])
    expectEqual(accept(350, delivered: 3), [])
  }

  @Test("positions that are pending at the end of an outage are reported once all are delivered")
  mutating func announced() {
    _ = fail(0)
    expectEqual(accept(200, delivered: 100, pending: 7), [.online(after: .seconds(200), delivered: 100, pending: 7)])
    expectEqual(accept(210, delivered: 6, pending: 1), [])
    expectEqual(accept(220, delivered: 1), [.backfilled(107)])
  }

  @Test("short outages soon after a reported one are only counted, and the next report includes their number")
  mutating func shortOnes() {
    _ = fail(0)
    _ = accept(5)
    for second in [100, 200, 300] {
      expectEqual(fail(second), .interrupted(failure()))
      expectNil(fail(second + 5))
      expectEqual(accept(second + 20, delivered: 2), [])
    }
    expectEqual(fail(700), .offline(failure(), after: .zero, suppressed: 3))
    expectEqual(accept(710), [.online(after: .seconds(10), delivered: 0, pending: 0)])
  }

  @Test("an outage that lasts a minute is always reported, and so is its end")
  mutating func long() {
    _ = fail(0)
    _ = accept(5)
    expectEqual(fail(100), .interrupted(failure()))
    expectNil(fail(159))
    expectEqual(fail(160), .offline(failure(), after: .seconds(60), suppressed: 0))
    expectEqual(accept(170), [.online(after: .seconds(70), delivered: 0, pending: 0)])
  }

  @Test(
    "failures that the network does not explain are reported at once, each time",
    arguments: [UpdateFailure.Category.permissionDenied, .notFound])
  mutating func fault(category: UpdateFailure.Category) {
    for second in [0, 20, 40] {
      expectEqual(fail(second, category), .offline(failure(category), after: .zero, suppressed: 0))
      expectEqual(accept(second + 10), [.online(after: .seconds(10), delivered: 0, pending: 0)])
    }
  }

  @Test(
    "a server that rejects every other update is reported once in ten minutes, and at once if it does so in another way",
    arguments: [UpdateFailure.Category.throttled, .rejected, .notFleetEngine])
  mutating func alternating(category: UpdateFailure.Category) {
    expectEqual(fail(0, category), .offline(failure(category), after: .zero, suppressed: 0))
    expectEqual(accept(10), [.online(after: .seconds(10), delivered: 0, pending: 0)])
    for second in stride(from: 20, to: 600, by: 20) {
      expectEqual(fail(second, category), .interrupted(failure(category)))
      expectEqual(accept(second + 10), [])
    }
    expectEqual(fail(620, category), .offline(failure(category), after: .zero, suppressed: 29))
    expectEqual(accept(630).count, 1)
    expectEqual(fail(640, .notFound), .offline(failure(.notFound), after: .zero, suppressed: 0))
  }

  @Test("a different kind of failure during an outage is reported too")
  mutating func otherKind() {
    _ = fail(0)
    expectEqual(fail(30, .notFleetEngine), .offline(failure(.notFleetEngine), after: .seconds(30), suppressed: 0))
    expectNil(fail(40))
    expectNil(fail(50, .notFleetEngine))
  }

  @Test(
    "a weekend without network is reported after 10, 20 and 40 minutes and then hourly, with the number of attempts")
  mutating func weekend() {
    var reminders: [Int] = []
    for second in stride(from: 0, to: 48 * 3600, by: 10) {
      guard let event = fail(second), second > 0 else { continue }
      let attempts = (second - (reminders.last ?? 0) * 60) / 10
      expectEqual(event, .stillOffline(failure(), after: .seconds(second), attempts: attempts))
      reminders.append(second / 60)
    }
    expectEqual(reminders, [10, 20, 40] + (1..<48).map { $0 * 60 })
    expectEqual(fail(48 * 3600), .stillOffline(failure(), after: .seconds(48 * 3600), attempts: 360))
  }
}
