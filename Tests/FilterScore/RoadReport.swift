// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Positioning
import Timekeeping

/// The reports of recorded drives: headings at standstill, the age of fixes, and the accuracy of the reported track.
struct RoadReport {
  /// Accepted fixes below 1 m/s with a course (a heading at 3 m/s or more) before and after them, and the number of
  /// these fixes whose reported heading differs by more than 45° from both courses.
  var standing = 0
  var misdirected = 0
  /// Updates while driving, and the number of these updates whose fix was more than half a period old although the
  /// next fix arrived less than half a period later.
  var driving = 0
  var outdated = 0
  /// The number of updates, and the time from the first to the last.
  var updates = 0
  var duration = Duration.zero
  /// The times between updates while driving, in seconds.
  var intervals: [Double] = []
  /// Metres from each accepted fix to the line between the updates before and after it, and to the position of the
  /// update before it.
  var track: [Double] = []
  var shown: [Double] = []

  init() {}

  init(_ run: RoadRun) {
    countHeadings(run.fixes)
    countUpdates(run)
    measureTrack(run)
  }

  var misdirectedShare: Double { Double(misdirected) / Double(max(standing, 1)) }
  var outdatedShare: Double { Double(outdated) / Double(max(driving, 1)) }
  var updatesPerHour: Double { Double(updates) * 3600 / max(duration.inSeconds, 1) }

  private mutating func countHeadings(_ fixes: [RoadRun.AcceptedFix]) {
    func course(_ fix: RoadRun.AcceptedFix) -> Double? { fix.fix.speed ?? 0 >= 3 ? fix.fix.heading : nil }
    var after: [Double?] = []
    var next: Double?
    for fix in fixes.reversed() {
      next = course(fix) ?? next
      after.append(next)
    }
    var before: Double?
    for (fix, after) in zip(fixes, after.reversed()) {
      before = course(fix) ?? before
      guard let speed = fix.fix.speed, speed < 1, let before, let after else { continue }
      standing += 1
      guard let heading = fix.location.heading else { continue }
      if RoadReport.turn(heading, before) > 45, RoadReport.turn(heading, after) > 45 { misdirected += 1 }
    }
  }

  private mutating func countUpdates(_ run: RoadRun) {
    updates = run.updates.count
    if let first = run.updates.first, let last = run.updates.last { duration = last.at - first.at }
    var periods = zip(run.fixes, run.fixes.dropFirst()).map { $1.at - $0.at }.sorted()
    if periods.isEmpty { periods = [.seconds(1)] }
    let period = periods[periods.count / 2]
    for (index, update) in run.updates.enumerated() where !run.fixes[update.index].isParked {
      driving += 1
      if update.index + 1 < run.fixes.count, run.fixes[update.index + 1].at - update.at < period / 2,
        update.at - run.fixes[update.index].at > period / 2
      {
        outdated += 1
      }
      if index > 0, !run.fixes[run.updates[index - 1].index].isParked {
        let interval = (update.at - run.updates[index - 1].at).inSeconds
        // Intervals across a gap in the recording are not counted.
        if interval < 60 { intervals.append(interval) }
      }
    }
  }

  private mutating func measureTrack(_ run: RoadRun) {
    for (from, to) in zip(run.updates, run.updates.dropFirst()) where from.index < to.index {
      let (start, end) = (run.fixes[from.index].location, run.fixes[to.index].location)
      // There is no line across a gap in the recording.
      guard end.time - start.time <= .seconds(60) else { continue }
      for fix in run.fixes[(from.index + 1)...to.index] {
        track.append(RoadReport.distance(of: fix.fix.coordinate, from: start.coordinate, to: end.coordinate))
        shown.append(start.coordinate.distance(to: fix.fix.coordinate))
      }
    }
  }

  /// Metres from a position to the nearest point of a line, on the plane that touches the earth at its start.
  static func distance(of place: Coordinate, from start: Coordinate, to end: Coordinate) -> Double {
    let reach = start.distance(to: end)
    let distance = start.distance(to: place)
    guard reach > 0, distance > 0, let direction = start.heading(to: end), let own = start.heading(to: place) else {
      return distance
    }
    let along = distance * Trigonometry.rotation(degrees: own - direction).cosine
    guard along > 0 else { return distance }
    guard along < reach else { return end.distance(to: place) }
    return max(distance * distance - along * along, 0).squareRoot()
  }

  static func turn(_ heading: Double, _ other: Double) -> Double {
    let difference = abs(heading - other).truncatingRemainder(dividingBy: 360)
    return min(difference, 360 - difference)
  }

  static func mean(_ numbers: [Double]) -> Double { numbers.reduce(0, +) / Double(max(numbers.count, 1)) }

  /// - Parameter share: 0.95 for the number that 95 % of the numbers do not exceed.
  static func quantile(_ share: Double, of numbers: [Double]) -> Double {
    let sorted = numbers.sorted()
    return sorted.isEmpty ? 0 : sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]
  }

  static func + (left: RoadReport, right: RoadReport) -> RoadReport {
    var sum = left
    sum.standing += right.standing
    sum.misdirected += right.misdirected
    sum.driving += right.driving
    sum.outdated += right.outdated
    sum.updates += right.updates
    sum.duration += right.duration
    sum.intervals += right.intervals
    sum.track += right.track
    sum.shown += right.shown
    return sum
  }
}
