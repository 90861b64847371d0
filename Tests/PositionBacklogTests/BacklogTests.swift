// SPDX-License-Identifier: Apache-2.0
import Expectations
import FleetEngine
import Positioning
import PositionBacklog
import Testing
import Timekeeping

struct BacklogTests {
  private func location(_ second: Int64) throws -> VehicleLocation {
    VehicleLocation(
      coordinate: try #require(Coordinate(latitude: 48, longitude: 11)), time: Timestamp(seconds: second))
  }

  private func backlog(_ seconds: [Int64], limit: Int = 100) throws -> Backlog {
    var backlog = Backlog()
    for second in seconds { _ = backlog.append(try location(second), limit: limit) }
    return backlog
  }

  private func stamp(_ second: Int64) -> Timestamp { Timestamp(seconds: second) }

  private func seconds(_ records: [Backlog.Record]) -> [Int64] { records.map { $0.location.time.milliseconds / 1000 } }

  @Test("records are ordered by their times, whatever the order in which they are added")
  func order() throws {
    expectEqual(seconds(try backlog([10, 30, 20, 5, 40]).records), [5, 10, 20, 30, 40])
  }

  @Test("a batch contains the oldest of the positions that precede the live one and are not too old")
  func batch() throws {
    let backlog = try backlog([10, 20, 30, 40])
    func batch(_ limit: Int, age: Int = 100, before second: Int64 = 40) -> [Int64] {
      seconds(Array(backlog.sendable(before: Timestamp(seconds: second), maxAge: .seconds(age)).prefix(limit)))
    }
    expectEqual(batch(2), [10, 20])
    expectEqual(batch(9), [10, 20, 30])
    expect(batch(0).isEmpty)
    expectEqual(batch(9, age: 20), [20, 30])
    expect(batch(9, age: 5).isEmpty)
    expect(batch(9, before: 10).isEmpty)
    expect(backlog.contains(Timestamp(seconds: 30)))
    expect(!backlog.contains(Timestamp(seconds: 31)))
  }

  @Test("from a full backlog, records that can be interpolated are removed first, and the removal is reported")
  func full() throws {
    var backlog = try backlog([10, 20, 30], limit: 3)
    let changes = backlog.append(try location(40), limit: 3)
    expectEqual(seconds(backlog.records), [10, 40])
    expect(changes.contains(.removed([stamp(20), stamp(30)], .thinned)))
    expect(backlog.append(try location(50), limit: 0).isEmpty)
    // A smaller limit applies from the next record on: endpoints are not thinned, so the older ones are removed.
    let last = backlog.append(try location(60), limit: 1)
    expectEqual(seconds(backlog.records), [60])
    expect(last.contains { $0.isRemoval(.full) })
  }

  /// A reference implementation of removal that checks every record.
  private struct Model {
    var records: [Backlog.Record] = []

    mutating func remove(_ ids: [Backlog.ID]) -> [Backlog.Change] {
      let removed = records.map(\.id).filter { ids.contains($0) }
      guard !removed.isEmpty else { return [] }
      var changed = [Backlog.Record]()
      for index in records.indices.dropFirst() {
        let (before, record) = (records[index - 1], records[index])
        guard removed.contains(before.id), !removed.contains(record.id), record.interpolationError < .infinity else {
          continue
        }
        records[index].interpolationError = .infinity
        changed.append(records[index])
      }
      records.removeAll { removed.contains($0.id) }
      return [.removed(removed, .delivered)] + (changed.isEmpty ? [] : [.changed(changed)])
    }
  }

  @Test("removals from any place, in any order, leave the right records and report what was removed")
  func removals() throws {
    var random = SplitMix64(seed: 2)
    for _ in 0..<200 {
      var backlog = Backlog()
      var model = Model()
      var second: Int64 = 0
      for _ in 0..<30 {
        for _ in 0..<Int.random(in: 0...6, using: &random) {
          second += 1
          _ = backlog.append(try location(second), limit: 1000)
        }
        model.records = backlog.records
        var ids = Array(model.records.prefix(Int.random(in: 0...4, using: &random)).map(\.id))
        // Also the newest record, random ones, some that do not exist, and one twice.
        if Bool.random(using: &random), let last = model.records.last { ids.append(last.id) }
        for _ in 0..<Int.random(in: 0...3, using: &random) {
          ids.append(stamp(Int64.random(in: 0...second + 1, using: &random)))
        }
        if let first = ids.first { ids.append(first) }
        expectEqual(backlog.remove(ids.shuffled(using: &random), .delivered), model.remove(ids))
        expect(backlog.records == model.records && backlog.count == model.records.count)
        expect(backlog.first == model.records.first && backlog.isEmpty == model.records.isEmpty)
        for time in 0...second + 1 {
          expectEqual(backlog.contains(stamp(time)), model.records.contains { $0.id == stamp(time) })
        }
      }
    }
  }

  @Test("stored records give the same backlog in whatever order they are read", arguments: [5, 100])
  func restoredInAnyOrder(limit: Int) throws {
    var random = SplitMix64(seed: 6)
    let records = try (0..<50).map { second in
      Backlog.Record(try location(second), interpolationError: [0, 0.5, .infinity].randomElement(using: &random) ?? 0)
    }
    var (inOrder, shuffled) = (Backlog(), Backlog())
    let changes = inOrder.restore(records, limit: limit)
    expectEqual(changes, shuffled.restore(records.shuffled(using: &random), limit: limit))
    expect(inOrder == shuffled && inOrder.count <= limit)
    expectEqual(inOrder.append(try location(99), limit: limit), shuffled.append(try location(99), limit: limit))
    expectEqual(inOrder, shuffled)
  }

  @Test("expired records are removed, and no others")
  func expire() throws {
    var backlog = try backlog([10, 20, 30])
    expect(backlog.expire(before: stamp(10)).isEmpty)
    expectEqual(backlog.expire(before: stamp(30)).first, .removed([stamp(10), stamp(20)], .expired))
    expectEqual(backlog.count, 1)
  }

  @Test("a removal reports only the IDs that were queued")
  func remove() throws {
    var backlog = try backlog([10, 20])
    expectEqual(backlog.remove([stamp(20), stamp(70)], .delivered), [.removed([stamp(20)], .delivered)])
    expect(backlog.remove([stamp(20), stamp(70)], .delivered).isEmpty)
    expect(backlog.remove([], .delivered).isEmpty)
  }

  @Test("records with timestamps that the filter has found to be wrong are removed")
  func misdated() throws {
    var backlog = try backlog([10, 20, 9000])
    expectEqual(backlog.removeMisdated(after: Timestamp(seconds: 30)), [.removed([stamp(9000)], .misdated)])
    expect(backlog.removeMisdated(after: Timestamp(seconds: 30)).isEmpty)
  }

  @Test("stored records are inserted once, and thinned if there are too many")
  func restore() throws {
    let stored = try backlog([2, 4, 5, 20, 90]).records
    var some = try backlog([10, 20, 30])
    _ = some.restore(stored.reversed(), limit: 100)
    expectEqual(seconds(some.records), [2, 4, 5, 10, 20, 30, 90])
    expect(some.restore(stored, limit: 6).contains { $0.isRemoval(.thinned) })
    expectEqual(seconds(some.records), [2, 5, 10, 30, 90])
    expect(some.restore([], limit: 0).contains { $0.isRemoval(.full) })
    expect(some.isEmpty)
    _ = some.restore(stored, limit: 5)
    some.forget()
    expect(some.isEmpty)
  }

  @Test(
    "nothing is thinned between restored records and those queued before the restore, whose clocks may differ",
    arguments: [false, true])
  func restoredBeside(isSegmentBroken: Bool) throws {
    var backlog = Backlog()
    if isSegmentBroken { backlog.breakSegment() }
    for second in [100, 110] as [Int64] { _ = backlog.append(try location(second), limit: 100) }
    let queued = backlog.records
    let changes = backlog.restore(try self.backlog([10, 20, 30]).records + queued, limit: 100)
    let broken = Backlog.Record(try location(100), interpolationError: .infinity)
    expectEqual(changes, isSegmentBroken ? [] : [.changed([broken])])
    expectEqual(backlog.records.map(\.interpolationError), [0, 0, 0, .infinity, 0])
    _ = backlog.append(try location(120), limit: 5)
    expectEqual(seconds(backlog.records), [10, 30, 100, 120])
    // Each restored position between queued ones is a separate segment.
    _ = backlog.restore(try self.backlog([50, 105, 130]).records, limit: 100)
    expectEqual(seconds(backlog.records.filter { $0.interpolationError == .infinity }), [50, 100, 105, 120, 130])
  }

  @Test("nothing is thinned across a delivered position, even if later ones were queued before it was accepted")
  func delivered() throws {
    var backlog = try backlog([10, 20, 30, 40])
    expectEqual(
      backlog.breakSegment(at: try location(25).time),
      [.changed([Backlog.Record(try location(30), interpolationError: .infinity)])])
    // A second segment break there changes nothing; a queued position is itself the endpoint of both segments.
    expectEqual(backlog.breakSegment(at: try location(25).time), [])
    expectEqual(
      backlog.breakSegment(at: try location(30).time),
      [.changed([Backlog.Record(try location(40), interpolationError: .infinity)])])
    expectEqual(backlog.breakSegment(at: try location(45).time), [])
    for second in [50, 60] as [Int64] { _ = backlog.append(try location(second), limit: 100) }
    expectEqual(seconds(backlog.records.filter { $0.interpolationError == .infinity }), [30, 40, 50])
    // A delivered position breaks the segment even if late positions precede it, unless its time was wrong.
    expectEqual(backlog.breakSegment(at: try location(65).time), [])
    for second in [63, 70, 80] as [Int64] { _ = backlog.append(try location(second), limit: 100) }
    expectEqual(seconds(backlog.records.filter { $0.interpolationError == .infinity }), [30, 40, 50, 63, 70])
    expectEqual(backlog.breakSegment(at: try location(900).time), [])
    expectEqual(backlog.removeMisdated(after: try location(85).time), [])
    for second in [90, 95] as [Int64] { _ = backlog.append(try location(second), limit: 100) }
    expectEqual(seconds(backlog.records.filter { $0.interpolationError == .infinity }), [30, 40, 50, 63, 70, 90])
  }

  @Test("restored records can still be thinned after updates with later positions, but not across a delivered one")
  func deliveredBeforeRestore() throws {
    let stored = try [10, 20, 30].map { Backlog.Record(try location($0), interpolationError: $0 == 10 ? .infinity : 0) }
    var backlog = Backlog()
    for second in [65, 75] as [Int64] { expectEqual(backlog.breakSegment(at: try location(second).time), []) }
    expectEqual(backlog.restore(stored, limit: 100), [])
    for second in [80, 90] as [Int64] { _ = backlog.append(try location(second), limit: 100) }
    expectEqual(seconds(backlog.records.filter { $0.interpolationError == .infinity }), [10, 80])
    var delivered = Backlog()
    for second in [25, 65] as [Int64] { expectEqual(delivered.breakSegment(at: try location(second).time), []) }
    _ = delivered.restore(stored, limit: 100)
    expectEqual(seconds(delivered.records.filter { $0.interpolationError == .infinity }), [10, 20, 30])
  }

  @Test("a position with the time of a queued one is not added")
  func once() throws {
    var backlog = try backlog([10, 20])
    expect(backlog.append(try location(10), limit: 9).isEmpty)
    expect(backlog.append(try location(20), limit: 9).isEmpty)
    expectEqual(backlog.count, 2)
  }
}

extension Backlog.Change {
  fileprivate func isRemoval(_ reason: Backlog.Removal) -> Bool {
    if case .removed(_, reason) = self { true } else { false }
  }
}
