// SPDX-License-Identifier: Apache-2.0
import Expectations
import FleetEngine
import Glibc
import Positioning
import Testing
import Timekeeping

@testable import PositionBacklog

/// The thinned track of a full backlog, checked by interpolation.
struct TrackThinningTests {
  /// A drive made from a seed, with bends, stops, gaps and a receiver's noise.
  struct SeededDrive {
    var random: SplitMix64
    var coordinate: Coordinate
    var heading: Double
    var speed = 14.0
    var time = Timestamp(seconds: 1_796_083_200)
    var standing = 0

    init(seed: UInt64, latitude: Double = 48, longitude: Double = 11) throws {
      random = SplitMix64(seed: seed)
      coordinate = try #require(Coordinate(latitude: latitude, longitude: longitude))
      heading = Double.random(in: 0..<360, using: &random)
    }

    mutating func next(step: Int = 10) -> VehicleLocation {
      var seconds = step
      if Int.random(in: 0..<150, using: &random) == 0 { seconds += Int.random(in: 0...4000, using: &random) }
      time = time + .seconds(seconds)
      if standing > 0 {
        standing -= 1
        speed = 0
      } else {
        speed = Double.random(in: 5...30, using: &random)
        heading += Double.random(in: -25...25, using: &random)
        coordinate = coordinate.moved(by: speed * Double(step), heading: heading)
        if Int.random(in: 0..<40, using: &random) == 0 { standing = Int.random(in: 1...30, using: &random) }
      }
      let place =
        standing > 0
        ? coordinate
        : coordinate.moved(
          by: Double.random(in: 0...2, using: &random), heading: Double.random(in: 0..<360, using: &random))
      var location = VehicleLocation(coordinate: place, time: time)
      location.speed = speed
      return location
    }
  }

  /// The position at a time, interpolated linearly between the positions of a track; nil outside the track.
  static func interpolate(_ track: [VehicleLocation], at time: Timestamp) -> Coordinate? {
    var (low, high) = (0, track.count)
    while low < high {
      let middle = (low + high) / 2
      if track[middle].time <= time { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return nil }
    let start = track[low - 1]
    if start.time == time { return start.coordinate }
    guard low < track.count else { return nil }
    let end = track[low]
    let fraction = (time - start.time).inSeconds / (end.time - start.time).inSeconds
    var east = end.coordinate.longitude - start.coordinate.longitude
    if east > 180 { east -= 360 }
    if east < -180 { east += 360 }
    var longitude = start.coordinate.longitude + east * fraction
    if longitude > 180 { longitude -= 360 }
    if longitude < -180 { longitude += 360 }
    return Coordinate(
      latitude: start.coordinate.latitude
        + (end.coordinate.latitude - start.coordinate.latitude) * fraction, longitude: longitude)
  }

  /// The largest distance between a position of `all` and its interpolation from `kept`; nil if a position cannot be
  /// interpolated.
  static func worst(of all: [VehicleLocation], to kept: [VehicleLocation]) -> Double? {
    var worst = 0.0
    for location in all {
      guard let place = interpolate(kept, at: location.time) else { return nil }
      worst = max(worst, place.distance(to: location.coordinate))
    }
    return worst
  }

  @Test(
    "however often a track is thinned, interpolation is within the reported error, and the endpoints are preserved",
    arguments: 1...24 as ClosedRange<UInt64>)
  func bound(seed: UInt64) throws {
    // At the equator, in the north, in the far south, and across the antimeridian.
    let places: [(Double, Double)] = [(0, 0), (48, 11), (-68, 179.9), (71, -179.9)]
    let (latitude, longitude) = places[Int(seed % 4)]
    var drive = try SeededDrive(seed: seed, latitude: latitude, longitude: longitude)
    var (backlog, all, thinned) = (Backlog(), [VehicleLocation](), 0)
    for _ in 0..<3000 {
      let location = drive.next()
      all.append(location)
      for change in backlog.append(location, limit: 400) {
        guard case .removed(let ids, let reason) = change else { continue }
        expectEqual(reason, .thinned)
        thinned += ids.count
      }
      expect(backlog.count <= 400)
    }
    let kept = backlog.records.map(\.location)
    expect(kept.first == all.first && kept.last == all.last)
    expectEqual(all.count - kept.count, thinned)
    let worst = try #require(TrackThinningTests.worst(of: all, to: kept))
    expect(worst <= backlog.thinnedWithin + 1e-6)
    expect(backlog.thinnedWithin <= TrackThinning.maximumError)
  }

  @Test(
    "the error bound holds across restarts, because records are stored with their interpolation error",
    arguments: 1...12 as ClosedRange<UInt64>)
  func restarts(seed: UInt64) throws {
    var drive = try SeededDrive(seed: seed)
    var (backlog, all, stored, reportedError) = (Backlog(), [VehicleLocation](), [Backlog.ID: Backlog.Record](), 0.0)
    func follow(_ changes: [Backlog.Change]) {
      for change in changes {
        switch change {
        case .added(let record): stored[record.id] = record
        case .changed(let records): for record in records { stored[record.id] = record }
        case .removed(let ids, _): for id in ids { stored[id] = nil }
        }
      }
    }
    for number in 1...3000 {
      let location = drive.next()
      all.append(location)
      follow(backlog.append(location, limit: 400))
      guard number % 350 == 0 else { continue }
      expect(backlog.records.allSatisfy { stored[$0.id] == $0 } && stored.count == backlog.count)
      reportedError = max(reportedError, backlog.thinnedWithin)
      backlog = Backlog()
      follow(backlog.restore(Array(stored.values), limit: 400))
    }
    expect(backlog.records.allSatisfy { stored[$0.id] == $0 } && stored.count == backlog.count)
    let worst = try #require(TrackThinningTests.worst(of: all, to: backlog.records.map(\.location)))
    expect(worst <= max(reportedError, backlog.thinnedWithin) + 1e-6)
    expect(backlog.thinnedWithin <= TrackThinning.maximumError)
  }

  @Test("the error grows only as far as necessary: a larger backlog of the same drive is more accurate")
  func growth() throws {
    var errors = [Double]()
    for limit in [1000, 500, 250] {
      var drive = try SeededDrive(seed: 3)
      var backlog = Backlog()
      for _ in 0..<1200 { _ = backlog.append(drive.next(), limit: limit) }
      errors.append(backlog.thinnedWithin)
    }
    expectEqual(errors, errors.sorted())
    expect(errors[0] < 25)
  }

  @Test(
    "the first and last position of every stop are preserved, and most of those between them are removed",
    arguments: [5, 6, 7])
  func stops(seed: UInt64) throws {
    var drive = try SeededDrive(seed: seed)
    var (backlog, all) = (Backlog(), [VehicleLocation]())
    for _ in 0..<2000 {
      all.append(drive.next())
      if let last = all.last { _ = backlog.append(last, limit: 600) }
    }
    let kept = Set(backlog.records.map(\.location))
    for (index, location) in all.enumerated() where location.speed == 0 && index > 0 && index + 1 < all.count {
      let isEdge = all[index - 1].speed != 0 && all[index - 1].coordinate != location.coordinate
      let isEnd = all[index + 1].speed != 0
      if isEdge || isEnd { expect(kept.contains(location), "stop at \(location.time.rfc3339)") }
    }
    expect(kept.count { $0.speed == 0 } < all.count { $0.speed == 0 } / 2)
  }

  @Test("a night in the garage is a segment break: the positions before and after it are preserved")
  func gap() throws {
    var drive = try SeededDrive(seed: 9)
    var (backlog, ends) = (Backlog(), [VehicleLocation]())
    for trip in 0..<8 {
      for index in 0..<100 {
        let location = drive.next()
        if index == 0 || index == 99 { ends.append(location) }
        _ = backlog.append(location, limit: 300)
      }
      if trip < 7 { drive.time = drive.time + .seconds(30_000) }
    }
    let kept = Set(backlog.records.map(\.location))
    expect(ends.allSatisfy { kept.contains($0) })
  }

  @Test("the error bound holds while the oldest positions are delivered, others are rejected, and some are added late")
  func disturbed() throws {
    for seed in 31...42 as ClosedRange<UInt64> {
      var drive = try SeededDrive(seed: seed)
      var random = SplitMix64(seed: seed)
      var (backlog, all, elsewhere, late) = (Backlog(), [VehicleLocation](), [VehicleLocation](), VehicleLocation?.none)
      var detour: Backlog.ID?
      for _ in 0..<2500 {
        var location = drive.next()
        let event = Int.random(in: 0..<200, using: &random)
        // Far off the track: interpolation differs depending on whether this position is known.
        if event == 1 || event == 2 { location.coordinate = location.coordinate.moved(by: 3000, heading: 20) }
        all.append(location)
        switch event {
        case 0:
          // Part of the backlog is delivered.
          let batch = backlog.sendable(before: location.time, maxAge: .seconds(700_000)).prefix(60)
          elsewhere += batch.map(\.location)
          _ = backlog.remove(batch.map(\.id), .delivered)
        case 1:
          if let record = backlog.records.first(where: { $0.id == detour }) {
            elsewhere.append(record.location)
            _ = backlog.remove([record.id], .rejected)
          }
          if case .added(let record) = backlog.append(location, limit: 300).first { detour = record.id }
          continue
        case 2:
          elsewhere.append(location)
          _ = backlog.breakSegment(at: location.time)
          continue
        case 3:
          late = location
          continue
        default: break
        }
        _ = backlog.append(location, limit: 300)
        if let before = late {
          _ = backlog.append(before, limit: 300)
          late = nil
        }
      }
      if let late { elsewhere.append(late) }
      let kept = (backlog.records.map(\.location) + elsewhere).sorted { $0.time < $1.time }
      let worst = try #require(TrackThinningTests.worst(of: all, to: kept))
      expect(worst <= backlog.thinnedWithin + 1e-6, "seed \(seed)")
    }
  }

  @Test("when nothing can be thinned, each new position removes the oldest")
  func nothingToThin() throws {
    var drive = try SeededDrive(seed: 1)
    var backlog = Backlog()
    var reasons = [Backlog.Removal: Int]()
    for _ in 0..<300 {
      // A kilometre and more per side, in different directions: no straight line interpolates it.
      drive.heading += 90
      drive.coordinate = drive.coordinate.moved(by: 5000, heading: drive.heading)
      for change in backlog.append(drive.next(step: 100), limit: 100) {
        if case .removed(let ids, let reason) = change { reasons[reason, default: 0] += ids.count }
      }
      expect(backlog.count <= 100)
    }
    expect(reasons[.full] ?? 0 > 150)
  }

  @Test("the work for one position grows much less than the backlog: less than fivefold for sixteen times the size")
  func cost() throws {
    func processorTime() -> Duration {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
    var times = [Duration]()
    for limit in [1000, 16_000] {
      var drive = try SeededDrive(seed: 4)
      let locations = (0..<(limit * 2)).map { _ in drive.next() }
      var (backlog, thinnings) = (Backlog(), 0)
      let before = processorTime()
      for location in locations {
        thinnings += backlog.append(location, limit: limit).count {
          if case .removed = $0 { true } else { false }
        }
      }
      times.append((processorTime() - before) / locations.count)
      // A fifth is removed at once, so that there are five thinnings for each size.
      expectEqual(thinnings, 5)
    }
    print("per position: \(times[0]) at 1,000, \(times[1]) at 16,000")
    // Sixteen times the size: a quadratic algorithm would cost sixteen times as much, n log n some 1.4 times.
    expect(times[1] < times[0] * 5)
  }
}
