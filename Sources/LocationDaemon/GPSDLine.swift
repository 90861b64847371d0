// SPDX-License-Identifier: Apache-2.0
package import EventLoop
package import FixSources
import StreamSocket
import SystemCalls

/// The connection to a gpsd, on this machine or another.
package final class GPSDLine: SourceLine {
  /// Timeout for making a connection.
  private static let connectDeadline = Duration.seconds(10)

  private let loop: EventLoop
  private let lookup: HostLookup
  private let handlers: LineHandlers
  private var socket: StreamSocket?
  private var isConnected = false

  /// - Parameter host: a name or an address; an IPv6 address without brackets.
  package init(loop: EventLoop, host: String, port: Int, handlers: LineHandlers) {
    self.loop = loop
    lookup = HostLookup(loop: loop, host: host, port: port)
    self.handlers = handlers
  }

  /// gpsd's host and port, for messages.
  package var name: String { lookup.name }

  package func perform(_ operation: LineOperation) {
    switch operation {
    case .open: connect()
    case .send(let bytes): socket?.send(bytes)
    case .awaitBytes(let count): socket?.setLeastBytes(count)
    case .read:
      socket?.readNow()
      handlers.pass(.drained)
    case .close, .end: close()
    case .setSpeed, .pause, .watch, .rejoin, .modem: break
    }
  }

  private func connect() {
    socket = StreamSocket(
      loop: loop, lookup: lookup, deadline: GPSDLine.connectDeadline,
      onConnected: { [weak self] in
        self?.isConnected = true
        self?.handlers.pass(.opened())
      },
      onBytes: { [handlers] in handlers.receive($0, .peer) },
      onEnd: { [weak self] error in
        guard let self else { return }
        let wasConnected = isConnected
        close()
        handlers.pass(
          wasConnected
            ? .ended("gpsd at \(error.message)")
            : .openFailed("gpsd at \(error.message); \(ConnectionAdvice.gpsd(error))"))
      })
  }

  private func close() {
    socket?.close()
    socket = nil
    isConnected = false
  }
}
