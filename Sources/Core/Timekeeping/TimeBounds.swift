// SPDX-License-Identifier: Apache-2.0

/// Lower and upper bound of the current time, extrapolated with elapsed time.
///
/// A `Date` header is truncated to the second and was written between the request and the arrival of the response, so
/// it bounds the time from both sides. Several headers give tighter bounds than one.
package struct TimeBounds: Equatable, Sendable {
  /// Assumed drift of elapsed time: one part in this many (200 ppm).
  private static let drift: Int64 = 5000

  /// The earliest and the latest civil time at which the machine can have booted.
  private var earliestBoot: Timestamp
  private var latestBoot: Timestamp
  /// The instant of the last observation; the bounds widen from then on.
  package private(set) var at: BootInstant
  /// Whether they are from a single response with which no other time agrees: what is later than they allow is treated
  /// as wrong, for it harms most; what is earlier may be right.
  package var isLone = false

  /// - Parameters:
  ///   - time: what a clock showed.
  ///   - precision: the resolution of `time`: the true time may have been later by this much.
  ///   - since: the earliest instant at which the clock can have been read.
  ///   - now: the latest such instant.
  package init(_ time: Timestamp, precision: Duration, since: BootInstant, until now: BootInstant) {
    earliestBoot = time - (now - .boot)
    latestBoot = time + precision - (since - .boot)
    at = now
  }

  /// The earliest and the latest civil time of boot in milliseconds since 1970, and the instant of the observation in
  /// nanoseconds since boot: stored for the next run in the same boot.
  package var values: [Int64] { [earliestBoot.milliseconds, latestBoot.milliseconds, at.nanoseconds] }

  /// - Parameter values: from ``values`` of a previous run in this boot.
  /// - Returns: nil if they are inconsistent or too wide to be useful.
  package init?(values: [Int64], at now: BootInstant) {
    guard values.count == 3, values[0] <= values[1], 0 <= values[2], values[2] <= now.nanoseconds else { return nil }
    earliestBoot = Timestamp(milliseconds: values[0])
    latestBoot = Timestamp(milliseconds: values[1])
    at = BootInstant(nanoseconds: values[2])
    // Wider bounds are useless.
    guard latestBoot - earliestBoot <= .seconds(60) else { return nil }
  }

  // These run several times for each input, so they compute in milliseconds: `Duration` has 128-bit arithmetic and
  // generic division.

  /// The earliest possible time.
  package func earliest(at now: BootInstant) -> Timestamp {
    time(at: now).moved(milliseconds: 0 - widening(at: now))
  }

  /// The latest possible time.
  package func latest(at now: BootInstant) -> Timestamp {
    latestBoot.moved(milliseconds: now.milliseconds).moved(milliseconds: widening(at: now))
  }

  /// The best estimate: the lower bound without drift, which is usually close.
  package func time(at now: BootInstant) -> Timestamp { earliestBoot.moved(milliseconds: now.milliseconds) }

  /// How far the bounds have widened by drift, in milliseconds, zero or more.
  private func widening(at now: BootInstant) -> Int64 {
    guard now > at else { return 0 }
    let (difference, overflow) = now.nanoseconds.subtractingReportingOverflow(at.nanoseconds)
    return (overflow ? .max : difference) / TimeBounds.drift / 1_000_000
  }

  /// Whether the two overlap, or nearly do.
  ///
  /// - Parameters:
  ///   - slack: the allowed gap between them, in milliseconds.
  ///   - lag: the allowed gap if `other` is earlier, in milliseconds; nil: `slack`.
  package func agrees(with other: TimeBounds, withinMilliseconds slack: Int64, lag: Int64? = nil) -> Bool {
    let now = max(at, other.at)
    return earliest(at: now) <= other.latest(at: now).moved(milliseconds: lag ?? slack)
      && other.earliest(at: now) <= latest(at: now).moved(milliseconds: slack)
  }

  /// Intersects with later bounds of the same clock; if nothing remains, the later ones replace these.
  package mutating func narrow(to later: TimeBounds) {
    let now = later.at
    let bounds = (max(earliest(at: now), later.earliest(at: now)), min(latest(at: now), later.latest(at: now)))
    guard bounds.0 <= bounds.1 else {
      self = later
      return
    }
    earliestBoot = bounds.0 - (now - .boot)
    latestBoot = bounds.1 - (now - .boot)
    at = now
  }
}
