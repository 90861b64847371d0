// SPDX-License-Identifier: Apache-2.0
import Connectivity
import EventLoop
import NetworkWatch
import Delivery
import Timekeeping
import SystemCalls

/// Notices what happens around the daemon: the network comes and goes, the machine sleeps, somebody sets its clock.
///
/// None of it is needed: without it the daemon finds out by trying, and by the next fix.
final class Surroundings {
  private let loop: EventLoop
  private var network: NetworkWatch?
  private var clockWatch: ClockWatch?
  private var clocks: ClockComparison

  init(loop: EventLoop) {
    self.loop = loop
    clocks = ClockComparison(loop.now, awake: loop.awake)
  }

  /// - Parameters:
  ///   - onNetwork: called at each change.
  ///   - onWake: called after the machine has slept or its clock was set; `changes` tells which.
  /// - Returns: why the network cannot be watched; nil when it is.
  func watch(onNetwork: @escaping (NetworkState) -> Void, onWake: @escaping () -> Void) -> String? {
    clockWatch = try? ClockWatch(loop: loop) { onWake() }
    do {
      network = try NetworkWatch(loop: loop) { onNetwork($0) }
      return nil
    } catch {
      return error.message
    }
  }

  /// As it was told last; nil when it is not watched.
  var networkState: NetworkState? { network?.state }

  /// What has become of the clocks since the last call. To be asked before all else of a turn: what follows is to know that
  /// the machine has slept.
  func changes(at now: Moment) -> [VehicleAgent.Input] {
    clocks.read(now, awake: loop.awake).map { change in
      switch change {
      case .slept(let time): .resumed(after: time)
      case .stepped(let step): .clockStepped(step)
      }
    }
  }
}
