// SPDX-License-Identifier: Apache-2.0

/// A point in elapsed time (CLOCK_BOOTTIME): this clock starts at boot, counts through suspend, and is not moved by
/// steps of the wall clock. Every deadline in the program is one of these.
package struct BootInstant: Hashable, Comparable, Sendable {
  /// Nanoseconds since boot.
  package let nanoseconds: Int64

  /// - Parameter nanoseconds: nanoseconds since boot, zero or more.
  package init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// Whole milliseconds since boot.
  var milliseconds: Int64 { nanoseconds / 1_000_000 }

  /// The moment of boot.
  package static let boot = BootInstant(nanoseconds: 0)

  /// The last instant that can be represented, about 292 years after boot.
  package static let distantFuture = BootInstant(nanoseconds: .max)

  package static func < (left: BootInstant, right: BootInstant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The earlier of two deadlines; nil if there is none.
  package static func earliest(_ one: BootInstant?, _ other: BootInstant?) -> BootInstant? {
    guard let one, let other else { return one ?? other }
    return min(one, other)
  }

  /// This instant moved by `duration`; saturates at the limits of Int64.
  package static func + (instant: BootInstant, duration: Duration) -> BootInstant {
    let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.nanoseconds)
    guard overflow else { return BootInstant(nanoseconds: sum) }
    return BootInstant(nanoseconds: duration.nanoseconds < 0 ? .min : .max)
  }

  package static func - (instant: BootInstant, duration: Duration) -> BootInstant {
    instant + (.zero - duration)
  }

  /// The time from `right` to `left`; negative when `left` is earlier.
  package static func - (left: BootInstant, right: BootInstant) -> Duration {
    let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
    return Duration(nanoseconds: overflow ? (left < right ? .min : .max) : difference)
  }
}

extension BootInstant {
  /// The grace period after which a missed deadline means that its owner is stuck.
  package static let grace = Duration.seconds(30)

  /// Whether this deadline passed at least `grace` ago.
  package func isMissed(at now: BootInstant) -> Bool { now - self >= BootInstant.grace }
}

extension Duration {
  /// Faster than `Duration.nanoseconds(_:)`, which is generic.
  package init(nanoseconds: Int64) {
    self.init(attoseconds: Int128(nanoseconds) * 1_000_000_000)
  }

  /// Whole nanoseconds, clamped to Int64 (292 years).
  package var nanoseconds: Int64 { quotient(exponent: 9, powerOfFive: 1_953_125) }

  /// Seconds, to about a nanosecond.
  package var inSeconds: Double {
    let whole = attoseconds / Duration.attosecondsPerSecond
    let rest = attoseconds - whole * Duration.attosecondsPerSecond
    return Double(Int64(clamping: whole)) + Double(Int64(truncatingIfNeeded: rest)) * 1e-18
  }

  /// Whole seconds, truncated toward zero, clamped to Int64.
  package var wholeSeconds: Int64 { Int64(clamping: attoseconds / Duration.attosecondsPerSecond) }

  /// This fraction of the duration, as `*` and `/` compute it: these are generic in the standard library, and cost a
  /// dozen times as much.
  package func multiplied(by factor: Int64, dividedBy divisor: Int64) -> Duration {
    Duration(attoseconds: attoseconds * Int128(factor) / Int128(divisor))
  }

  /// Attoseconds divided by a power of ten, rounded toward zero, limited to the range of Int64.
  ///
  /// An update needs eighty of these, and a 128-bit division is a function call. 10^n is 2^n times 5^n: after the shift
  /// by n nearly every duration fits into 64 bits, and a division by a constant is a multiplication.
  ///
  /// - Parameters:
  ///   - exponent: n.
  ///   - powerOfFive: 5^n.
  @inline(__always)
  func quotient(exponent: Int128, powerOfFive: Int64) -> Int64 {
    if attoseconds >= 0, let shifted = Int64(exactly: attoseconds >> exponent) { return shifted / powerOfFive }
    return Int64(clamping: attoseconds / (Int128(powerOfFive) << exponent))
  }

  private static var attosecondsPerSecond: Int128 { 1_000_000_000_000_000_000 }
}
