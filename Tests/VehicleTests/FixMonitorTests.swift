// SPDX-License-Identifier: Apache-2.0
import Positioning
import Testing
import Timekeeping

@testable import Vehicle

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
    #expect(monitor.newest == nil && monitor.missingAt == nil && !monitor.isLost)
    #expect(monitor.accepted(fix, at: at(5)) == .firstFix(fix))
    #expect(monitor.accepted(fix, at: at(6)) == nil)
    #expect(monitor.newest?.at == at(6) && monitor.missingAt == at(36))
  }

  @Test("a fix is lost once, and regained after the time since the last one")
  mutating func lost() {
    #expect(monitor.reportMissing(inView: nil, at: at(40)) == nil)
    _ = monitor.accepted(fix, at: at(5))
    monitor.rejected(.inaccurate)
    #expect(monitor.reportMissing(inView: nil, at: at(40)) == .fixLost(.inaccurate))
    #expect(monitor.isLost && monitor.missingAt == nil && monitor.newest?.at == at(5))
    #expect(monitor.reportMissing(inView: nil, at: at(40)) == nil)
    #expect(monitor.accepted(fix, at: at(60)) == .fixRegained(after: .seconds(55)))
    #expect(!monitor.isLost && monitor.missingAt == at(90))
  }

  @Test("a first fix that does not come is missed once, a while after a source is read")
  mutating func overdue() {
    #expect(monitor.reportMissing(inView: nil, at: at(100)) == nil)
    monitor.setReading(true, at: at(5))
    monitor.setReading(true, at: at(6))
    #expect(monitor.missingAt == at(65) && monitor.missingSince == at(5))
    monitor.setReading(false, at: at(20))
    #expect(monitor.missingAt == nil && monitor.missingSince == nil)
    monitor.setReading(true, at: at(30))
    monitor.rejected(.stale)
    #expect(monitor.reportMissing(inView: 3, at: at(90)) == .noFix(after: .seconds(60), inView: 3, .stale))
    #expect(monitor.reportMissing(inView: 3, at: at(200)) == nil)
    #expect(monitor.missingAt == nil && monitor.missingSince == at(30))
    #expect(monitor.accepted(fix, at: at(201)) == .firstFix(fix))
    #expect(monitor.missingSince == nil)
  }

  @Test("why the last fix was rejected is known until one is accepted")
  mutating func rejection() {
    monitor.rejected(.inaccurate)
    monitor.rejected(.stale)
    #expect(monitor.rejection == .stale && monitor.newest == nil)
    _ = monitor.accepted(fix, at: at(5))
    #expect(monitor.rejection == nil)
  }

  @Test("after a resume from suspend the receiver has a grace period, which ends with the first fix")
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
