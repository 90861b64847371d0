// SPDX-License-Identifier: Apache-2.0
import Timekeeping

@testable import SimulatedDrives

extension RouteSimulator {
  /// The true position and speed at a time in seconds; nil if the drive has ended.
  func truth(at seconds: Double) -> (pose: RoutePath.Pose, state: Drive.State)? {
    let time = settings.headStart.inSeconds + seconds * settings.pace
    guard let state = drive.state(at: time), let pose = drive.path.pose(at: state.distance) else { return nil }
    return (pose, state)
  }
}
