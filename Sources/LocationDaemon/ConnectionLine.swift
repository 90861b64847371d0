// SPDX-License-Identifier: Apache-2.0
package import EventLoop
package import FixSources
import StreamSocket
import SystemCalls

/// A connection to gpsd or to a sender of NMEA 0183, on this machine or another.
package final class ConnectionLine: SourceLine {
  /// The program at the other end.
  package enum Peer {
    case gpsd
    case sender
  }

  /// Timeout for making a connection.
  private static let connectTimeout = Duration.seconds(10)

  private let loop: EventLoop
  private let lookup: HostLookup
  private let peer: Peer
  private let handlers: LineHandlers
  private var socket: StreamSocket?
  private var isConnected = false

  /// - Parameter host: a name or an address; an IPv6 address without brackets.
  package init(_ peer: Peer, loop: EventLoop, host: String, port: Int, handlers: LineHandlers) {
    self.loop = loop
    self.peer = peer
    lookup = HostLookup(loop: loop, host: host, port: port)
    self.handlers = handlers
  }

  /// Host and port, for messages.
  package var name: String { lookup.name }

  package func perform(_ operation: LineOperation) {
    switch operation {
    case .open: connect()
    case .send(let bytes): socket?.send(bytes)
    case .awaitBytes(let count): socket?.setLowWaterMark(count)
    case .read:
      socket?.readNow()
      handlers.pass(.drained)
    case .close, .end: close()
    case .setBaud, .pause, .watch, .rejoin, .modem: break
    }
  }

  private func connect() {
    socket = StreamSocket(
      loop: loop, lookup: lookup, deadline: ConnectionLine.connectTimeout,
      onConnected: { [weak self] in
        self?.isConnected = true
        self?.handlers.pass(.opened())
      },
      onBytes: { [handlers] in handlers.receive($0, .peer) },
      onEnd: { [weak self] error in
        guard let self else { return }
        let wasConnected = isConnected
        close()
        let message = peer == .gpsd ? "gpsd at \(error.message)" : error.message
        let advice = peer == .gpsd ? ConnectionAdvice.gpsd(error) : ConnectionAdvice.sender(error)
        handlers.pass(wasConnected ? .ended(message) : .openFailed("\(message); \(advice)"))
      })
  }

  private func close() {
    socket?.close()
    socket = nil
    isConnected = false
  }
}
