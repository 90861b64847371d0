// SPDX-License-Identifier: Apache-2.0
package import Positioning

extension FixRejection {
  /// What the cause is and what to do, for a technician: whole sentences.
  package var advice: String {
    switch self {
    case .noTime:
      "If this persists, the receiver's battery is flat or its output lacks RMC, GGA or ZDA."
    case .noDate:
      "The receiver reports only the time of day. Enable RMC or ZDA at the receiver, or set the clock of the box."
    case .inaccurate:
      "Poor sky: a hall, a narrow street, the first fixes after a tunnel. If this persists in the open, check the antenna."
    case .diluted:
      "Poor satellite geometry: part of the sky is hidden. As above. Fixes that continue those before are accepted."
    case .fewSatellites: "As above; `min_satellites` is off unless it is set."
    case .noSatellites:
      "A tunnel or a garage. A receiver with sensors should state the accuracy of its dead reckoning: enable GST, or PUBX,00 of a u-blox."
    case .zeroIsland: "The receiver has no fix and reports one. If this persists, its firmware is at fault."
    case .duplicate: "Harmless: a source that sends everything twice, or a receiver whose clock stands still."
    case .outOfOrder:
      "A stamp in the past, or sentences that overtake each other. If this persists, two receivers write to one port."
    case .stale:
      "The line or the box delayed sentences. If this persists, the port is too slow for what the receiver sends."
    case .future:
      "A wrong stamp. If all are ahead, they are accepted after a few seconds: only the receiver knows the time here."
    case .impossibleSpeed:
      "A wild position or speed: echoes, or a jammer. A train faster than `max_speed` is accepted after ten seconds."
    case .jump:
      "Echoes between walls or under a bridge. If this persists, the receiver reports wrong speeds or headings."
    case .frozen:
      "The receiver has frozen, or keeps repeating its last position without satellites. Power-cycle it if this persists."
    case .unsettled: "Normal: once after each tunnel or garage, for a second."
    }
  }
}
