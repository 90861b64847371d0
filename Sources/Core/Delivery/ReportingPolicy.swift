// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
package import Positioning
package import Timekeeping

/// Decides which positions are worth reporting, and when: Fleet Engine wants one at least once a minute and at most once
/// in five seconds.
///
/// It knows nothing of the network. A position that is due is either sent or put on the backlog, and counts as taken
/// either way.
package struct ReportingPolicy: Sendable {
  /// When a position is worth a report.
  package struct Configuration: Equatable, Sendable {
    /// Between updates while moving: 5 to 60 s; below that only for tests.
    package var interval: Duration
    /// Between updates while parked, or without a new fix.
    package var heartbeat: Duration
    /// Metres from the last taken position that make a report due; 0 is off.
    package var distance: Double
    /// Degrees of change of heading that make a report due; 0 is off.
    package var heading: Double

    package init(
      interval: Duration = .seconds(10), heartbeat: Duration = .seconds(50), distance: Double = 0, heading: Double = 0
    ) {
      self.interval = interval
      self.heartbeat = heartbeat
      self.distance = distance
      self.heading = heading
    }

    /// The least time between accepted updates: Fleet Engine's 5 s, unless a test asks for less.
    package var floor: Duration { min(interval, .seconds(5)) }
  }

  /// Why a position is due.
  package enum Reason: String, Sendable {
    case first, interval, distance, heading, started, stopped, heartbeat
  }

  /// The newest position, as it would be reported.
  package private(set) var newest: VehicleLocation?
  /// Its time; after `forget` of the last one before: a clock, and no place.
  package private(set) var newestTime: Timestamp?
  /// When the sentences of `newest` arrived.
  package private(set) var newestAt = BootInstant.boot
  private var configuration: Configuration
  private var motion = MotionDetector()
  /// From the fix before the newest to it.
  private var period: Duration?
  private var edge: Reason?
  private var taken: (location: VehicleLocation, at: BootInstant)?

  /// A heading means something from this speed on. Metres per second.
  private static let headingSpeed = 2.0
  /// A fix that comes this little before its time is sent with it, instead of one that is a second late.
  private static let earliness = Duration.milliseconds(500)
  /// So long after its time a report waits for the next fix, when the receiver's rhythm says that it comes by then.
  private static let patience = Duration.milliseconds(500)
  /// A rhythm is that of a receiver which gives a fix at least so often.
  private static let longestPeriod = Duration.seconds(2)
  /// By so much a fix may be late in its rhythm.
  private static let unevenness = Duration.milliseconds(100)
  /// Waiting must not make the gap between two updates longer than Fleet Engine wants.
  private static let longestGap = Duration.seconds(59)

  package init(_ configuration: Configuration) {
    self.configuration = configuration
  }

  /// Other settings from now on; what was reported counts on.
  package mutating func configure(_ configuration: Configuration) {
    self.configuration = configuration
  }

  /// Forgets what was taken: the next position is the first again.
  package mutating func restart() {
    taken = nil
  }

  /// Forgets every position: the next one is the first of all.
  package mutating func forget() {
    let time = newestTime
    self = ReportingPolicy(configuration)
    newestTime = time
  }

  /// Whether the vehicle stands, so that its position is held still.
  package var isParked: Bool { motion.state != .moving }

  /// Takes the next believed fix.
  package mutating func observe(_ accepted: FixFilter.Accepted, at now: BootInstant) {
    let turned = motion.observe(accepted)
    var location = VehicleLocation(accepted.fix, time: accepted.time)
    switch motion.state {
    case .moving:
      if turned { edge = .started }
    case .parked(let place, let heading):
      if turned { edge = .stopped }
      location.coordinate = place
      location.heading = heading
      location.speed = location.speed.map { _ in 0 }
    }
    period = newest == nil ? nil : now - newestAt
    newest = location
    newestTime = location.time
    newestAt = now
  }

  /// Whether, and why, the newest position is due at `now`.
  package func reason(at now: BootInstant) -> Reason? {
    next.flatMap { now >= $0.at ? $0.reason : nil }
  }

  /// When the newest position is due and why, if no other fix comes before; nil before the first fix. The time may be past.
  package var next: (at: BootInstant, reason: Reason)? {
    guard newest != nil else { return nil }
    guard let takenAt = taken?.at else { return (newestAt, .first) }
    // No fix since: what is known is repeated, so that the vehicle does not fall silent.
    if newest?.time == taken?.location.time { return (takenAt + configuration.heartbeat, .heartbeat) }
    // A test that asks for every fix gets the parked ones too.
    if configuration.interval == .zero { return (newestAt, .interval) }
    let floor = takenAt + configuration.floor
    if let edge { return (floor, edge) }
    if isParked { return (takenAt + configuration.heartbeat, .heartbeat) }
    let regular = due(after: takenAt)
    guard floor < regular, let change else { return (regular, .interval) }
    return (floor, change)
  }

  /// What makes a report due before the interval is over: the way, or the turn, since the last one.
  private var change: Reason? {
    guard configuration.distance > 0 || configuration.heading > 0, let before = taken?.location, let newest else {
      return nil
    }
    if configuration.distance > 0, before.coordinate.distance(to: newest.coordinate) >= configuration.distance {
      return .distance
    }
    if configuration.heading > 0, let speed = newest.speed, speed >= ReportingPolicy.headingSpeed,
      let start = before.heading, let end = newest.heading,
      ReportingPolicy.turn(from: start, to: end) >= configuration.heading
    {
      return .heading
    }
    return nil
  }

  /// The newest position was sent, or put on the backlog.
  package mutating func take(at now: BootInstant) {
    guard let newest else { return }
    taken = (newest, now)
    edge = nil
  }

  /// A position that was sent before it was due has arrived: the next is due an interval after it.
  package mutating func take(_ location: VehicleLocation, at sentAt: BootInstant) {
    if let taken, taken.at >= sentAt { return }
    taken = (location, sentAt)
    // What has changed since it was sent is still to be told.
    if newest?.time == location.time { edge = nil }
  }

  private var early: Duration { min(ReportingPolicy.earliness, configuration.interval / 10) }

  /// When the interval's report goes if no fix comes before: without waiting for one, the position would be as old in every
  /// report as the first one was late.
  private func due(after takenAt: BootInstant) -> BootInstant {
    let due = takenAt + configuration.interval
    // One that has come so little before it is the one to send.
    if newestAt >= due - early { return newestAt }
    guard let period, period <= ReportingPolicy.longestPeriod,
      configuration.interval + ReportingPolicy.patience <= ReportingPolicy.longestGap
    else { return due }
    let next = newestAt + period
    return next > due && next - due <= ReportingPolicy.patience ? next + ReportingPolicy.unevenness : due
  }

  /// When the next report is to be expected, with the fixes that will come until then: a time to tell a person.
  ///
  /// - Parameter hasFixes: whether they do come; what is known is repeated at the heartbeat if not.
  package func expected(hasFixes: Bool) -> BootInstant? {
    guard let taken else { return next?.at }
    let regular = taken.at + (hasFixes && !isParked ? configuration.interval : configuration.heartbeat)
    return next.map { min($0.at, regular) }
  }

  /// Degrees between two headings, 0 to 180, across north as well.
  static func turn(from before: Double, to after: Double) -> Double {
    let difference = abs(before - after).truncatingRemainder(dividingBy: 360)
    return min(difference, 360 - difference)
  }
}
