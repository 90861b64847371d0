// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
package import Positioning
package import Timekeeping

/// Decides which positions are reported, and when: Fleet Engine expects one at least once a minute and at most once in
/// five seconds.
///
/// It is independent of the network. A position that is due is either sent or enqueued, and counts as reported either
/// way.
package struct ReportingPolicy: Sendable {
  /// When a position is due.
  package struct Configuration: Equatable, Sendable {
    /// Time between updates while moving: 5 to 60 s; less only in tests.
    package var interval: Duration
    /// Time between updates while parked, or without a new fix.
    package var heartbeat: Duration
    /// Distance from the last reported position in metres that makes an update due; 0 disables.
    package var distance: Double
    /// Change of heading in degrees that makes an update due; 0 disables.
    package var heading: Double
    /// An update is due if the straight line from the last reported position to the newest misses a position between
    /// them by more than this, in metres; 0 disables.
    package var deviation: Double

    package init(
      interval: Duration = .seconds(10), heartbeat: Duration = .seconds(50), distance: Double = 0, heading: Double = 0,
      deviation: Double = 0
    ) {
      self.interval = interval
      self.heartbeat = heartbeat
      self.distance = distance
      self.heading = heading
      self.deviation = deviation
    }

    /// The minimum time between accepted updates: Fleet Engine's 5 s, unless a test sets less.
    package var floor: Duration { min(interval, .seconds(5)) }
  }

  /// Why a position is due.
  package enum Reason: String, Sendable {
    case first, interval, distance, heading, deviation, started, stopped, heartbeat, requested
  }

  /// The newest position, as it would be reported.
  package private(set) var newest: VehicleLocation?
  /// Its timestamp, which `forget` keeps.
  package private(set) var newestTime: Timestamp?
  /// When `newest` arrived.
  package private(set) var newestAt = BootInstant.boot
  private var configuration: Configuration
  private var motion = MotionDetector()
  /// The last course at `minimumCourseSpeed` or more; it is the heading of a slow or parked vehicle.
  private var lastCourse: Double?
  private var arrivals = FixArrivals()
  private var track = TrackDeviation()
  /// The vehicle has started or stopped since the last report.
  private var motionChange: Reason?
  /// The newest position was requested since the last report.
  private var isRequested = false
  /// The last reported position, when it was reported, and the start of the interval after it.
  private(set) var lastReported: (location: VehicleLocation, at: BootInstant, scheduled: BootInstant)?

  /// Minimum speed at which the receiver's course is used as the vehicle's heading, in metres per second. At lower
  /// speeds the course is meaningless: it follows the drift of the position.
  package static let minimumCourseSpeed = 2.0
  /// A fix that arrives at most this early is sent right away instead of the next one.
  private static let earlyTolerance = Duration.milliseconds(500)
  /// Reports are only aligned with receivers that report at least about every two seconds.
  private static let maximumPeriod = Duration.milliseconds(2500)
  /// Alignment must not delay updates beyond this: Fleet Engine expects one per minute.
  private static let maximumGap = Duration.seconds(59)

  package init(_ configuration: Configuration) {
    self.configuration = configuration
  }

  /// Changes the settings; what was reported still counts.
  package mutating func configure(_ configuration: Configuration) {
    self.configuration = configuration
  }

  /// Drops what was reported: the next position is due as the first one.
  package mutating func restart() {
    lastReported = nil
  }

  /// Drops every position; only the time of the newest remains.
  package mutating func forget() {
    let time = newestTime
    self = ReportingPolicy(configuration)
    newestTime = time
  }

  /// The newest position is due as soon as the floor allows, even if it was reported already.
  package mutating func request() {
    if newest != nil { isRequested = true }
  }

  /// Whether the vehicle is parked, so that its position is held.
  package var isParked: Bool { motion.state != .moving }

  /// Whether the vehicle has stopped since the last report.
  package var isStopPending: Bool { motionChange == .stopped }

  /// Processes the next accepted fix.
  package mutating func observe(_ accepted: FixFilter.Accepted, at now: BootInstant) {
    let hasChanged = motion.observe(accepted, at: now)
    var location = VehicleLocation(accepted.fix, time: accepted.time)
    switch motion.state {
    case .moving:
      if hasChanged { motionChange = .started }
      if motion.isReportedSpeedWrong {
        // A receiver that reports a standstill has no course either, and what it reported before is not that of a
        // vehicle that drives on.
        (location.speed, location.speedAccuracy, location.heading, location.headingAccuracy) = (nil, nil, nil, nil)
        if let speed = motion.speed, speed >= ReportingPolicy.minimumCourseSpeed { lastCourse = nil }
      }
    case .parked(let place):
      if hasChanged { motionChange = .stopped }
      location.coordinate = place
      location.horizontalAccuracy = location.horizontalAccuracy.map {
        max($0, place.distance(to: accepted.fix.coordinate))
      }
      location.speed = location.speed.map { _ in 0 }
    }
    if !isParked, let speed = motion.speed, speed >= ReportingPolicy.minimumCourseSpeed {
      lastCourse = location.heading ?? lastCourse
    } else {
      location.heading = lastCourse
      location.headingAccuracy = nil
    }
    arrivals.observe(at: now)
    track.observe(location.coordinate, at: location.time)
    newest = location
    newestTime = location.time
    newestAt = now
  }

  /// Whether, and why, the newest position is due at `now`.
  package func reason(at now: BootInstant) -> Reason? {
    next.flatMap { now >= $0.at ? $0.reason : nil }
  }

  /// When the newest position is due and why, if no other fix arrives before then; nil before the first fix. May be in
  /// the past.
  package var next: (at: BootInstant, reason: Reason)? {
    guard newest != nil else { return nil }
    guard let lastReported else { return (newestAt, .first) }
    let reportedAt = lastReported.at
    if isRequested { return (reportedAt + configuration.floor, .requested) }
    // No fix since the last report: the heartbeat repeats it.
    if newest?.time == lastReported.location.time { return (reportedAt + configuration.heartbeat, .heartbeat) }
    // A test with interval 0 reports every fix, also while parked.
    if configuration.interval == .zero { return (newestAt, .interval) }
    let earliest = reportedAt + configuration.floor
    if let motionChange { return (aligned(earliest, early: .zero), motionChange) }
    if isParked { return (reportedAt + configuration.heartbeat, .heartbeat) }
    let regular = aligned(
      lastReported.scheduled + configuration.interval,
      early: min(ReportingPolicy.earlyTolerance, configuration.interval / 10))
    guard earliest < regular, let earlyReason else { return (regular, .interval) }
    return (min(aligned(earliest, early: .zero), regular), earlyReason)
  }

  /// What makes a report due before the interval is over: the distance or the turn since the last one, or a corner.
  private var earlyReason: Reason? {
    if configuration.deviation > 0, track.error > configuration.deviation { return .deviation }
    guard configuration.distance > 0 || configuration.heading > 0, let before = lastReported?.location, let newest
    else {
      return nil
    }
    if configuration.distance > 0, before.coordinate.distance(to: newest.coordinate) >= configuration.distance {
      return .distance
    }
    if configuration.heading > 0, let start = before.heading, let end = newest.heading,
      ReportingPolicy.turn(from: start, to: end) >= configuration.heading
    {
      return .heading
    }
    return nil
  }

  /// The newest position was sent or enqueued.
  package mutating func markReported(at now: BootInstant) {
    guard let newest else { return }
    lastReported = (newest, now, schedule(of: now))
    track.reported(newest.coordinate, at: newest.time)
    motionChange = nil
    isRequested = false
  }

  /// A position that was sent before it was due was accepted: the next is due an interval after it.
  package mutating func markReported(_ location: VehicleLocation, at sentAt: BootInstant) {
    if let lastReported, lastReported.at >= sentAt { return }
    lastReported = (location, sentAt, sentAt)
    track.reported(location.coordinate, at: location.time)
    // Changes since it was sent are still to be reported.
    if newest?.time == location.time { (motionChange, isRequested) = (nil, false) }
  }

  /// The period of a receiver whose fixes are worth waiting for; nil if there is none.
  private var period: Duration? {
    arrivals.period.flatMap { $0 <= ReportingPolicy.maximumPeriod ? $0 : nil }
  }

  /// The start of the next interval after a report at `now`. A report is sent with the fix that is nearest to its
  /// scheduled time. So that the mean interval is as configured, the next one is scheduled from that time rather than
  /// from the fix, and slowly approaches the grid of the fixes.
  private func schedule(of now: BootInstant) -> BootInstant {
    guard let period, let scheduled = lastReported?.scheduled else { return now }
    let error = now - (scheduled + configuration.interval)
    return error <= period / 2 && error >= .zero - period / 2 ? now - error * 3 / 4 : now
  }

  /// When a report that is due at `due` is sent if no fix arrives before then. It waits for a fix that is expected
  /// within half a period, because otherwise the position would be stale by almost a period.
  ///
  /// - Parameter early: how early a fix may arrive, at most, to be sent right away.
  private func aligned(_ due: BootInstant, early: Duration) -> BootInstant {
    let half = period.map { $0 / 2 }
    // The fix arrived just before the report is due: send it.
    if newestAt >= due - min(early, half ?? early) { return newestAt }
    guard let lastReported, let half, let next = arrivals.next, next - due <= half, due - next <= half else {
      return due
    }
    let latest = max(due, next + arrivals.grace)
    return latest - lastReported.at <= ReportingPolicy.maximumGap ? latest : due
  }

  /// When to expect the next report, assuming that fixes keep coming, for display.
  ///
  /// - Parameter hasFixes: whether they do; otherwise the position is repeated at the heartbeat.
  package func expectedReport(hasFixes: Bool) -> BootInstant? {
    guard let lastReported else { return next?.at }
    let regular = lastReported.at + (hasFixes && !isParked ? configuration.interval : configuration.heartbeat)
    return next.map { min($0.at, regular) }
  }

  /// Degrees between two headings, 0 to 180, also across north.
  static func turn(from before: Double, to after: Double) -> Double {
    let difference = abs(before - after).truncatingRemainder(dividingBy: 360)
    return min(difference, 360 - difference)
  }
}
