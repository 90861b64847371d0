// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
package import FixSources
package import StreamSocket
import SystemCalls

/// The socket to which senders of NMEA 0183 connect or send datagrams.
package final class NMEANetworkLine: SourceLine {
  /// Where sentences come from.
  package enum Endpoint {
    case listen(host: String, port: Int, maximumConnections: Int)
    case datagrams(host: String, port: Int, group: DatagramSocket.Group?)

    /// The transport, for the session.
    package var transport: NMEANetworkSession.Transport {
      switch self {
      case .listen(_, _, let connections): .listener(maximumConnections: connections)
      case .datagrams(_, _, let group): .datagrams(isMulticast: group != nil)
      }
    }
  }

  private let loop: EventLoop
  private let endpoint: Endpoint
  private let handlers: LineHandlers
  private var listener: StreamListener?
  /// The connected senders, by ID.
  private var senders: [Int: StreamSocket] = [:]
  private var datagramSocket: DatagramSocket?
  /// SO_RCVLOWAT of the connections: the number of unread bytes at which they become readable.
  private var lowWaterMark = 1

  package init(loop: EventLoop, endpoint: Endpoint, handlers: LineHandlers) {
    self.loop = loop
    self.endpoint = endpoint
    self.handlers = handlers
  }

  /// The port on which the socket listens; nil while it does not listen.
  package var port: Int? { listener?.port ?? datagramSocket?.port }

  package func perform(_ operation: LineOperation) {
    switch operation {
    case .open: open()
    case .close, .end: close()
    case .rejoin: rejoin()
    case .awaitBytes(let count):
      lowWaterMark = count
      for sender in senders.values { sender.setLowWaterMark(count) }
    case .pause: datagramSocket?.pause()
    case .watch: datagramSocket?.watch()
    case .read:
      for sender in senders.values { sender.readNow() }
      datagramSocket?.readNow()
      handlers.pass(.drained)
    case .setBaud, .send, .modem: break
    }
  }

  // MARK: - Opening

  private func open() {
    do {
      switch endpoint {
      case .listen(let host, let port, _):
        listener = try StreamListener(loop: loop, host: host, port: port) { [weak self] connection in
          guard let self else { return }
          accept(connection)
        }
      case .datagrams(let host, let port, let group):
        datagramSocket = try DatagramSocket(
          loop: loop, host: host, port: port, group: group,
          onDatagram: { [handlers] bytes, sender, port in handlers.receive(bytes, .datagram(sender, port: port)) },
          onEnd: { [weak self] error in
            self?.close()
            self?.handlers.pass(.ended(error.message))
          })
      }
      handlers.pass(.opened())
    } catch {
      handlers.pass(.openFailed("\(error.message); \(ConnectionAdvice.listener(error))"))
    }
  }

  private func accept(_ connection: consuming StreamListener.Connection) {
    guard let admission = handlers.admit(connection.address) else { return }
    let id = admission.id
    if let replacedID = admission.replacedID { senders.removeValue(forKey: replacedID)?.close() }
    do {
      senders[id] = try StreamSocket(
        loop: loop, connection: connection, onBytes: { [handlers] in handlers.receive($0, .connection(id)) },
        onEnd: { [weak self] _ in
          self?.senders[id] = nil
          self?.handlers.pass(.senderDisconnected(id))
        })
      if lowWaterMark > 1 { senders[id]?.setLowWaterMark(lowWaterMark) }
    } catch {
      handlers.pass(.senderDisconnected(id))
    }
  }

  private func rejoin() {
    do {
      try datagramSocket?.rejoin()
    } catch {
      close()
      handlers.pass(.ended(error.message))
    }
  }

  private func close() {
    lowWaterMark = 1
    listener?.close()
    listener = nil
    for sender in senders.values { sender.close() }
    senders = [:]
    datagramSocket?.close()
    datagramSocket = nil
  }
}

extension NMEANetworkLine.Endpoint {
  init(_ settings: NMEAUDPSettings) {
    let group = settings.group.map { DatagramSocket.Group($0, interface: settings.interface) }
    self = .datagrams(host: settings.listen.host, port: settings.listen.port, group: group)
  }
}
