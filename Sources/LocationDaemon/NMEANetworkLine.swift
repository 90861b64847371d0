// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
package import FixSources
package import StreamSocket
import SystemCalls

/// The connection to a sender of NMEA 0183, or the socket at which senders connect or send datagrams.
package final class NMEANetworkLine: SourceLine {
  /// Where sentences come from.
  package enum Endpoint {
    case connect(host: String, port: Int)
    case listen(host: String, port: Int, connections: Int)
    case datagrams(host: String, port: Int, group: DatagramSocket.Group?)

    /// For the session.
    package var transport: NMEANetworkSession.Transport {
      switch self {
      case .connect: .connection
      case .listen(_, _, let connections): .listener(connections: connections)
      case .datagrams(_, _, let group): .datagrams(isGroup: group != nil)
      }
    }
  }

  /// Timeout for making a connection.
  private static let connectDeadline = Duration.seconds(10)

  private let loop: EventLoop
  private let endpoint: Endpoint
  private let handlers: LineHandlers
  private let lookup: HostLookup?
  private var socket: StreamSocket?
  private var isConnected = false
  private var listener: StreamListener?
  /// The connected senders, by ID.
  private var senders: [Int: StreamSocket] = [:]
  private var datagrams: DatagramSocket?
  /// With how many bytes connections are read.
  private var leastBytes = 1

  package init(loop: EventLoop, endpoint: Endpoint, handlers: LineHandlers) {
    self.loop = loop
    self.endpoint = endpoint
    self.handlers = handlers
    lookup =
      if case .connect(let host, let port) = endpoint { HostLookup(loop: loop, host: host, port: port) } else { nil }
  }

  /// The port on which it listens; nil while it does not listen.
  package var port: Int? { listener?.port ?? datagrams?.port }

  package func perform(_ operation: LineOperation) {
    switch operation {
    case .open: open()
    case .close, .end: close()
    case .rejoin: rejoin()
    case .awaitBytes(let count):
      leastBytes = count
      socket?.setLeastBytes(count)
      for sender in senders.values { sender.setLeastBytes(count) }
    case .pause: datagrams?.pause()
    case .watch: datagrams?.watch()
    case .read:
      socket?.readNow()
      for sender in senders.values { sender.readNow() }
      datagrams?.readNow()
      handlers.pass(.drained)
    case .setSpeed, .send, .modem: break
    }
  }

  // MARK: - Opening

  private func open() {
    do {
      switch endpoint {
      case .connect: return connect()
      case .listen(let host, let port, _):
        listener = try StreamListener(loop: loop, host: host, port: port) { [weak self] connection in
          guard let self else { return }
          accept(connection)
        }
      case .datagrams(let host, let port, let group):
        datagrams = try DatagramSocket(
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

  private func connect() {
    guard let lookup else { return }
    socket = StreamSocket(
      loop: loop, lookup: lookup, deadline: NMEANetworkLine.connectDeadline,
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
          wasConnected ? .ended(error.message) : .openFailed("\(error.message); \(ConnectionAdvice.sender(error))"))
      })
  }

  private func accept(_ connection: consuming StreamListener.Connection) {
    guard let admission = handlers.admit(connection.address) else { return }
    let id = admission.id
    if let replaced = admission.replaced { senders.removeValue(forKey: replaced)?.close() }
    do {
      senders[id] = try StreamSocket(
        loop: loop, connection: connection, onBytes: { [handlers] in handlers.receive($0, .connection(id)) },
        onEnd: { [weak self] _ in
          self?.senders[id] = nil
          self?.handlers.pass(.left(id))
        })
      if leastBytes > 1 { senders[id]?.setLeastBytes(leastBytes) }
    } catch {
      handlers.pass(.left(id))
    }
  }

  private func rejoin() {
    do {
      try datagrams?.rejoin()
    } catch {
      close()
      handlers.pass(.ended(error.message))
    }
  }

  private func close() {
    socket?.close()
    socket = nil
    (isConnected, leastBytes) = (false, 1)
    listener?.close()
    listener = nil
    for sender in senders.values { sender.close() }
    senders = [:]
    datagrams?.close()
    datagrams = nil
  }
}

extension NMEANetworkLine.Endpoint {
  init(_ settings: NMEATCPSettings) {
    if let listen = settings.listen {
      self = .listen(host: listen.host, port: listen.port, connections: settings.connections)
    } else {
      // The settings have either `listen` or `address`.
      self = .connect(host: settings.address?.host ?? "localhost", port: settings.address?.port ?? 10_110)
    }
  }

  init(_ settings: NMEAUDPSettings) {
    let group = settings.group.map { DatagramSocket.Group($0, interface: settings.interface) }
    self = .datagrams(host: settings.listen.host, port: settings.listen.port, group: group)
  }
}
