// SPDX-License-Identifier: Apache-2.0
import CLinux
package import Connectivity
package import EventLoop
import Glibc
import SystemCalls
import Timekeeping

/// Monitors the machine's links, addresses and default routes through rtnetlink(7): it has the socket and the timer for
/// `NetworkSurvey`.
package final class NetworkWatch {
  private let loop: EventLoop
  private let socket: Descriptor
  private let onChange: (NetworkState) -> Void
  private var survey = NetworkSurvey()
  private var source: EventSource<IOEvents>?
  private var timer: LoopTimer?
  /// The kernel sends dumps in parts of at most 32 KiB.
  private var buffer = [UInt8](repeating: 0, count: 32_768)

  /// The last reported state; nil before the first.
  package private(set) var state: NetworkState?

  /// - Parameter onChange: called with the state shortly after initialization, and after each change.
  /// - Throws: code `permissionDenied` if AF_NETLINK is not permitted for this process; `failed` otherwise.
  package init(
    loop: EventLoop, onChange: @escaping (NetworkState) -> Void
  ) throws(NetworkWatchError) {
    self.loop = loop
    self.onChange = onChange
    do throws(Errno) {
      socket = Descriptor(owning: try Errno.retrying { fleet_netlink_open() })
    } catch {
      throw NetworkWatchError(error)
    }
    do throws(EventLoopError) {
      timer = try loop.makeTimer { [unowned self] in handle(.deadline) }
      source = try loop.addIO(socket.rawValue, .readable) { [unowned self] _ in receive() }
    } catch {
      throw NetworkWatchError(.failed, error.message, cause: error.cause)
    }
    handle(.start)
  }

  isolated deinit {
    source?.close()
    timer?.close()
  }

  private func receive() {
    // Limited, so that other events are handled; remaining data is reported again.
    for _ in 0..<16 {
      do throws(Errno) {
        var isFromKernel = false
        let descriptor = socket.rawValue
        let count = try Errno.retrying {
          unsafe buffer.withUnsafeMutableBytes {
            unsafe fleet_netlink_receive(descriptor, $0.baseAddress, $0.count, &isFromKernel)
          }
        }
        // Any process may send to this socket; only messages from the kernel are accepted.
        guard isFromKernel else { continue }
        handle(count > buffer.count ? .overrun : .received(Array(buffer.prefix(count))))
      } catch {
        // ENOBUFS: the kernel dropped messages. EAGAIN: no more data.
        if error.code == ENOBUFS { handle(.overrun) }
        return
      }
    }
  }

  private func handle(_ input: NetworkSurvey.Input) {
    for effect in survey.handle(input, at: loop.now.boot) {
      switch effect {
      case .request(let subject, let sequence):
        let descriptor = socket.rawValue
        // A request that fails (ENOBUFS) is repeated after its timeout.
        _ = fleet_netlink_dump(descriptor, subject.rawValue, sequence)
      case .state(let state):
        self.state = state
        onChange(state)
      }
    }
    if let deadline = survey.nextDeadline { timer?.arm(at: deadline) } else { timer?.disarm() }
  }
}
