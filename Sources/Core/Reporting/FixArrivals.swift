// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Predicts when the receiver's next fix arrives.
///
/// Fixes arrive on a grid, each a little early or late. The grid's phase and period follow the arrivals slowly, and the
/// mean deviation shows how long to wait for a fix, as in a TCP retransmission timeout (RFC 6298).
struct FixArrivals: Equatable, Sendable {
  /// After a longer gap the grid starts anew, with the same period.
  private static let maximumGap = Duration.seconds(5)
  /// This many consecutive arrivals that are not one period apart mean that the period has changed.
  private static let maximumIrregularCount = 3
  /// The minimum time to wait for a fix after its predicted arrival.
  private static let minimumGrace = Duration.milliseconds(100)

  /// The smoothed time between two fixes; nil before the second.
  private(set) var period: Duration?
  private var lastArrival: BootInstant?
  /// Where the newest arrival would be without its deviation.
  private var gridPoint = BootInstant.boot
  /// The mean of the deviations' magnitudes.
  private var deviation = Duration.zero
  private var irregularCount = 0

  /// The predicted arrival of the next fix.
  var next: BootInstant? { period.map { gridPoint + $0 } }

  /// How long to wait for a fix after its predicted arrival.
  var grace: Duration { max(FixArrivals.minimumGrace, min(deviation * 4, (period ?? .zero) / 2)) }

  /// The next fix has arrived.
  mutating func observe(at now: BootInstant) {
    defer { lastArrival = now }
    guard let lastArrival else { return }
    let interval = now - lastArrival
    guard interval > .zero else { return }
    guard let period else { return restart(period: interval, at: now) }
    guard interval <= FixArrivals.maximumGap else { return restart(period: period, at: now) }
    let twice = interval + interval
    irregularCount = twice > period && twice < period + period + period ? 0 : irregularCount + 1
    guard irregularCount < FixArrivals.maximumIrregularCount else { return restart(period: interval, at: now) }
    let elapsed = now - gridPoint
    let count = (elapsed / period).rounded()
    guard count >= 1 else { return }
    let error = elapsed - period * count
    gridPoint = now - error.multiplied(by: 3, dividedBy: 4)
    self.period = period + error / (16 * count)
    deviation += (max(error, .zero - error) - deviation).multiplied(by: 1, dividedBy: 4)
  }

  private mutating func restart(period: Duration, at now: BootInstant) {
    self.period = period
    gridPoint = now
    deviation = .zero
    irregularCount = 0
  }
}
