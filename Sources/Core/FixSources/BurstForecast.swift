// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Predicts when a receiver's next fix can be read, so that its line is read once for each fix and does not need to be
/// watched.
///
/// Receivers send a burst for each fix, one period of their own clock apart. The first prediction is one period after a
/// fix was complete. Each later prediction is one period after the previous one, and a little earlier each time. If a
/// read comes too early, the reads after it show when the fix is complete, and the next prediction is later
/// accordingly. About one read in sixteen is too early. For every sixteenth prediction, another read is made well
/// before the predicted time: if it already finds the fix, the bursts come earlier than before, and the forecast begins
/// again. Receivers whose bursts are irregular are watched.
struct BurstForecast: Sendable {
  /// The number of fixes one period apart that are needed before the first prediction.
  private static let minimumRequired = 5
  private static let maximumRequired = 320
  /// A shorter period is not worth a prediction. A longer one would delay a fix too much when the receiver's rate
  /// changes.
  private static let periods: ClosedRange<Int64> = 200...1000
  /// The assumed lateness before the first measurement.
  private static let initialLateness = Duration.milliseconds(12)
  private static let minimumLateness = Duration.milliseconds(4)
  /// If bursts are later than this on average, predictions would delay fixes by more than a few milliseconds.
  private static let maximumLateness = Duration.milliseconds(20)
  /// A single burst that is later than this says nothing about the next one.
  private static let outlierLateness = Duration.milliseconds(40)
  /// The maximum deviation from one period between the fixes before the first prediction.
  private static let maximumDeviation = Duration.milliseconds(20)
  private static let maximumMisses = 3
  /// In one of this many predictions, another read is made as a check, this long before the predicted time.
  private static let predictionsPerCheck = 16
  private static let checkAdvance = Duration.milliseconds(50)
  private static let millisecondsPerDay: Int64 = 86_400_000

  /// The receiver's time of the last fix, in milliseconds of the day, and when it was complete.
  private var last: (time: Int64, at: BootInstant)?
  /// Milliseconds between the last two fixes.
  private var period: Int64 = 0
  /// How many fixes in a row were one period apart, and how many are required.
  private var regularCount = 0
  private var requiredCount = minimumRequired
  /// The smoothed delay between a read that was too early and the completion of the fix.
  private var lateness = initialLateness
  /// The predicted time of the next fix.
  private var expected: BootInstant?
  /// Whether the read at the predicted time came too early.
  private(set) var isMissed = false
  private var misses = 0
  /// Predictions until the next check.
  private var predictionsUntilCheck = predictionsPerCheck
  /// Whether the next read is the check before the predicted time, which should find no fix yet.
  private var isCheck = false

  /// A fix was read.
  ///
  /// - Parameter completedAt: when its last byte arrived, if that is known; otherwise the time of the read.
  /// - Returns: when to read the next one; nil if that cannot be predicted.
  mutating func found(_ fix: Fix, completedAt: BootInstant) -> BootInstant? {
    guard let time = fix.millisecondsOfDay else {
      reset()
      return nil
    }
    defer { last = (time, completedAt) }
    guard let last else { return nil }
    let interval = (time - last.time + Self.millisecondsPerDay) % Self.millisecondsPerDay
    guard interval == period, Self.periods.contains(interval) else {
      reset()
      period = interval
      return nil
    }
    guard expected != nil || isOnGrid(after: last.at, completedAt) else {
      regularCount = 0
      return nil
    }
    regularCount = min(regularCount + 1, requiredCount)
    guard regularCount == requiredCount else { return nil }
    guard let expected else {
      self.expected = completedAt + .milliseconds(period) + Self.minimumLateness
      return self.expected
    }
    guard !isCheck, let target = target(expected, completedAt) else {
      // Bursts come earlier than before, or not on a grid.
      if !isCheck { requiredCount = min(requiredCount * 2, Self.maximumRequired) }
      reset()
      return nil
    }
    isMissed = false
    let next = target + .milliseconds(period)
    self.expected = next
    predictionsUntilCheck -= 1
    guard predictionsUntilCheck == 0 else { return next }
    (predictionsUntilCheck, isCheck) = (Self.predictionsPerCheck, true)
    return next - Self.checkAdvance
  }

  /// The predicted read found no fix.
  ///
  /// - Returns: the predicted time, if that read was the check before it; otherwise nil.
  mutating func missed() -> BootInstant? {
    guard isCheck else {
      isMissed = expected != nil
      return nil
    }
    isCheck = false
    return expected
  }

  /// Another stream begins, or the receiver has stopped.
  mutating func reset() {
    self = BurstForecast(requiredCount: requiredCount)
  }

  init() {}

  private init(requiredCount: Int) { self.requiredCount = requiredCount }

  /// Whether a fix was complete about one period after the previous one.
  private func isOnGrid(after last: BootInstant, _ completedAt: BootInstant) -> Bool {
    let interval: Duration = completedAt - last
    let deviation = interval - .milliseconds(period)
    return max(deviation, .zero - deviation) <= Self.maximumDeviation
  }

  /// When this fix should have been read, from which the next prediction is computed; nil if the bursts are not regular
  /// enough.
  private mutating func target(_ expected: BootInstant, _ completedAt: BootInstant) -> BootInstant? {
    guard isMissed else {
      misses = 0
      lateness = max(lateness - lateness / 32, Self.minimumLateness)
      return expected - lateness / 32
    }
    misses += 1
    let late = completedAt - expected
    lateness = max(lateness + (min(late, Self.outlierLateness) - lateness) / 4, Self.minimumLateness)
    guard misses < Self.maximumMisses, lateness <= Self.maximumLateness else { return nil }
    return late <= Self.outlierLateness ? completedAt + lateness / 2 : expected + lateness
  }
}

extension Fix {
  /// The receiver's time of day; nil if it has none.
  var millisecondsOfDay: Int64? {
    switch time {
    case .utc(let stamp): stamp.millisecondsOfDay
    case .ofDay(let milliseconds): milliseconds
    case nil: nil
    }
  }
}
