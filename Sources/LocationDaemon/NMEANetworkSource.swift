// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
package import ExternalInput
package import Positioning
package import StreamSocket
import SystemCalls
import Timekeeping

/// Reads NMEA 0183 from the network: connects, listens and joins as the session decides, and passes it the received
/// bytes.
package final class NMEANetworkSource: SessionSource<NMEANetworkSession> {
  /// Where sentences come from.
  package enum Endpoint {
    case connect(host: String, port: Int)
    case listen(host: String, port: Int, connections: Int)
    case datagrams(host: String, port: Int, group: DatagramSocket.Group?)
  }

  /// Timeout for making a connection.
  private static let connectDeadline = Duration.seconds(10)

  private let endpoint: Endpoint
  private let lookup: HostLookup?
  private var socket: StreamSocket?
  private var isConnected = false
  private var listener: StreamListener?
  /// The connected senders, by ID.
  private var senders: [Int: StreamSocket] = [:]
  private var datagrams: DatagramSocket?

  /// - Parameters:
  ///   - name: of the address, for messages.
  ///   - allow: the permitted senders; ignored if this program connects.
  package init(
    loop: EventLoop, name: String, endpoint: Endpoint, allow: [AddressRange], silenceTimeout: Duration,
    report: @escaping (SourceReport) -> Void
  ) {
    self.endpoint = endpoint
    let transport: NMEANetworkSession.Transport
    var lookup: HostLookup?
    switch endpoint {
    case .connect(let host, let port):
      lookup = HostLookup(loop: loop, host: host, port: port)
      transport = .connection
    case .listen(_, _, let connections): transport = .listener(connections: connections)
    case .datagrams(_, _, let group): transport = .datagrams(isGroup: group != nil)
    }
    self.lookup = lookup
    super.init(
      loop: loop,
      session: NMEANetworkSession(
        name: name, transport: transport, allow: allow, silenceTimeout: silenceTimeout,
        seed: .random(in: .min ... .max)), report: report)
  }

  package override var lineStatistics: LineStatistics? { session.lineStatistics }

  /// The port on which it listens; nil while it does not listen.
  package var port: Int? { listener?.port ?? datagrams?.port }

  override func perform(_ effect: NMEANetworkSession.Effect) {
    switch effect {
    case .open: open()
    case .close: close()
    case .rejoin: rejoin()
    case .report(let report): self.report(report)
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
          onDatagram: { [weak self] bytes, sender, port in
            guard let self else { return }
            run(session.receive(datagram: bytes, from: sender, port: port, at: loop.now.boot))
          },
          onEnd: { [weak self] error in
            self?.close()
            self?.handle(.ended(error.message))
          })
      }
      handle(.opened)
    } catch {
      handle(.openFailed("\(error.message); \(ConnectionAdvice.listener(error))"))
    }
  }

  private func connect() {
    guard let lookup else { return }
    socket = StreamSocket(
      loop: loop, lookup: lookup, deadline: NMEANetworkSource.connectDeadline,
      onConnected: { [weak self] in
        self?.isConnected = true
        self?.handle(.opened)
      },
      onBytes: { [weak self] bytes in
        guard let self else { return }
        run(session.receive(bytes, at: loop.now.boot))
      },
      onEnd: { [weak self] error in
        guard let self else { return }
        let wasConnected = isConnected
        close()
        handle(
          wasConnected ? .ended(error.message) : .openFailed("\(error.message); \(ConnectionAdvice.sender(error))"))
      })
  }

  private func accept(_ connection: consuming StreamListener.Connection) {
    guard let admission = session.admit(connection.address, at: loop.now.boot) else { return }
    let id = admission.id
    if let replaced = admission.replaced { senders.removeValue(forKey: replaced)?.close() }
    do {
      senders[id] = try StreamSocket(
        loop: loop, connection: connection,
        onBytes: { [weak self] bytes in
          guard let self else { return }
          run(session.receive(bytes, from: id, at: loop.now.boot))
        },
        onEnd: { [weak self] _ in
          self?.senders[id] = nil
          self?.handle(.left(id))
        })
      arm()
    } catch {
      handle(.left(id))
    }
  }

  private func rejoin() {
    do {
      try datagrams?.rejoin()
    } catch {
      close()
      handle(.ended(error.message))
    }
  }

  override func close() {
    socket?.close()
    socket = nil
    isConnected = false
    listener?.close()
    listener = nil
    for sender in senders.values { sender.close() }
    senders = [:]
    datagrams?.close()
    datagrams = nil
  }
}

extension NMEANetworkSource {
  convenience init(_ settings: NMEATCPSettings, _ context: FixSources.Context) {
    let endpoint: Endpoint
    if let listen = settings.listen {
      endpoint = .listen(host: listen.host, port: listen.port, connections: settings.connections)
    } else {
      // The settings have either `listen` or `address`.
      endpoint = .connect(host: settings.address?.host ?? "localhost", port: settings.address?.port ?? 10_110)
    }
    self.init(
      loop: context.loop, name: SourceKind.nmeaTCP(settings).name, endpoint: endpoint, allow: settings.allow,
      silenceTimeout: context.silenceTimeout, report: context.report)
  }

  convenience init(_ settings: NMEAUDPSettings, _ context: FixSources.Context) {
    let group = settings.group.map { DatagramSocket.Group($0, interface: settings.interface) }
    self.init(
      loop: context.loop, name: SourceKind.nmeaUDP(settings).name,
      endpoint: .datagrams(host: settings.listen.host, port: settings.listen.port, group: group), allow: settings.allow,
      silenceTimeout: context.silenceTimeout, report: context.report)
  }
}
