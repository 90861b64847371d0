// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Positioning
import Reporting
import Timekeeping

/// The filter's score on drives with one kind of error.
///
/// A fix is bad if its distance from the truth is more than 50 m and more than three times its reported accuracy, or if
/// its time is wrong and cannot be corrected. Every other fix is good.
struct Score: Equatable {
  private(set) var good = 0
  private(set) var bad = 0
  private(set) var badPassed = 0
  private(set) var goodRefused = 0
  /// The longest time in seconds for which good fixes were rejected.
  private(set) var longestSilence = 0
  /// The number of times that the vehicle was found to have stopped or started.
  private(set) var motionChanges = 0
  /// The largest error in metres of a reported position when the fix was good.
  private(set) var largestError = 0.0

  /// Scores one drive for each seed.
  init(_ trouble: Trouble, seeds: Range<UInt64>) {
    for seed in seeds { drive(trouble, seed: seed) }
  }

  private mutating func drive(_ trouble: Trouble, seed: UInt64) {
    var drive = TrueDrive(trouble.drive, seed: seed &* 3 &+ 1)
    var receiver = FaultyReceiver(trouble, seed: seed &* 7 &+ 5)
    var filter = FixFilter(FixFilter.Configuration(buildDate: Timestamp(seconds: 1_795_219_200)))
    var policy = ReportingPolicy(ReportingPolicy.Configuration())
    var silence = 0
    for second in 0..<trouble.duration {
      drive.advance()
      guard second % trouble.period == 0, let fix = receiver.fix(drive.state, second: second) else { continue }
      let boot = BootInstant.boot + .seconds(second)
      let truth = FaultyReceiver.start + .seconds(second)
      let limit = max(50, 3 * (fix.horizontalAccuracy ?? 0))
      let isRightTime = fix.timestamp?.afterRollover(notBefore: Timestamp(seconds: 1_795_219_200)) == truth
      let isGood = isRightTime && FaultyReceiver.error(of: fix.coordinate, drive.state) <= limit
      if isGood { good += 1 } else { bad += 1 }
      switch filter.evaluate(fix, at: Moment(boot: boot, wall: truth)) {
      case .success(let accepted):
        let wasParked = policy.isParked
        policy.observe(accepted, at: boot)
        if policy.isParked != wasParked { motionChanges += 1 }
        if !isGood || accepted.time != truth {
          badPassed += 1
        } else if let newest = policy.newest {
          largestError = max(largestError, FaultyReceiver.error(of: newest.coordinate, drive.state))
        }
        silence = 0
      case .failure:
        guard isGood else { continue }
        goodRefused += 1
        silence += trouble.period
        longestSilence = max(longestSilence, silence)
      }
    }
  }

  /// The share of bad fixes that are accepted, 0 to 1.
  var passedShare: Double { bad == 0 ? 0 : Double(badPassed) / Double(bad) }
  /// The share of good fixes that are rejected, 0 to 1.
  var refusedShare: Double { good == 0 ? 0 : Double(goodRefused) / Double(good) }
}
