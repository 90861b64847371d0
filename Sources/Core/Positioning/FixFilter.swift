// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Decides which fixes are believed, and settles their time.
///
/// It judges a fix against the one believed before and against elapsed time, never against the wall clock. It cannot latch
/// on a wrong reference: fixes that are refused for their time or place but agree with each other, `agreement` of them in a
/// row, become the new reference.
package struct FixFilter: Sendable {
  package struct Configuration: Equatable, Sendable {
    /// Metres. An unknown accuracy passes.
    package var maxAccuracy: Double
    /// Metres per second.
    package var maxSpeed: Double
    package var maxHDOP: Double
    package var minSatellites: Int
    package var maxAge: Duration
    /// A date before it is a receiver's week rollover, and is moved forward by whole 1024 weeks.
    package var buildDate: Timestamp
    /// A recording's own times are kept: neither moved nor compared with elapsed time.
    package var keepsTimes: Bool

    package init(
      maxAccuracy: Double = 100, maxSpeed: Double = 250 / 3.6, maxHDOP: Double = 20, minSatellites: Int = 0,
      maxAge: Duration = .seconds(10), buildDate: Timestamp, keepsTimes: Bool = false
    ) {
      self.maxAccuracy = maxAccuracy
      self.maxSpeed = maxSpeed
      self.maxHDOP = maxHDOP
      self.minSatellites = minSatellites
      self.maxAge = maxAge
      self.buildDate = buildDate
      self.keepsTimes = keepsTimes
    }
  }

  /// A believed fix and when it was true.
  package struct Accepted: Equatable, Sendable {
    package var fix: Fix
    package var time: Timestamp

    package init(fix: Fix, time: Timestamp) {
      self.fix = fix
      self.time = time
    }
  }

  /// Fixes in a row that must agree with each other to overrule the reference.
  package static let agreement = 5

  /// How far a stamp may run ahead of elapsed time: receivers and loops hold sentences back for a while, and then do not.
  private static let tolerance = Duration.seconds(3)

  private struct Reference {
    var coordinate: Coordinate
    var accuracy: Double
    var time: Timestamp
    var at: BootInstant
  }

  private var configuration: Configuration
  /// The last fix that was believed.
  private var reference: Reference?
  /// The last that was refused for its time or place, and how many before it agreed.
  private var challenger: (Reference, count: Int)?

  package init(_ configuration: Configuration) {
    self.configuration = configuration
  }

  /// Takes new limits and keeps what it knows.
  package mutating func configure(_ configuration: Configuration) {
    self.configuration = configuration
  }

  /// Judges one fix, which arrived at `now`.
  package mutating func judge(_ fix: Fix, at now: Moment) -> Result<Accepted, FixRejection> {
    if let rejection = quality(of: fix) { return .failure(rejection) }
    let time: Timestamp
    switch settledTime(of: fix, at: now) {
    case .success(let settled): time = settled
    case .failure(let rejection): return .failure(rejection)
    }
    let candidate = Reference(
      coordinate: fix.coordinate, accuracy: fix.horizontalAccuracy ?? 15, time: time, at: now.boot)
    if let reference, let rejection = contradiction(of: candidate, to: reference) {
      guard rejection != .duplicate, hasAgreement(for: candidate) else { return .failure(rejection) }
    }
    reference = candidate
    challenger = nil
    return .success(Accepted(fix: fix, time: time))
  }

  // MARK: - The fix by itself

  private func quality(of fix: Fix) -> FixRejection? {
    if abs(fix.coordinate.latitude) < 0.001, abs(fix.coordinate.longitude) < 0.001 { return .zeroIsland }
    if let accuracy = fix.horizontalAccuracy, accuracy > configuration.maxAccuracy { return .inaccurate }
    if let hdop = fix.hdop, hdop > configuration.maxHDOP { return .diluted }
    if let satellites = fix.satellites, satellites < configuration.minSatellites { return .fewSatellites }
    if let speed = fix.speed, speed > configuration.maxSpeed { return .impossibleSpeed }
    return nil
  }

  private func settledTime(of fix: Fix, at now: Moment) -> Result<Timestamp, FixRejection> {
    switch fix.time {
    case nil:
      return .failure(.noTime)
    case .utc(let stamp):
      return .success(configuration.keepsTimes ? stamp : stamp.afterRollover(notBefore: configuration.buildDate))
    case .ofDay(let milliseconds):
      // The last believed time tells the day as well as a clock does, and better than one that is not set.
      let clock = reference.map { $0.time + (now.boot - $0.at) } ?? now.wall
      guard clock >= configuration.buildDate else { return .failure(.noDate) }
      return .success(clock.nearest(millisecondsOfDay: milliseconds))
    }
  }

  // MARK: - The fix against what is known

  private func contradiction(of candidate: Reference, to reference: Reference) -> FixRejection? {
    if candidate.time == reference.time, candidate.coordinate == reference.coordinate { return .duplicate }
    if candidate.time <= reference.time { return .outOfOrder }
    if !configuration.keepsTimes {
      let lead = (candidate.time - reference.time) - (candidate.at - reference.at)
      if lead > FixFilter.tolerance { return .future }
      if lead < .zero - configuration.maxAge { return .stale }
    }
    return isReachable(candidate, from: reference) ? nil : .impossibleSpeed
  }

  private func isReachable(_ candidate: Reference, from reference: Reference) -> Bool {
    let seconds = (candidate.time - reference.time).inSeconds
    let distance = reference.coordinate.distance(to: candidate.coordinate)
    let slack = 2 * (reference.accuracy + candidate.accuracy)
    return distance - slack <= configuration.maxSpeed * max(seconds, 0)
  }

  /// Counts refused fixes that follow from each other in time and place.
  private mutating func hasAgreement(for candidate: Reference) -> Bool {
    var count = 1
    if let (previous, agreed) = challenger {
      if candidate.time == previous.time { return false }
      if contradiction(of: candidate, to: previous) == nil { count = agreed + 1 }
    }
    challenger = (candidate, count)
    return count >= FixFilter.agreement
  }
}

extension Timestamp {
  /// A GPS week counter of ten bits starts anew every 1024 weeks; a receiver that has not noticed tells a date so much
  /// too early. A date before `floor` cannot be, and moves forward by whole steps until it can.
  package func afterRollover(notBefore floor: Timestamp) -> Timestamp {
    let step: Int64 = 1024 * 7 * 86_400_000
    guard milliseconds < floor.milliseconds else { return self }
    let (gap, overflow) = floor.milliseconds.subtractingReportingOverflow(milliseconds)
    guard !overflow, gap <= .max - step else { return self }
    let steps = gap / step + (gap % step == 0 ? 0 : 1)
    let (moved, tooFar) = milliseconds.addingReportingOverflow(steps * step)
    return tooFar ? self : Timestamp(milliseconds: moved)
  }

  /// The moment with this time of day that is nearest to this one: at most twelve hours away.
  package func nearest(millisecondsOfDay: Int64) -> Timestamp {
    let day: Int64 = 86_400_000
    var offset = (millisecondsOfDay - self.millisecondsOfDay) % day
    if offset > day / 2 { offset -= day }
    if offset < -day / 2 { offset += day }
    return self + .milliseconds(offset)
  }
}
