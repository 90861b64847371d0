// SPDX-License-Identifier: Apache-2.0

/// Why a fix is not believed. Each is counted, and is what a person is told.
package enum FixRejection: String, Error, Sendable, CaseIterable {
  /// The fix tells no time at all.
  case noTime
  /// The receiver tells no date, and no clock of this machine can be trusted to supply it.
  case noDate
  /// Its horizontal accuracy is worse than `filter.max_accuracy`.
  case inaccurate
  /// Its HDOP is worse than `filter.max_hdop`.
  case diluted
  /// Fewer satellites than `filter.min_satellites`.
  case fewSatellites
  /// Within 100 m of 0° N 0° E, where receivers without a fix believe they are.
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
  /// Away from where the speed and heading that were told have taken the vehicle.
  case jump
  /// The same place to the last digit, with a speed that would have taken the vehicle elsewhere.
  case frozen
  /// The first after a gap, when a receiver is wrong most often: the next one that agrees with it is believed.
  case unsettled

  /// What it means, for a person.
  package var explanation: String {
    switch self {
    case .noTime: "the receiver gives a position without a time"
    case .noDate: "the receiver gives no date and this machine's clock is not set"
    case .inaccurate: "accuracy worse than filter.max_accuracy"
    case .diluted: "HDOP worse than filter.max_hdop"
    case .fewSatellites: "fewer satellites than filter.min_satellites"
    case .zeroIsland: "position 0,0: the receiver has no real fix"
    case .duplicate: "the same time and place again"
    case .outOfOrder: "older than the fix before"
    case .stale: "older than filter.max_age"
    case .future: "its time is ahead of elapsed time"
    case .impossibleSpeed: "faster than filter.max_speed"
    case .jump: "away from where its speed and heading have taken the vehicle"
    case .frozen: "the receiver repeats one place while it tells a speed"
    case .unsettled: "the first after a gap, and waits for a second that agrees"
    }
  }
}
