// SPDX-License-Identifier: Apache-2.0

/// Why a fix is rejected. Each reason is counted and reported.
package enum FixRejection: String, Error, Sendable, CaseIterable {
  /// The fix has no time at all.
  case noTime
  /// The receiver reports no date, and no clock of this machine can be trusted to supply it.
  case noDate
  /// Its horizontal accuracy is worse than `filter.max_accuracy`, and by HDOP alone it does not continue those before.
  case inaccurate
  /// Its HDOP is worse than `filter.max_hdop`, the receiver states no accuracy, and it does not continue those before.
  case diluted
  /// Fewer satellites than `filter.min_satellites`.
  case fewSatellites
  /// No satellite was used: dead reckoning, or a receiver that repeats what it knew. Accepted all the same where the receiver
  /// states an accuracy.
  case noSatellites
  /// Within 100 m of 0° N 0° E, where receivers without a fix report themselves to be.
  case zeroIsland
  /// The same time and place as the fix before.
  case duplicate
  /// Its time is not after that of the fix before.
  case outOfOrder
  /// Its time lags behind elapsed time by more than `filter.max_age`.
  case stale
  /// Its time is ahead of elapsed time.
  case future
  /// To be there, or by its own account, the vehicle would have to be faster than `filter.max_speed`.
  case impossibleSpeed
  /// Away from where the reported speed and heading have taken the vehicle.
  case jump
  /// The same place to the last digit, with a speed that would have taken the vehicle elsewhere.
  case frozen
  /// The first after a gap, when a receiver is wrong most often: the next one that agrees with it is accepted.
  case unsettled

  /// What it means, for a person.
  package var explanation: String {
    switch self {
    case .noTime: "the receiver reports a position without a time"
    case .noDate: "the receiver reports no date and this machine's clock is not set"
    case .inaccurate: "accuracy worse than filter.max_accuracy"
    case .diluted: "HDOP worse than filter.max_hdop"
    case .fewSatellites: "fewer satellites than filter.min_satellites"
    case .noSatellites: "computed without satellites, and the receiver states no accuracy"
    case .zeroIsland: "position 0,0: the receiver has no real fix"
    case .duplicate: "the same time and position again"
    case .outOfOrder: "older than the fix before"
    case .stale: "older than filter.max_age"
    case .future: "its time is ahead of the elapsed time"
    case .impossibleSpeed: "faster than filter.max_speed"
    case .jump: "not where the vehicle's speed and heading have taken it"
    case .frozen: "the receiver repeats one position while it reports a speed"
    case .unsettled: "the first after a gap, until a second fix agrees"
    }
  }
}
