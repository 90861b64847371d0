// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Predicts when the next fix of a receiver can be read, so that its line is read once for each fix, and need not be
/// watched.
///
/// Receivers send a burst for each fix, a period of their own clock apart. The first prediction is a period after a fix
/// was complete; each next one is a period after the one before, a little earlier each time: a read that comes too
/// early shows when the fix is complete, and the next one is that much later. About one read in eight is too early.
/// Receivers whose bursts do not come on a grid are watched.
struct BurstForecast: Sendable {
  /// The number of fixes a period apart before the first prediction.
  private static let leastRegular = 5
  private static let mostRegular = 320
  /// A shorter period is not worth a prediction, and with a longer one too much would be left unread.
  private static let periods: ClosedRange<Int64> = 200...2000
  /// The lateness before anything was measured.
  private static let initialLateness = Duration.milliseconds(12)
  private static let leastLateness = Duration.milliseconds(4)
  /// With bursts that are later than this on average, predictions would cost more than a few milliseconds.
  private static let mostLateness = Duration.milliseconds(20)
  /// A single burst that is later than this says nothing about the next one.
  private static let outlier = Duration.milliseconds(40)
  /// The first prediction needs fixes that come a period apart, more or less than this.
  private static let mostDeviation = Duration.milliseconds(20)
  private static let mostMisses = 3
  private static let millisecondsPerDay: Int64 = 86_400_000

  /// The receiver's time of the last fix, in milliseconds of the day, and when it was complete.
  private var last: (time: Int64, at: BootInstant)?
  /// Milliseconds between the last two fixes.
  private var period: Int64 = 0
  /// How many fixes in a row were a period apart, and how many have to be.
  private var regular = 0
  private var required = leastRegular
  /// The smoothed time by which a fix comes after a read that was too early.
  private var lateness = initialLateness
  /// The predicted time of the next fix.
  private var expected: BootInstant?
  /// The read then came too early.
  private(set) var isMissed = false
  private var misses = 0

  /// A fix was read.
  ///
  /// - Parameter complete: when its last byte had come, as far as that is known; otherwise the time of the read.
  /// - Returns: when to read the next one; nil if that cannot be predicted.
  mutating func found(_ fix: Fix, complete: BootInstant) -> BootInstant? {
    guard let time = fix.millisecondsOfDay else {
      reset()
      return nil
    }
    defer { last = (time, complete) }
    guard let last else { return nil }
    let interval = (time - last.time + Self.millisecondsPerDay) % Self.millisecondsPerDay
    guard interval == period, Self.periods.contains(interval) else {
      reset()
      period = interval
      return nil
    }
    guard expected != nil || isOnGrid(after: last.at, complete) else {
      regular = 0
      return nil
    }
    regular = min(regular + 1, required)
    guard regular == required else { return nil }
    guard let expected else {
      self.expected = complete + .milliseconds(period) + Self.leastLateness
      return self.expected
    }
    guard let target = target(expected, complete) else {
      required = min(required * 2, Self.mostRegular)
      reset()
      return nil
    }
    isMissed = false
    self.expected = target + .milliseconds(period)
    return self.expected
  }

  /// The predicted read found no fix.
  mutating func missed() { isMissed = true }

  /// Another stream begins, or the receiver has stopped.
  mutating func reset() {
    self = BurstForecast(required: required)
  }

  init() {}

  private init(required: Int) { self.required = required }

  /// Whether a fix was complete a period after the one before.
  private func isOnGrid(after last: BootInstant, _ complete: BootInstant) -> Bool {
    let deviation = complete - last - .milliseconds(period)
    return max(deviation, .zero - deviation) <= Self.mostDeviation
  }

  /// Where on the grid of the predictions this fix should have been read; nil if there is no such grid.
  private mutating func target(_ expected: BootInstant, _ complete: BootInstant) -> BootInstant? {
    guard isMissed else {
      misses = 0
      lateness = max(lateness - lateness / 32, Self.leastLateness)
      return expected - lateness / 8
    }
    misses += 1
    let late = complete - expected
    lateness = max(lateness + (min(late, Self.outlier) - lateness) / 4, Self.leastLateness)
    guard misses < Self.mostMisses, lateness <= Self.mostLateness else { return nil }
    return late <= Self.outlier ? complete + lateness / 2 : expected + lateness
  }
}

extension Fix {
  fileprivate var millisecondsOfDay: Int64? {
    switch time {
    case .utc(let stamp): stamp.millisecondsOfDay
    case .ofDay(let milliseconds): milliseconds
    case nil: nil
    }
  }
}
