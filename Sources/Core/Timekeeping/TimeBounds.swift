// SPDX-License-Identifier: Apache-2.0

/// The bounds of what time it is, carried on by elapsed time.
///
/// An answer's `Date` is cut to the second and was written between the request and the answer's arrival, so it bounds the
/// time from both sides. Several of them bound it more closely than each does.
package struct TimeBounds: Equatable, Sendable {
  /// By how much elapsed time may be off: one part in this many, 200 ppm.
  private static let drift: Int64 = 5000

  /// The earliest and the latest time that the start of the elapsed clock can have had.
  private var earliestStart: Timestamp
  private var latestStart: Timestamp
  /// When the bounds were as close as that.
  package private(set) var at: BootInstant

  /// - Parameters:
  ///   - time: what a clock showed.
  ///   - precision: by how much the true time may have been later when it was shown.
  ///   - since: the earliest instant at which it can have been shown.
  ///   - now: the latest.
  package init(_ time: Timestamp, precision: Duration, since: BootInstant, until now: BootInstant) {
    earliestStart = time - (now - .boot)
    latestStart = time + precision - (since - .boot)
    at = now
  }

  /// Milliseconds since 1970 of the earliest and the latest start of the elapsed clock, and nanoseconds of that clock: for
  /// another run in the same boot.
  package var values: [Int64] { [earliestStart.milliseconds, latestStart.milliseconds, at.nanoseconds] }

  /// - Parameter values: as ``values`` gives them.
  /// - Returns: nil for what they cannot be now.
  package init?(values: [Int64], at now: BootInstant) {
    guard values.count == 3, values[0] <= values[1], 0 <= values[2], values[2] <= now.nanoseconds else { return nil }
    earliestStart = Timestamp(milliseconds: values[0])
    latestStart = Timestamp(milliseconds: values[1])
    at = BootInstant(nanoseconds: values[2])
    // Bounds that leave this much open are no use.
    guard latestStart - earliestStart <= .seconds(60) else { return nil }
  }

  // These are asked for several times at each input, so they count in milliseconds: the arithmetic of `Duration` has 128 bits,
  // and its division is generic.

  /// The earliest time that it can be.
  package func earliest(at now: BootInstant) -> Timestamp {
    time(at: now).moved(milliseconds: 0 - widening(at: now))
  }

  /// The latest time that it can be.
  package func latest(at now: BootInstant) -> Timestamp {
    latestStart.moved(milliseconds: now.milliseconds).moved(milliseconds: widening(at: now))
  }

  /// The best guess, where there is one bound that is usually close: without what elapsed time may be off.
  package func time(at now: BootInstant) -> Timestamp { earliestStart.moved(milliseconds: now.milliseconds) }

  /// Milliseconds, zero or more.
  private func widening(at now: BootInstant) -> Int64 {
    guard now > at else { return 0 }
    let (difference, overflow) = now.nanoseconds.subtractingReportingOverflow(at.nanoseconds)
    return (overflow ? .max : difference) / TimeBounds.drift / 1_000_000
  }

  /// Whether both can be true, or nearly.
  ///
  /// - Parameter slack: by how many milliseconds they may miss each other.
  package func agrees(with other: TimeBounds, withinMilliseconds slack: Int64) -> Bool {
    let now = max(at, other.at)
    return earliest(at: now) <= other.latest(at: now).moved(milliseconds: slack)
      && other.earliest(at: now) <= latest(at: now).moved(milliseconds: slack)
  }

  /// Takes later bounds of the same clock: what both leave, or the later ones alone where that is nothing.
  package mutating func narrow(to later: TimeBounds) {
    let now = later.at
    let bounds = (max(earliest(at: now), later.earliest(at: now)), min(latest(at: now), later.latest(at: now)))
    guard bounds.0 <= bounds.1 else {
      self = later
      return
    }
    earliestStart = bounds.0 - (now - .boot)
    latestStart = bounds.1 - (now - .boot)
    at = now
  }
}
