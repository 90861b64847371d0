// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Decides which fixes are believed, and settles their time.
///
/// It judges a fix against the one believed before and against elapsed time, never against the wall clock. It cannot latch
/// on a wrong reference: fixes that are refused for their time or place but agree with each other and with elapsed time,
/// `agreement` of them in a row, become the new reference.
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
  /// And over how long: old fixes that come in one burst agree with each other as well.
  private static let agreementTime = Duration.seconds(3)

  /// How far a stamp may run ahead of elapsed time: receivers and loops hold sentences back for a while, and then do not.
  private static let tolerance = Duration.seconds(3)

  private struct Reference {
    var coordinate: Coordinate
    var accuracy: Double
    var time: Timestamp
    var at: BootInstant
    /// What elapsed time must be added to, to give the stamps: by the fixes that came with the least delay.
    var lead: Duration

    init(_ fix: Fix, time: Timestamp, at: BootInstant) {
      coordinate = fix.coordinate
      accuracy = fix.horizontalAccuracy ?? 15
      self.time = time
      self.at = at
      lead = time - Timestamp(milliseconds: 0) - (at - .boot)
    }
  }

  /// Fixes that were refused for their time or place, and agree with each other.
  private struct Challenge {
    var first: Reference
    var last: Reference
    var count = 1
  }

  private var configuration: Configuration
  /// The last fix that was believed.
  private var reference: Reference?
  private var challenge: Challenge?

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
    var candidate = Reference(fix, time: time, at: now.boot)
    if let reference {
      let rejection = contradiction(of: candidate, to: reference)
      if let rejection {
        guard overrules(candidate, reference, after: rejection) else { return .failure(rejection) }
      } else {
        // Clocks drift apart; a part in a thousand is more than any does.
        candidate.lead = max(candidate.lead, reference.lead - (candidate.at - reference.at) / 1000)
      }
    }
    reference = candidate
    challenge = nil
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
      if candidate.lead - reference.lead > FixFilter.tolerance { return .future }
      if reference.lead - candidate.lead > configuration.maxAge { return .stale }
    }
    return isReachable(candidate, from: reference) ? nil : .impossibleSpeed
  }

  private func isReachable(_ candidate: Reference, from reference: Reference) -> Bool {
    let seconds = (candidate.time - reference.time).inSeconds
    let distance = reference.coordinate.distance(to: candidate.coordinate)
    let slack = 2 * (reference.accuracy + candidate.accuracy)
    return distance - slack <= configuration.maxSpeed * max(seconds, 0)
  }

  /// Whether this refused fix, with those refused before it, is more to be believed than the reference.
  private mutating func overrules(
    _ candidate: Reference, _ reference: Reference, after rejection: FixRejection
  ) -> Bool {
    if rejection == .duplicate { return false }
    // What is only a little late will be past the reference soon: no need to go back in time for it.
    if rejection == .outOfOrder, !configuration.keepsTimes, reference.lead - candidate.lead <= configuration.maxAge {
      return false
    }
    guard var challenge, agrees(candidate, with: challenge) else {
      challenge = Challenge(first: candidate, last: candidate)
      return false
    }
    if candidate.time != challenge.last.time { challenge.count += 1 }
    challenge.last = candidate
    self.challenge = challenge
    return challenge.count >= FixFilter.agreement
      && (configuration.keepsTimes || candidate.at - challenge.first.at >= FixFilter.agreementTime)
  }

  private func agrees(_ candidate: Reference, with challenge: Challenge) -> Bool {
    guard candidate.time >= challenge.last.time, isReachable(candidate, from: challenge.last) else { return false }
    let difference = candidate.lead - challenge.first.lead
    return configuration.keepsTimes || (difference <= FixFilter.tolerance && difference >= .zero - FixFilter.tolerance)
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
