// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import PositionBacklog

struct StoreReadScheduleTests {
  private let start = BootInstant.boot + .seconds(100)

  @Test("the store is due for reading when the hold-off is over, or at once when a request has ended")
  func due() {
    var reading = StoreReadSchedule()
    expect(reading.dueAt == nil && !reading.isPending)
    reading.requestEnded()
    expectNil(reading.dueAt)
    reading.found(at: start)
    expect(reading.dueAt == start + StoreReadSchedule.holdOff && reading.isPending)
    reading.requestEnded()
    expect(reading.dueAt == .boot && reading.isPending)
    reading.begin()
    expect(reading.dueAt == nil && reading.isPending)
    reading.requestEnded()
    expect(reading.dueAt == nil && reading.isPending)
  }

  @Test("the end of reading returns when it became pending, even if it was never begun; a second end returns nil")
  func answer() {
    var reading = StoreReadSchedule()
    expectNil(reading.ended())
    reading.found(at: start)
    expectEqual(reading.ended(), start)
    expect(reading.ended() == nil && !reading.isPending)
    reading.found(at: start)
    reading.begin()
    expectEqual(reading.ended(), start)
  }

  @Test("a store that fails before reading begins is still read later; a failure of the reading ends the wait")
  func failure() {
    var reading = StoreReadSchedule()
    reading.found(at: start)
    reading.failed()
    expect(reading.dueAt != nil)
    reading.begin()
    reading.failed()
    expect(!reading.isPending)
  }
}
