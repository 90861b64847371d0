// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Observability
import Testing
import Timekeeping

@testable import Delivery

@Suite struct OutageNoticesTests {
  private var notices = OutageNotices()

  private func at(_ second: Int) -> BootInstant { .boot + .seconds(second) }
  private func failure(_ category: UpdateFailure.Category = .network) -> UpdateFailure {
    UpdateFailure(category, "no answer", from: .deliveries)
  }

  private mutating func fail(_ second: Int, _ category: UpdateFailure.Category = .network) -> String? {
    notices.failed(failure(category), at: at(second)).map { "\($0.kind): \($0.sentence)" }
  }

  private mutating func accept(_ second: Int, delivered: Int = 0, waiting: Int = 0, wasOnline: Bool = false) -> [String]
  {
    notices.accepted(wasOnline: wasOnline, delivered: delivered, waiting: waiting, at: at(second)).map(\.sentence)
  }

  @Test("an outage is told with its end, how long it was, and what came with it")
  mutating func outage() {
    #expect(accept(0) == ["Online: Fleet Engine accepts updates"])
    #expect(fail(100) == "offline: Offline (network): no answer")
    #expect(fail(110) == nil)
    #expect(
      accept(340, delivered: 24)
        == ["Online: Fleet Engine accepts updates, after 4 min; 24 past positions delivered"])
    #expect(accept(350, delivered: 3, wasOnline: true) == [])
  }

  @Test("what is announced is told when it has come")
  mutating func announced() {
    _ = fail(0)
    #expect(
      accept(200, delivered: 100, waiting: 7)
        == ["Online: Fleet Engine accepts updates, after 3 min; 7 of 107 past positions still to come"])
    #expect(accept(210, delivered: 6, waiting: 1, wasOnline: true) == [])
    #expect(accept(220, delivered: 1, wasOnline: true) == ["107 past positions delivered"])
  }

  @Test("short outages after one that was told are counted, and the next that is told says how many")
  mutating func shortOnes() {
    _ = fail(0)
    _ = accept(5)
    for second in [100, 200, 300] {
      #expect(fail(second) == "interrupted: Interrupted (network): no answer")
      #expect(fail(second + 5) == nil)
      #expect(accept(second + 20, delivered: 2) == [])
    }
    #expect(fail(700) == "offline: Offline (network): no answer (and 3 short interruptions before that)")
    #expect(accept(710) == ["Online: Fleet Engine accepts updates, after 10 s"])
  }

  @Test("an outage that lasts a minute is told in any case, and its end with it")
  mutating func long() {
    _ = fail(0)
    _ = accept(5)
    #expect(fail(100) == "interrupted: Interrupted (network): no answer")
    #expect(fail(159) == nil)
    #expect(fail(160) == "offline: Offline for 60 s (network): no answer")
    #expect(accept(170) == ["Online: Fleet Engine accepts updates, after 70 s"])
  }

  @Test("what no road explains is told at once, however often", arguments: [UpdateFailure.Category.denied, .missing])
  mutating func fault(category: UpdateFailure.Category) {
    for second in [0, 20, 40] {
      #expect(fail(second, category)?.hasPrefix("offline: Offline (\(category.rawValue))") == true)
      #expect(accept(second + 10).count == 1)
    }
  }

  @Test("another kind of failure within an outage is told too")
  mutating func otherKind() {
    _ = fail(0)
    #expect(fail(30, .untrusted)?.hasPrefix("offline: Offline for 30 s (untrusted)") == true)
    #expect(fail(40) == nil)
    #expect(fail(50, .untrusted) == nil)
  }

  @Test("a weekend without network is told after 10, 20 and 40 minutes and every hour, with the tries in between")
  mutating func weekend() {
    var told: [Int] = []
    for second in stride(from: 0, to: 48 * 3600, by: 10) {
      if let line = fail(second), second > 0 {
        #expect(line.hasPrefix("stillOffline: Still offline after "))
        told.append(second / 60)
      }
    }
    #expect(told.prefix(6) == [10, 20, 40, 60, 120, 180])
    #expect(told.count == 50)
    #expect(fail(48 * 3600)?.hasSuffix("no answer; 360 tries since this was last told") == true)
  }
}
