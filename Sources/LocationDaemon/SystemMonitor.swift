// SPDX-License-Identifier: Apache-2.0
import Connectivity
import EventLoop
import NetworkWatch
import SystemCalls

/// Is notified of changes of the system: the network, suspend, and steps of the clock.
///
/// The daemon also works without it: it then notices such changes at the next attempt or fix.
final class SystemMonitor {
  private let loop: EventLoop
  private var networkWatch: NetworkWatch?
  private var clockWatch: ClockWatch?

  init(loop: EventLoop) {
    self.loop = loop
  }

  /// - Parameters:
  ///   - onNetwork: called at each change of the network.
  ///   - onClockChange: called after a suspend or a step of the clock.
  /// - Returns: why the network cannot be monitored; nil on success.
  func watch(onNetwork: @escaping (NetworkState) -> Void, onClockChange: @escaping () -> Void) -> String? {
    clockWatch = try? ClockWatch(loop: loop) { onClockChange() }
    do {
      networkWatch = try NetworkWatch(loop: loop) { onNetwork($0) }
      return nil
    } catch {
      return error.message
    }
  }

  /// The last reported state of the network; nil if the network is not monitored.
  var networkState: NetworkState? { networkWatch?.state }
}
