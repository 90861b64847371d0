// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// The speed along a route according to its recorded times.
///
/// Between two points the distance is a monotone cubic (Fritsch and Carlson, 1980), so that the speed is continuous and
/// a stop is a standstill.
struct RecordedSpeedProfile: Sendable {
  /// Below this speed for at least `minimumStopTime`, the vehicle is assumed to have stopped. Metres per second.
  private static let standstillSpeed = 0.5
  /// Seconds.
  private static let minimumStopTime = 10.0
  /// The assumed speed after such a stop, up to the next point. Metres per second.
  private static let departureSpeed = 1.5
  /// The speed from the end back to the start, which was not recorded. Metres per second.
  private static let returnSpeed = 10.0

  private struct Knot: Sendable {
    /// Seconds.
    var time: Double
    /// Metres.
    var distance: Double
    /// Metres per second.
    var speed = 0.0
  }

  private var knots: [Knot]

  /// Whether the first and the last point have a time, and the times are in order. Points between them may have none.
  static func hasUsableTimes(_ points: [Route.Point]) -> Bool {
    guard let begin = points.first?.time, let end = points.last?.time, begin < end else { return false }
    var latest = begin
    for point in points {
      guard let time = point.time else { continue }
      guard time >= latest else { return false }
      latest = time
    }
    return true
  }

  /// Nil if the times are not usable.
  ///
  /// - Parameter closed: whether `path` leads back to its first point.
  init?(_ points: [Route.Point], along path: RoutePath, closed: Bool, stops: [SpeedProfile.Stop]) {
    guard RecordedSpeedProfile.hasUsableTimes(points), path.length > 0, let begin = points.first?.time,
      let end = points.last?.time
    else { return nil }
    knots = []
    for (index, vertex) in path.vertices.enumerated() {
      guard let time = vertex.time else { continue }
      let arrival = Knot(time: (time - begin).inSeconds, distance: path.vertexDistances[index])
      knots.append(arrival)
      guard let departure = path.departures[index].map({ ($0 - begin).inSeconds }) else { continue }
      if departure - arrival.time >= RecordedSpeedProfile.minimumStopTime {
        knots.append(Knot(time: departure, distance: arrival.distance))
      }
    }
    if closed, let last = knots.popLast() {
      // The closing vertex is the first one again, with the time of the start.
      let recorded = (end - begin).inSeconds
      let returnDistance = last.distance - (knots.last?.distance ?? 0)
      knots.append(
        Knot(
          time: max(recorded, (knots.last?.time ?? 0) + returnDistance / RecordedSpeedProfile.returnSpeed),
          distance: last.distance))
    } else if let last = knots.last, last.time < (end - begin).inSeconds {
      // The last point was too near to the previous one and was dropped, but the vehicle stayed there until the time of
      // the last point.
      knots.append(Knot(time: (end - begin).inSeconds, distance: last.distance))
    }
    knots = RecordedSpeedProfile.insertingStandstills(RecordedSpeedProfile.mergingEqualTimes(knots))
    for stop in stops.sorted(by: { $0.distance < $1.distance }) { insert(stop) }
    guard knots.count > 1 else { return nil }
    smooth(closed: closed)
  }

  /// Seconds.
  var duration: Double { knots.last?.time ?? 0 }

  func state(at time: Double) -> (distance: Double, speed: Double) {
    guard let index = knots.lastIndex(startingAtOrBefore: time, by: \.time) else { return (0, 0) }
    let start = knots[index]
    guard index + 1 < knots.count else { return (start.distance, 0) }
    let end = knots[index + 1]
    let span = end.time - start.time
    let part = min(max((time - start.time) / span, 0), 1)
    let rise = end.distance - start.distance
    // The Hermite basis in a form without cancellation: the straight line, and the deviation from it.
    let first = start.speed * span - rise
    let last = rise - end.speed * span
    let bend = part * (1 - part)
    let distance = start.distance + rise * part + bend * (first * (1 - part) + last * part)
    let slope = rise + (1 - 2 * part) * (first * (1 - part) + last * part) + bend * (last - first)
    return (min(max(distance, start.distance), end.distance), max(slope / span, 0))
  }

  /// Merges knots with the same time.
  private static func mergingEqualTimes(_ knots: [Knot]) -> [Knot] {
    var merged: [Knot] = []
    for knot in knots {
      if let last = merged.last, knot.time - last.time < 1e-3 {
        merged[merged.count - 1].distance = knot.distance
      } else {
        merged.append(knot)
      }
    }
    return merged
  }

  /// If two points are near each other but far apart in time, the vehicle is assumed to have stood at the first.
  private static func insertingStandstills(_ knots: [Knot]) -> [Knot] {
    var result: [Knot] = []
    for knot in knots {
      if let last = result.last {
        let (metres, seconds) = (knot.distance - last.distance, knot.time - last.time)
        if seconds >= minimumStopTime, metres > 0, metres / seconds < standstillSpeed {
          result.append(Knot(time: knot.time - metres / departureSpeed, distance: last.distance))
        }
      }
      result.append(knot)
    }
    return result
  }

  /// Inserts a stop, which delays everything after it.
  private mutating func insert(_ stop: SpeedProfile.Stop) {
    guard stop.dwell > 0, let index = knots.lastIndex(where: { $0.distance <= stop.distance }) else { return }
    var time = knots[index].time
    if index + 1 < knots.count {
      let rise = knots[index + 1].distance - knots[index].distance
      if rise > 0 { time += (knots[index + 1].time - time) * (stop.distance - knots[index].distance) / rise }
    }
    for later in knots.indices.dropFirst(index + 1) { knots[later].time += stop.dwell }
    let arrival = Knot(time: time, distance: min(stop.distance, knots.last?.distance ?? 0))
    var departure = arrival
    departure.time += stop.dwell
    knots.insert(contentsOf: [arrival, departure], at: index + 1)
    knots = RecordedSpeedProfile.mergingEqualTimes(knots)
  }

  private mutating func smooth(closed: Bool) {
    let slopes = zip(knots, knots.dropFirst()).map { ($1.distance - $0.distance) / ($1.time - $0.time) }
    for index in knots.indices.dropFirst().dropLast() {
      let (before, after) = (slopes[index - 1], slopes[index])
      // The harmonic mean is 0 if either slope is 0, and small enough for a monotone cubic.
      knots[index].speed = before > 0 && after > 0 ? 2 * before * after / (before + after) : 0
    }
    guard let first = slopes.first, let last = slopes.last else { return }
    knots[0].speed = closed ? min(first, last) : first
    knots[knots.count - 1].speed = closed ? min(first, last) : last
  }
}
