// SPDX-License-Identifier: Apache-2.0
import Positioning
import Testing
import Timekeeping

@testable import Delivery

@Suite struct FixMonitorTests {
  private var monitor = FixMonitor()
  private let fix: Fix

  init() throws {
    let place = try #require(Coordinate(latitude: 48, longitude: 11))
    fix = Fix(coordinate: place, time: .utc(Timestamp(seconds: 1_796_083_200)))
  }

  private func at(_ second: Int) -> BootInstant { .boot + .seconds(second) }

  @Test("the first fix is an edge, and those after it are not")
  mutating func first() {
    #expect(monitor.newest == nil && monitor.lostAt == nil && !monitor.isLost)
    #expect(monitor.accepted(fix, at: at(5)) == .firstFix(fix))
    #expect(monitor.accepted(fix, at: at(6)) == nil)
    #expect(monitor.newest?.at == at(6) && monitor.lostAt == at(36))
  }

  @Test("a fix is lost once, and regained after the time since the last one")
  mutating func lost() {
    #expect(monitor.lose() == nil)
    _ = monitor.accepted(fix, at: at(5))
    monitor.rejected(.inaccurate)
    #expect(monitor.lose() == .fixLost(.inaccurate))
    #expect(monitor.isLost && monitor.lostAt == nil && monitor.newest?.at == at(5))
    #expect(monitor.lose() == nil)
    #expect(monitor.accepted(fix, at: at(60)) == .fixRegained(after: .seconds(55)))
    #expect(!monitor.isLost && monitor.lostAt == at(90))
  }

  @Test("why the last fix was rejected is known until one is accepted")
  mutating func rejection() {
    monitor.rejected(.inaccurate)
    monitor.rejected(.stale)
    #expect(monitor.rejection == .stale && monitor.newest == nil)
    _ = monitor.accepted(fix, at: at(5))
    #expect(monitor.rejection == nil)
  }

  @Test("a machine that woke waits a moment for its receiver, and no longer when a fix has come")
  mutating func woke() {
    #expect(monitor.awakeAt == .boot)
    monitor.woke(at: at(100))
    #expect(monitor.awakeAt == at(100) + .milliseconds(1500))
    monitor.rejected(.stale)
    #expect(monitor.awakeAt == at(100) + .milliseconds(1500))
    _ = monitor.accepted(fix, at: at(101))
    #expect(monitor.awakeAt == .boot)
  }
}
