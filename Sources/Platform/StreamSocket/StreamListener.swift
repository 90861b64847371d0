// SPDX-License-Identifier: Apache-2.0
package import EventLoop
package import ExternalInput
import CLinux
import Glibc
import SystemCalls
import Timekeeping

/// Accepts TCP connections at an address. Peers are filtered by `NMEANetworkSession` before any data is read.
package final class StreamListener {
  /// An accepted connection; it is closed unless a `StreamSocket` is created from it.
  nonisolated package struct Connection: ~Copyable {
    let descriptor: Descriptor
    /// The peer.
    package let address: IPAddress
  }

  /// The listen backlog of the kernel.
  private static let backlog: Int32 = 16
  /// Maximum number of accepted connections per iteration of the loop, so that a thousand simultaneous connections do
  /// not block other events.
  private static let maximumPerTurn = 16
  /// Pause after accept(2) failed because of a lack of descriptors or memory: the socket stays readable, and the loop
  /// would spin.
  private static let acceptRetryDelay = Duration.seconds(1)

  private let loop: EventLoop
  private let descriptor: Descriptor
  private let onConnection: (consuming Connection) -> Void
  private var source: EventSource<IOEvents>?
  private var resumeTimer: LoopTimer?

  /// Starts to listen.
  ///
  /// - Parameters:
  ///   - host: a numeric address; an IPv6 address without brackets. `::` also accepts IPv4.
  ///   - port: 0: chosen by the kernel.
  ///   - onConnection: called with each connection.
  /// - Throws: code `inUse`, `unreachable` if no interface has the address, or `failed`.
  package init(
    loop: EventLoop, host: String, port: Int, onConnection: @escaping (consuming Connection) -> Void
  ) throws(StreamSocketError) {
    self.loop = loop
    self.onConnection = onConnection
    let name = ListeningAddress.name(host, port)
    do throws(Errno) {
      descriptor = try ListeningAddress.bind(
        host: host, port: port, type: Int32(SOCK_STREAM.rawValue), reusesAddress: true)
      let rawValue = descriptor.rawValue
      _ = try Errno.retrying { listen(rawValue, StreamListener.backlog) }
    } catch {
      throw StreamSocketError(name, error)
    }
    do {
      resumeTimer = try loop.makeTimer { [unowned self] in source?.resume() }
      source = try loop.addIO(descriptor.rawValue, .readable) { [unowned self] _ in accept() }
    } catch {
      throw StreamSocketError(.failed, "\(name): \(error.message)", cause: error.cause)
    }
  }

  isolated deinit { close() }

  /// The local port.
  package var port: Int? { ListeningAddress.port(of: descriptor.rawValue) }

  /// Closes the listener. Idempotent, and allowed inside its handler.
  package func close() {
    source?.close()
    source = nil
    resumeTimer?.close()
    resumeTimer = nil
  }

  private func accept() {
    for _ in 0..<StreamListener.maximumPerTurn {
      // A handler may have closed the listener.
      guard source != nil else { return }
      let rawValue = fleet_accept(descriptor.rawValue)
      guard rawValue >= 0 else {
        // After any other error, the client has disconnected, or there is none.
        if [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno) {
          source?.pause()
          resumeTimer?.arm(at: loop.now.boot + StreamListener.acceptRetryDelay)
        }
        return
      }
      let connection = Descriptor(owning: rawValue)
      guard let address = ListeningAddress.peer(of: rawValue) else { continue }
      onConnection(Connection(descriptor: connection, address: address))
    }
  }
}
