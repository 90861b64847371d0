// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Positioning
import Timekeeping

/// Makes a track shorter where that costs least, and knows what it has cost.
///
/// The cost is the synchronised distance: whoever goes from one remaining position to the next in a straight line of
/// latitude and longitude, at an even pace, is at the time of each removed position within the told number of metres of it.
/// The position whose removal adds least goes first, and what was spent on a way before is added to what is spent on it
/// now, so the bound holds however often a track is thinned (SQUISH-E, Muckell and others, GeoInformatica 2014).
///
/// Always kept: both ends, both ends of every stop, and both ends of every way that cannot be interpolated.
struct TrackThinning {
  /// Metres. A position that far off says nothing about where a vehicle was: then rather none.
  static let largestError = 1000.0
  /// Between two positions that are further apart the vehicle was somewhere: off, or without a fix. Heartbeats are at most a
  /// minute apart, so this is no way to be interpolated.
  static let longestStep = Duration.seconds(120)
  /// More than a degree of latitude anywhere, and more than one of longitude at the equator. Metres.
  private static let degree = 111_700.0

  /// What is left of the way to each position from the one before it: metres spent there, `infinity` if the two are not the
  /// ends of one way.
  private(set) var spent: [Double]
  /// The largest error of all removals, metres.
  private(set) var error = 0.0
  private(set) var isRemoved: [Bool]
  /// Positions that are left.
  private(set) var count: Int

  private let track: [VehicleLocation]
  /// The number of the stop that a position belongs to; 0 while the vehicle moves.
  private let stops: [Int32]
  private var before: [Int32]
  private var after: [Int32]
  /// Counts the changes around a position: what the queue knows of it from before them is void.
  private var edition: [UInt32]
  private var queue = Queue()
  /// Of the cosine of latitude, where the track is nearest to the equator: so no error is told too small.
  private let narrowness: Double

  /// - Parameters:
  ///   - track: in the order of time; at most `Int32.max` positions.
  ///   - spent: as ``spent``, from the thinning before; as many as there are positions.
  init(_ track: [VehicleLocation], spent: [Double]) {
    self.track = track
    self.spent = spent
    count = track.count
    isRemoved = Array(repeating: false, count: track.count)
    edition = Array(repeating: 0, count: track.count)
    before = track.indices.map { Int32(clamping: $0 - 1) }
    after = track.indices.map { Int32(clamping: $0 + 1) }
    let lowest = track.reduce(90) { min($0, $1.coordinate.latitude.magnitude) }
    narrowness = max(Trigonometry.rotation(degrees: lowest).cosine, 0)
    stops = TrackThinning.stops(of: track)
    for index in track.indices.dropFirst()
    where self.spent[index] == 0 && track[index].time - track[index - 1].time > TrackThinning.longestStep {
      self.spent[index] = .infinity
    }
  }

  /// A stop is a row of positions without speed, or at one and the same place, none far from the one before.
  private static func stops(of track: [VehicleLocation]) -> [Int32] {
    var stops = [Int32](repeating: 0, count: track.count)
    var number: Int32 = 0
    for index in track.indices {
      let place = track[index].coordinate
      let isAsBefore = index > 0 && track[index - 1].coordinate == place
      let isAsNext = index + 1 < track.count && track[index + 1].coordinate == place
      let isSlow = track[index].speed.map { $0 < MotionDetector.parkedBelow } ?? false
      guard isAsBefore || isAsNext || isSlow else { continue }
      let isSame =
        index > 0 && stops[index - 1] > 0
        && (isAsBefore || track[index - 1].coordinate.distance(to: place) < MotionDetector.leastEscape)
      if !isSame { number += 1 }
      stops[index] = number
    }
    return stops
  }

  /// Removes positions until so many are left, or no other can go.
  mutating func thin(to goal: Int) {
    queue.reserve(count)
    for index in track.indices { offer(index) }
    while count > goal, let next = queue.next() {
      guard next.edition == edition[next.index], next.cost <= TrackThinning.largestError else { continue }
      remove(next.index, cost: next.cost)
    }
  }

  private mutating func remove(_ index: Int, cost: Double) {
    let (first, last) = (Int(before[index]), Int(after[index]))
    isRemoved[index] = true
    count -= 1
    error = max(error, cost)
    // Even where nothing was lost it is a way now, however long it takes.
    spent[last] = max(cost, .leastNormalMagnitude)
    after[first] = Int32(clamping: last)
    before[last] = Int32(clamping: first)
    for neighbour in [first, last] {
      edition[neighbour] &+= 1
      offer(neighbour)
    }
  }

  private mutating func offer(_ index: Int) {
    let (first, last) = (Int(before[index]), Int(after[index]))
    guard first >= 0, last < track.count else { return }
    let stop = stops[index]
    guard stop == 0 || stop == stops[first] && stop == stops[last] else { return }
    let cost = max(spent[index], spent[last]) + distance(of: index, between: first, and: last)
    guard cost <= TrackThinning.largestError else { return }
    queue.add(Queue.Entry(cost: cost, index: index, edition: edition[index]))
  }

  /// Metres between a position and where an even pace from one to another is at its time; never too few.
  private func distance(of index: Int, between first: Int, and last: Int) -> Double {
    let (start, end) = (track[first], track[last])
    let whole = Double((end.time - start.time).wholeMilliseconds)
    let fraction = whole > 0 ? Double((track[index].time - start.time).wholeMilliseconds) / whole : 0
    let place = track[index].coordinate
    let northward = end.coordinate.latitude - start.coordinate.latitude
    let eastward = TrackThinning.turn(from: start.coordinate.longitude, to: end.coordinate.longitude)
    let latitude = start.coordinate.latitude + northward * fraction - place.latitude
    let longitude =
      TrackThinning.turn(from: place.longitude, to: start.coordinate.longitude) + eastward * fraction
    let (north, east) = (latitude * TrackThinning.degree, longitude * TrackThinning.degree * narrowness)
    return (north * north + east * east).squareRoot()
  }

  /// Degrees of longitude the short way round.
  private static func turn(from start: Double, to end: Double) -> Double {
    let degrees = end - start
    return degrees > 180 ? degrees - 360 : degrees < -180 ? degrees + 360 : degrees
  }

  /// What may go, the cheapest first: a binary heap.
  private struct Queue {
    struct Entry {
      var cost: Double
      var index: Int
      var edition: UInt32
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
  /// Cut toward zero; stopped where milliseconds in Int64 end.
  fileprivate var wholeMilliseconds: Int64 { nanoseconds / 1_000_000 }
}
