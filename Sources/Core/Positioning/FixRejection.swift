// SPDX-License-Identifier: Apache-2.0
package import ExternalInput

/// Why a fix is rejected. Each reason is counted and reported.
package enum FixRejection: String, Error, ReportedProblem, Sendable, CaseIterable {
  /// The fix has no time at all.
  case noTime
  /// The receiver reports no date, and the machine's clock does not provide it: it is not set, or not used yet
  /// (`FixFilter.dateDelay`).
  case noDate
  /// Its horizontal accuracy is worse than `filter.max_accuracy`; an accuracy derived from HDOP is accepted if the fix
  /// continues the previous ones.
  case inaccurate
  /// Its HDOP is worse than `filter.max_hdop`, the receiver reports no accuracy, and it does not continue the previous
  /// fixes.
  case poorHDOP = "diluted"
  /// Fewer satellites than `filter.min_satellites`.
  case fewSatellites
  /// No satellite was used: dead reckoning, or a receiver that repeats an old position. Such a fix is accepted if the
  /// receiver reports an accuracy.
  case noSatellites
  /// Within about 100 m of 0° N 0° E, which receivers without a fix report.
  case nullIsland = "zeroIsland"
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
  /// It is too far from the position that was predicted from the reported speed and heading.
  case jump
  /// The same position to the last digit, with a speed that would have moved the vehicle.
  case frozen
  /// The first fix after a gap, when receivers are least accurate: the next one that is consistent with it is accepted.
  case unsettled

  package var sentence: Sentence {
    switch self {
    case .noTime: "the receiver reports a position without a time"
    case .noDate: "the receiver reports no date, and this machine's clock is not set or not used yet"
    case .inaccurate: "accuracy worse than filter.max_accuracy"
    case .poorHDOP: "HDOP worse than filter.max_hdop"
    case .fewSatellites: "fewer satellites than filter.min_satellites"
    case .noSatellites: "computed without satellites, and the receiver reports no accuracy"
    case .nullIsland: "position 0,0: the receiver has no real fix"
    case .duplicate: "the same time and position again"
    case .outOfOrder: "older than the previous fix"
    case .stale: "older than filter.max_age"
    case .future: "its time is ahead of the elapsed time"
    case .impossibleSpeed: "faster than filter.max_speed"
    case .jump: "not where the vehicle's speed and heading have taken it"
    case .frozen: "the receiver repeats one position while it reports a speed"
    case .unsettled: "the first after a gap, until a second fix agrees"
    }
  }

  package var advice: String? {
    switch self {
    case .noTime: "if this persists, the receiver's battery is flat or its output lacks RMC, GGA or ZDA"
    case .noDate:
      "normal for the first two seconds; if this persists, enable RMC or ZDA in the receiver, or set the clock of the box"
    case .inaccurate:
      "normal in a hall, in a narrow street and after a tunnel; if this persists in the open, check the antenna"
    case .poorHDOP:
      "normal where part of the sky is hidden; if this persists in the open, check the antenna; fixes that continue the previous ones are accepted"
    case .fewSatellites: "check the antenna, or lower `min_satellites`, which is off unless it is set"
    case .noSatellites:
      "normal in a tunnel or garage; a receiver with sensors has to report the accuracy of its dead reckoning: enable GST, or PUBX,00 of a u-blox"
    case .nullIsland: "if this persists, the receiver's firmware is at fault"
    case .duplicate: "harmless: the source sends everything twice, or the receiver's clock has stopped"
    case .outOfOrder: "if this persists, two receivers write to one port"
    case .stale: "if this persists, the port is too slow for what the receiver sends"
    case .future: "if all fixes are ahead, they are accepted after a few seconds: only the receiver knows the time here"
    case .impossibleSpeed:
      "reflected signals, or a jammer; a train faster than `max_speed` is accepted after ten seconds"
    case .jump:
      "reflected signals between walls or under a bridge; if this persists, the receiver reports wrong speeds or headings"
    case .frozen: "if this persists, power-cycle the receiver"
    case .unsettled: "normal once after each tunnel or garage, for a second"
    }
  }
}
