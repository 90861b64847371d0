// SPDX-License-Identifier: Apache-2.0
package import Positioning

extension FixRejection {
  /// What it tells a person in the workshop, and what to do: whole sentences.
  package var advice: String {
    switch self {
    case .noTime:
      "The receiver sends positions without a time. If it lasts, its battery is flat or its output lacks RMC, GGA or ZDA."
    case .noDate:
      "The receiver tells the time of day alone. Switch on RMC or ZDA at the receiver, or set the clock of the box."
    case .inaccurate:
      "Poor sky: a hall, a narrow street, the first fixes after a tunnel. If it lasts in the open, look at the antenna."
    case .diluted: "The satellites stand in a bad geometry: part of the sky is hidden. As above."
    case .fewSatellites: "As above; `min_satellites` is off unless it is set."
    case .zeroIsland: "The receiver has no fix and says that it has one. If it lasts, its firmware is at fault."
    case .duplicate: "Harmless: a source that says everything twice, or a receiver whose clock stands still."
    case .outOfOrder:
      "A stamp in the past, or sentences that overtake each other. If it lasts, two receivers write to one port."
    case .stale:
      "The line or the box held sentences back. If it lasts, the port is too slow for what the receiver sends."
    case .future:
      "One wrong stamp. If all are, they are believed after a few seconds: nothing but the receiver tells the time here."
    case .impossibleSpeed:
      "A wild position or speed: echoes, or a jammer. A train that is faster than `max_speed` is believed after ten seconds."
    case .jump: "Echoes between walls or under a bridge. If it lasts, the receiver tells wrong speeds or headings."
    case .frozen:
      "The receiver has hung itself up, or goes on with its last position without satellites. Switch it off and on if it lasts."
    case .unsettled: "Once after each tunnel or garage, for a second: no trouble."
    }
  }
}
