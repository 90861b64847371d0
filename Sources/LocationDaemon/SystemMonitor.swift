// SPDX-License-Identifier: Apache-2.0
import Connectivity
import EventLoop
import NetworkWatch
import Delivery
import Timekeeping
import SystemCalls

/// Detects changes of the system: the network, suspend, and steps of the clock.
///
/// The daemon also works without it: it then notices such changes at the next attempt or fix.
final class SystemMonitor {
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
  ///   - onWake: called after a suspend or a step of the clock; `changes` returns which.
  /// - Returns: why the network cannot be monitored; nil on success.
  func watch(onNetwork: @escaping (NetworkState) -> Void, onClockChange: @escaping () -> Void) -> String? {
    clockWatch = try? ClockWatch(loop: loop) { onClockChange() }
    do {
      network = try NetworkWatch(loop: loop) { onNetwork($0) }
      return nil
    } catch {
      return error.message
    }
  }

  /// The last reported state; nil if the network is not monitored.
  var networkState: NetworkState? { network?.state }

  /// Changes of the clocks since the last call. It must be called before each other input is handled, so that the agent
  /// first learns of a suspend or a clock step.
  func changes(at now: Moment) -> [VehicleAgent.Input] {
    clocks.read(now, awake: loop.awake).map { change in
      switch change {
      case .slept(let time): .resumed(after: time)
      case .stepped(let step): .clockStepped(step)
      }
    }
  }
}
