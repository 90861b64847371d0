// SPDX-License-Identifier: Apache-2.0
package import EventLoop
package import ExternalInput
import CLinux
import Glibc
import SystemCalls
import Timekeeping

/// Accepts TCP connections at an address. Who is allowed is decided elsewhere, before a byte is read.
package final class StreamListener {
  /// A connection that was accepted; it closes unless a `StreamSocket` is made of it.
  nonisolated package struct Connection: ~Copyable {
    let descriptor: Descriptor
    /// Who connected.
    package let address: IPAddress
  }

  /// Connections that the kernel keeps for the loop's next turn; further ones wait at the other side.
  private static let backlog: Int32 = 16
  /// Accepted in one turn of the loop, so that a thousand at once do not hold up what else there is to do.
  private static let mostPerTurn = 16
  /// After the system had no descriptor or memory for a connection: it stays readable, and the loop would spin.
  private static let pauseWithoutResources = Duration.seconds(1)

  private let loop: EventLoop
  private let descriptor: Descriptor
  private let onConnection: (consuming Connection) -> Void
  private var source: EventSource<IOEvents>?
  private var resumption: LoopTimer?

  /// Listens.
  ///
  /// - Parameters:
  ///   - host: an address in digits; an IPv6 address without brackets. `::` hears IPv4 as well.
  ///   - port: 0 lets the kernel choose.
  ///   - onConnection: takes each connection.
  /// - Throws: code `inUse`, `unreachable` when no interface has the address, or `failed`.
  package init(
    loop: EventLoop, host: String, port: Int, onConnection: @escaping (consuming Connection) -> Void
  ) throws(StreamSocketError) {
    self.loop = loop
    self.onConnection = onConnection
    let name = ListeningAddress.name(host, port)
    do throws(Errno) {
      descriptor = try ListeningAddress.bind(host: host, port: port, type: Int32(SOCK_STREAM.rawValue), isReused: true)
      let rawValue = descriptor.rawValue
      _ = try Errno.retrying { listen(rawValue, StreamListener.backlog) }
    } catch {
      throw StreamSocketError(name, error)
    }
    do {
      resumption = try loop.makeTimer { [unowned self] in source?.resume() }
      source = try loop.addIO(descriptor.rawValue, .readable) { [unowned self] _ in accept() }
    } catch {
      throw StreamSocketError(.failed, "\(name): \(error.message)", cause: error.cause)
    }
  }

  isolated deinit { close() }

  /// The port that it listens at.
  package var port: Int? { ListeningAddress.port(of: descriptor.rawValue) }

  /// Listens no more. Harmless when done twice, and inside its handler.
  package func close() {
    source?.close()
    source = nil
    resumption?.close()
    resumption = nil
  }

  private func accept() {
    for _ in 0..<StreamListener.mostPerTurn {
      // A handler may have closed this.
      guard source != nil else { return }
      let rawValue = fleet_accept(descriptor.rawValue)
      guard rawValue >= 0 else {
        // With any other error the client has gone again, or there is none.
        if [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno) {
          source?.pause()
          resumption?.arm(at: loop.now.boot + StreamListener.pauseWithoutResources)
        }
        return
      }
      let connection = Descriptor(owning: rawValue)
      guard let address = ListeningAddress.peer(of: rawValue) else { continue }
      onConnection(Connection(descriptor: connection, address: address))
    }
  }
}
