// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import Testing
import Timekeeping

@testable import Vehicle

struct FixMonitorTests {
  private var monitor = FixMonitor()
  private let fix: Fix

  init() throws {
    let place = try #require(Coordinate(latitude: 48, longitude: 11))
    fix = Fix(coordinate: place, time: .utc(Timestamp(seconds: 1_796_083_200)))
  }

  private func at(_ second: Int) -> BootInstant { .boot + .seconds(second) }

  @Test("only the first fix is reported")
  mutating func first() {
    expect(monitor.newest == nil && monitor.missingDeadline == nil && !monitor.isLost)
    expectEqual(monitor.accepted(fix, at: at(5)), .firstFix(fix))
    expectNil(monitor.accepted(fix, at: at(6)))
    expect(monitor.newest?.at == at(6) && monitor.missingDeadline == at(36))
  }

  @Test("a lost fix is reported once, and its return with the time since the last one")
  mutating func lost() {
    expectNil(monitor.reportMissing(inView: nil, at: at(40)))
    _ = monitor.accepted(fix, at: at(5))
    monitor.rejected(.inaccurate)
    expectEqual(monitor.reportMissing(inView: nil, at: at(40)), .fixLost(.inaccurate))
    expect(monitor.isLost && monitor.missingDeadline == nil && monitor.newest?.at == at(5))
    expectNil(monitor.reportMissing(inView: nil, at: at(40)))
    expectEqual(monitor.accepted(fix, at: at(60)), .fixRegained(after: .seconds(55)))
    expect(!monitor.isLost && monitor.missingDeadline == at(90))
  }

  @Test("a missing first fix is reported once, a minute after a source was opened")
  mutating func overdue() {
    expectNil(monitor.reportMissing(inView: nil, at: at(100)))
    monitor.setReading(true, at: at(5))
    monitor.setReading(true, at: at(6))
    expect(monitor.missingDeadline == at(65) && monitor.missingSince == at(5))
    monitor.setReading(false, at: at(20))
    expect(monitor.missingDeadline == nil && monitor.missingSince == nil)
    monitor.setReading(true, at: at(30))
    monitor.rejected(.stale)
    expectEqual(monitor.reportMissing(inView: 3, at: at(90)), .noFix(after: .seconds(60), inView: 3, .stale))
    expectNil(monitor.reportMissing(inView: 3, at: at(200)))
    expect(monitor.missingDeadline == nil && monitor.missingSince == at(30))
    expectEqual(monitor.accepted(fix, at: at(201)), .firstFix(fix))
    expectNil(monitor.missingSince)
  }

  @Test("the reason for the last rejection is available until a fix is accepted")
  mutating func rejection() {
    monitor.rejected(.inaccurate)
    monitor.rejected(.stale)
    expect(monitor.rejection == .stale && monitor.newest == nil)
    _ = monitor.accepted(fix, at: at(5))
    expectNil(monitor.rejection)
  }

  @Test("after a resume from suspend the receiver has a grace period, which ends with the first fix")
  mutating func woke() {
    expectEqual(monitor.graceEnd, .boot)
    monitor.woke(at: at(100))
    expectEqual(monitor.graceEnd, at(100) + .milliseconds(1500))
    monitor.rejected(.stale)
    expectEqual(monitor.graceEnd, at(100) + .milliseconds(1500))
    _ = monitor.accepted(fix, at: at(101))
    expectEqual(monitor.graceEnd, .boot)
    // The suspend itself is no time without a fix.
    monitor.woke(at: at(4000))
    expectEqual(monitor.missingDeadline, at(4030))
  }
}
