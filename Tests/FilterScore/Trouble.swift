// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// The error on a scored drive.
enum Trouble: String, CaseIterable {
  case none = "none: a drive in town"
  case highway = "none: a motorway, up to 36 m/s"
  case ferry = "none: a ferry at 25 m/s, its heading 15° off its course"
  case train = "none: on a train at 60 m/s"
  case fastTrain = "none: on a train at 80 m/s, above `max_speed`"
  case creeping = "none: creeping at 0 to 1.5 m/s"
  case parked = "parked for two hours, drifting by 8 m"
  case jump = "a jump of 60 to 2,000 m for one fix"
  case burst = "the same for 2 to 4 fixes"
  case honestCanyon = "multipath of 15 m, reported in the accuracy"
  case falseCanyon = "multipath of 25 m, reported accuracy 4 m"
  case frozen = "a receiver frozen for 20 s"
  case future = "a stamp an hour or a day ahead"
  case past = "a stamp an hour or a day late"
  case rollover = "a date 1024 weeks late"
  case zero = "0° N 0° E for 10 s"
  case honestTunnel = "a tunnel of 60 s; first fixes off by 80 to 400 m, reported in the accuracy"
  case falseTunnel = "the same, reported accuracy 5 m"
  case noSpeedBurst = "jumps of 2 to 4 fixes, from a receiver without speed"
  case zeroSpeed = "none: a receiver that always reports a speed of 0"

  var drive: TrueDrive.Kind {
    switch self {
    case .highway: .highway
    case .ferry: .ferry
    case .train: .train(60)
    case .fastTrain: .train(80)
    case .creeping: .creeping
    case .parked: .parked
    case .honestTunnel, .falseTunnel: .highway
    default: .town
    }
  }

  /// The duration of the drive in seconds.
  var duration: Int { self == .parked ? 7200 : 300 }
  /// Seconds from one fix to the next.
  var period: Int { self == .parked ? 5 : 1 }
}
