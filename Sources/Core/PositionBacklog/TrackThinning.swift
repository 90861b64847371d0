// SPDX-License-Identifier: Apache-2.0
import Reporting
import FleetEngine
import Positioning
import Timekeeping

/// Downsamples a track with a bounded error (SQUISH-E, Muckell and others, GeoInformatica 2014).
///
/// The error is the synchronised Euclidean distance: linear interpolation of latitude and longitude in time between the
/// remaining positions is within `error` metres of each removed position at its time. The position whose removal adds
/// the least error is removed first, and errors of earlier thinning are added to it, so the bound holds however often a
/// track is thinned.
///
/// Always preserved: the ends of the track, of every stop, and of every segment that cannot be interpolated.
///
/// Thinning 100,000 positions needs about 8 MB.
struct TrackThinning {
  /// The outcome, without the track.
  struct Result {
    /// The accumulated error of the segment that ends at each position, in metres; `infinity` at a segment break.
    var interpolationError: [Double]
    /// The largest error of all removals, in metres.
    var error: Double
    var isRemoved: [Bool]
    /// The number of remaining positions.
    var count: Int
  }

  /// The maximum error in metres. A track with a larger error would say nothing about where a vehicle was; the oldest
  /// positions are dropped instead.
  static let maximumError = 1000.0
  /// A longer gap is not interpolated: the vehicle was off, or had no fix. Heartbeats are at most a minute apart.
  static let maximumGap = Duration.seconds(120)
  /// Metres per degree: an upper bound for latitude, and for longitude at the equator.
  private static let metresPerDegree = 111_700.0

  private var interpolationError: [Double]
  private var error = 0.0
  private var isRemoved: [Bool]
  private var count: Int

  private let track: Track
  /// The number of the stop that a position belongs to; 0 while moving.
  private let stops: [Int32]
  private var previousIndices: [Int32]
  private var nextIndices: [Int32]
  /// Incremented on each change around a position: heap entries of older versions are void.
  private var version: [UInt32]
  private var candidates = CandidateHeap()
  /// The cosine of latitude where the track is nearest to the equator, so that no error is underestimated.
  private let latitudeCosine: Double

  /// Removes positions until `goal` are left, or no more can be removed.
  ///
  /// - Parameter records: in order of time; at most `Int32.max`.
  static func thin(_ records: ArraySlice<Backlog.Record>, to goal: Int) -> Result {
    var thinning = TrackThinning(records)
    thinning.thin(to: goal)
    return Result(
      interpolationError: thinning.interpolationError, error: thinning.error, isRemoved: thinning.isRemoved,
      count: thinning.count)
  }

  /// The positions of a backlog by index from 0, without a copy.
  private struct Track: RandomAccessCollection {
    let records: ArraySlice<Backlog.Record>

    var startIndex: Int { 0 }
    var endIndex: Int { records.count }
    subscript(index: Int) -> VehicleLocation { records[records.startIndex + index].location }
  }

  private init(_ records: ArraySlice<Backlog.Record>) {
    track = Track(records: records)
    interpolationError = records.map(\.interpolationError)
    count = track.count
    isRemoved = Array(repeating: false, count: track.count)
    version = Array(repeating: 0, count: track.count)
    previousIndices = track.indices.map { Int32(clamping: $0 - 1) }
    nextIndices = track.indices.map { Int32(clamping: $0 + 1) }
    let lowest = track.reduce(90) { min($0, $1.coordinate.latitude.magnitude) }
    latitudeCosine = max(Trigonometry.rotation(degrees: lowest).cosine, 0)
    stops = TrackThinning.stops(of: track)
    for index in track.indices.dropFirst()
    where self.interpolationError[index] == 0 && track[index].time - track[index - 1].time > TrackThinning.maximumGap {
      self.interpolationError[index] = .infinity
    }
  }

  /// A stop is a series of positions without speed, or at the same place, none far from the previous one.
  private static func stops(of track: Track) -> [Int32] {
    var stops = [Int32](repeating: 0, count: track.count)
    var number: Int32 = 0
    for index in track.indices {
      let place = track[index].coordinate
      let isAtPreviousPlace = index > 0 && track[index - 1].coordinate == place
      let isAtNextPlace = index + 1 < track.count && track[index + 1].coordinate == place
      let isSlow = track[index].speed.map { $0 < MotionDetector.parkedBelow } ?? false
      guard isAtPreviousPlace || isAtNextPlace || isSlow else { continue }
      let isSameStop =
        index > 0 && stops[index - 1] > 0
        && (isAtPreviousPlace || track[index - 1].coordinate.distance(to: place) < MotionDetector.departureDistance)
      if !isSameStop { number += 1 }
      stops[index] = number
    }
    return stops
  }

  private mutating func thin(to goal: Int) {
    candidates.reserve(count)
    for index in track.indices { offer(index) }
    while count > goal, let next = candidates.next() {
      let index = Int(next.index)
      guard next.version == version[index], next.cost <= TrackThinning.maximumError else { continue }
      remove(index, cost: next.cost)
    }
  }

  private mutating func remove(_ index: Int, cost: Double) {
    let (first, last) = (Int(previousIndices[index]), Int(nextIndices[index]))
    isRemoved[index] = true
    count -= 1
    error = max(error, cost)
    // Even without an error this is now a thinned segment, whatever its duration.
    interpolationError[last] = max(cost, .leastNormalMagnitude)
    nextIndices[first] = Int32(clamping: last)
    previousIndices[last] = Int32(clamping: first)
    for neighbour in [first, last] {
      version[neighbour] &+= 1
      offer(neighbour)
    }
  }

  private mutating func offer(_ index: Int) {
    let (first, last) = (Int(previousIndices[index]), Int(nextIndices[index]))
    guard first >= 0, last < track.count else { return }
    let stop = stops[index]
    guard stop == 0 || stop == stops[first] && stop == stops[last] else { return }
    let cost = max(interpolationError[index], interpolationError[last]) + distance(of: index, between: first, and: last)
    guard cost <= TrackThinning.maximumError else { return }
    candidates.add(CandidateHeap.Entry(cost: cost, index: Int32(clamping: index), version: version[index]))
  }

  /// The distance in metres of a position from the interpolation between two others at its time; never underestimated.
  private func distance(of index: Int, between first: Int, and last: Int) -> Double {
    let (start, end) = (track[first], track[last])
    let whole = Double((end.time - start.time).wholeMilliseconds)
    let fraction = whole > 0 ? Double((track[index].time - start.time).wholeMilliseconds) / whole : 0
    let place = track[index].coordinate
    let northward = end.coordinate.latitude - start.coordinate.latitude
    let eastward = TrackThinning.longitudeDifference(from: start.coordinate.longitude, to: end.coordinate.longitude)
    let latitude = start.coordinate.latitude + northward * fraction - place.latitude
    let longitude =
      TrackThinning.longitudeDifference(from: place.longitude, to: start.coordinate.longitude) + eastward * fraction
    let (north, east) = (
      latitude * TrackThinning.metresPerDegree, longitude * TrackThinning.metresPerDegree * latitudeCosine
    )
    return (north * north + east * east).squareRoot()
  }

  /// Difference of longitude in degrees, across the antimeridian if that is shorter.
  private static func longitudeDifference(from start: Double, to end: Double) -> Double {
    let degrees = end - start
    return degrees > 180 ? degrees - 360 : degrees < -180 ? degrees + 360 : degrees
  }

  /// Candidates for removal by cost: a binary heap.
  private struct CandidateHeap {
    struct Entry {
      var cost: Double
      var index: Int32
      var version: UInt32
    }

    private var heap: [Entry] = []

    mutating func reserve(_ count: Int) { heap.reserveCapacity(count) }

    mutating func add(_ entry: Entry) {
      heap.append(entry)
      var child = heap.count - 1
      while child > 0, heap[child].cost < heap[(child - 1) / 2].cost {
        heap.swapAt(child, (child - 1) / 2)
        child = (child - 1) / 2
      }
    }

    mutating func next() -> Entry? {
      guard let first = heap.first else { return nil }
      let last = heap.removeLast()
      guard !heap.isEmpty else { return first }
      heap[0] = last
      var parent = 0
      while 2 * parent + 1 < heap.count {
        let left = 2 * parent + 1
        let right = left + 1
        let smaller = right < heap.count && heap[right].cost < heap[left].cost ? right : left
        guard heap[smaller].cost < heap[parent].cost else { break }
        heap.swapAt(parent, smaller)
        parent = smaller
      }
      return first
    }
  }
}

extension Duration {
  /// Truncated toward zero; clamped.
  fileprivate var wholeMilliseconds: Int64 { nanoseconds / 1_000_000 }
}
