// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Detects a receiver that extrapolates: without satellites it continues to report the same speed, course and accuracy
/// to the last digit. A receiver with sensors measures these, so they change.
struct ExtrapolationDetector: Sendable {
  /// How long these values must be unchanged.
  private static let minimumDuration = Duration.seconds(2)

  private struct Report: Equatable {
    var speed: Double?
    var heading: Double?
    var accuracy: Double?
  }

  private var report: Report?
  private var unchangedSince = Timestamp(milliseconds: .min)
  /// Whether the last fix is extrapolated.
  private(set) var isExtrapolating = false

  /// Moves the timestamps of previous fixes.
  mutating func redate(by change: Duration) { unchangedSince = unchangedSince + change }

  /// Processes the next fix. A fix that is slower than the noise of a parked vehicle does not count as extrapolated,
  /// because a parked vehicle's speed may remain 0.
  mutating func observe(_ fix: Fix, at time: Timestamp) {
    let report = Report(speed: fix.speed, heading: fix.heading, accuracy: fix.reportedAccuracy)
    if report != self.report || time < unchangedSince { (self.report, unchangedSince) = (report, time) }
    isExtrapolating =
      fix.satellites == 0 && fix.reportedAccuracy != nil && fix.speed ?? 0 >= FreezeDetector.minimumSpeed
      && time - unchangedSince >= ExtrapolationDetector.minimumDuration
  }
}
