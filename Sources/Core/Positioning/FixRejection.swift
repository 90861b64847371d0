// SPDX-License-Identifier: Apache-2.0

/// Why a fix is rejected. Each reason is counted and reported.
package enum FixRejection: String, Error, Sendable, CaseIterable {
  /// The fix has no time at all.
  case noTime
  /// The receiver reports no date, and no reliable clock can provide it.
  case noDate
  /// Its horizontal accuracy is worse than `filter.max_accuracy`; an accuracy derived from HDOP is accepted if the fix
  /// continues the previous ones.
  case inaccurate
  /// Its HDOP is worse than `filter.max_hdop`, the receiver reports no accuracy, and it does not continue the previous
  /// fixes.
  case diluted
  /// Fewer satellites than `filter.min_satellites`.
  case fewSatellites
  /// No satellite was used: dead reckoning, or a receiver that repeats an old position. Accepted if the receiver reports
  /// an accuracy.
  case noSatellites
  /// Within 100 m of 0° N 0° E, which receivers without a fix report.
  case zeroIsland
  /// The same time and position as the previous fix.
  case duplicate
  /// Its timestamp is not after that of the previous fix.
  case outOfOrder
  /// Its time lags behind elapsed time by more than `filter.max_age`.
  case stale
  /// Its time is ahead of elapsed time.
  case future
  /// The vehicle would have to be faster than `filter.max_speed`, by its positions or by the reported speed.
  case impossibleSpeed
  /// Away from the position predicted from the reported speed and heading.
  case jump
  /// The same position to the last digit, with a speed that would have moved the vehicle.
  case frozen
  /// The first after a gap, when receivers are least accurate: the next one that is consistent with it is accepted.
  case unsettled

  /// The meaning, for display.
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
