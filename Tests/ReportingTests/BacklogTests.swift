// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Positioning
import Reporting
import Testing
import Timekeeping

@Suite struct BacklogTests {
  private func location(_ second: Int64) throws -> VehicleLocation {
    VehicleLocation(
      coordinate: try #require(Coordinate(latitude: 48, longitude: 11)), time: Timestamp(seconds: second))
  }

  private func backlog(_ seconds: [Int64], limit: Int = 100) throws -> Backlog {
    var backlog = Backlog()
    for (index, second) in seconds.enumerated() {
      _ = backlog.append(try location(second), at: .boot + .seconds(index), limit: limit)
    }
    return backlog
  }

  private func seconds(_ records: [Backlog.Record]) -> [Int64] { records.map { $0.location.time.milliseconds / 1000 } }

  @Test("records stand in the order of their times, whatever the order of their coming")
  func order() throws {
    #expect(seconds(try backlog([10, 30, 20, 5, 40]).records) == [5, 10, 20, 30, 40])
  }

  @Test("a batch is the oldest from before the live position")
  func batch() throws {
    let backlog = try backlog([10, 20, 30, 40])
    #expect(seconds(backlog.batch(before: Timestamp(seconds: 40), limit: 2)) == [10, 20])
    #expect(seconds(backlog.batch(before: Timestamp(seconds: 40), limit: 9)) == [10, 20, 30])
    #expect(backlog.batch(before: Timestamp(seconds: 40), limit: 0).isEmpty)
    #expect(backlog.holds(Timestamp(seconds: 30)))
    #expect(!backlog.holds(Timestamp(seconds: 31)))
  }

  @Test("when it is full the oldest goes, and the change says so")
  func full() throws {
    var backlog = try backlog([10, 20, 30], limit: 3)
    let changes = backlog.append(try location(40), at: .boot, limit: 3)
    #expect(seconds(backlog.records) == [20, 30, 40])
    #expect(changes.last == .removed([1], .full))
    #expect(backlog.append(try location(50), at: .boot, limit: 0).isEmpty)
    // A smaller limit makes room at the next.
    _ = backlog.append(try location(60), at: .boot, limit: 1)
    #expect(seconds(backlog.records) == [60])
  }

  @Test("what has waited too long goes, and only that")
  func expire() throws {
    var backlog = try backlog([10, 20, 30])
    #expect(backlog.expire(age: .seconds(100), at: .boot + .seconds(100)) == nil)
    #expect(backlog.expire(age: .seconds(100), at: .boot + .seconds(102)) == .removed([1, 2], .expired))
    #expect(backlog.count == 1)
  }

  @Test("a removal tells what was there, and no more")
  func remove() throws {
    var backlog = try backlog([10, 20])
    #expect(backlog.remove([2, 7], .delivered) == .removed([2], .delivered))
    #expect(backlog.remove([2, 7], .delivered) == nil)
    #expect(backlog.remove([], .delivered) == nil)
  }

  @Test("stamps that the filter has overruled go")
  func overrule() throws {
    var backlog = try backlog([10, 20, 9000])
    #expect(backlog.overrule(after: Timestamp(seconds: 30)) == .removed([3], .misdated))
    #expect(backlog.overrule(after: Timestamp(seconds: 30)) == nil)
  }
}
