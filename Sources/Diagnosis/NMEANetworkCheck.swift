// SPDX-License-Identifier: Apache-2.0
import Configuration
import EventLoop
import LocationDaemon
import ExternalInput
import StreamSocket
import SystemCalls
import Timekeeping

/// NMEA 0183 over the network: connects or listens, and checks the sentences like those of a serial receiver.
struct NMEANetworkCheck: Check {
  /// Where sentences come from.
  enum Endpoint {
    case connect(HostAddress)
    case listen(HostAddress, [AddressRange])
    case datagrams(HostAddress, DatagramSocket.Group?, [AddressRange])

    init(_ settings: NMEATCPSettings) {
      if let listen = settings.listen {
        self = .listen(listen, settings.allow)
      } else {
        self = .connect(settings.address ?? HostAddress(host: "localhost", port: 10_110))
      }
    }

    init(_ settings: NMEAUDPSettings) {
      let group = settings.group.map { DatagramSocket.Group($0, interface: settings.interface) }
      self = .datagrams(settings.listen, group, settings.allow)
    }
  }

  private static let connectTimeout = Duration.seconds(10)
  /// Maximum wait for a sender; routers reconnect at intervals.
  private static let waitLimit = Duration.seconds(12)

  let name: String
  let kind: SourceKind
  let endpoint: Endpoint
  let environment: Doctor.Environment

  var subject: Doctor.Subject { .source }
  var title: String { "\(name): NMEA 0183, \(kind.name)" }

  func run(_ report: (Finding) -> Void) {
    // A sender may accept only one client, and that is the daemon.
    guard !environment.isDaemonRunning else {
      return report(.pass("the running daemon reads it; its senders and problems are under Service"))
    }
    let probe = NetworkProbe(environment.loop)
    do {
      switch endpoint {
      case .connect(let address): try connect(address, probe, report)
      case .listen, .datagrams: try listen(probe, report)
      }
    } catch {
      return report(.fail(.checkFailed, "\(error)", "Close other programs, and try again"))
    }
  }

  private func connect(_ address: HostAddress, _ probe: NetworkProbe, _ report: (Finding) -> Void) throws {
    let loop = environment.loop
    let lookup = HostLookup(loop: loop, host: address.host, port: address.port)
    var isConnected = false
    var failure: StreamSocketError?
    let socket = StreamSocket(
      loop: loop, lookup: lookup, deadline: NMEANetworkCheck.connectTimeout, onConnected: { isConnected = true },
      onBytes: { probe.receive($0) }, onEnd: { failure = $0 })
    defer { socket.close() }
    try loop.run(until: loop.now.boot + NMEANetworkCheck.connectTimeout + .seconds(1)) {
      isConnected || failure != nil
    }
    guard isConnected else {
      let error = failure ?? StreamSocketError(.timeout, "\(address): no response")
      return report(.fail(.unreachable, error.message, ConnectionAdvice.sender(error).sentenceCase))
    }
    report(.pass("\(address) accepts connections"))
    try probe.listen { failure != nil }
    guard probe.hasReceived else {
      return report(
        .fail(
          .receiverSilent, failure?.message ?? "it sends nothing",
          "Check the sender's receiver and settings. Some allow one client only: is another connected?"))
    }
    for finding in probe.findings(environment.buildDate) { report(finding) }
  }

  private func listen(_ probe: NetworkProbe, _ report: (Finding) -> Void) throws {
    let loop = environment.loop
    var permitted: [IPAddress] = []
    var notPermitted: [IPAddress] = []
    /// Notes each address once, at most eight permitted and eight others.
    ///
    /// - Returns: whether to read from it: only the first permitted address is read.
    func admit(_ address: IPAddress, _ allow: [AddressRange]) -> Bool {
      let isAllowed = allow.contains { $0.contains(address) }
      if isAllowed {
        if !permitted.contains(address), permitted.count < 8 { permitted.append(address) }
      } else if !notPermitted.contains(address), notPermitted.count < 8 {
        notPermitted.append(address)
      }
      return isAllowed && address == permitted.first
    }
    var connections: [StreamSocket] = []
    var listener: StreamListener?
    var datagrams: DatagramSocket?
    defer {
      for connection in connections { connection.close() }
      listener?.close()
      datagrams?.close()
    }
    do {
      switch endpoint {
      case .connect: return
      case .listen(let address, let allow):
        listener = try StreamListener(loop: loop, host: address.host, port: address.port) { connection in
          guard admit(connection.address, allow), connections.count < 8,
            let socket = try? StreamSocket(
              loop: loop, connection: connection, onBytes: { probe.receive($0) }, onEnd: { _ in })
          else { return }
          connections.append(socket)
        }
      case .datagrams(let address, let group, let allow):
        datagrams = try DatagramSocket(
          loop: loop, host: address.host, port: address.port, group: group,
          onDatagram: { bytes, sender, _ in if admit(sender, allow) { probe.receive(bytes) } }, onEnd: { _ in })
      }
    } catch {
      return report(.fail(.listenFailed, error.message, ConnectionAdvice.listener(error).sentenceCase))
    }
    try probe.wait(NMEANetworkCheck.waitLimit) { !permitted.isEmpty }
    if !permitted.isEmpty { try probe.listen { false } }
    for address in notPermitted {
      report(
        .warn(
          .senderRefused, "\(address) sends, but is not in source.allow",
          "If it is a device of this vehicle, add it to source.allow; otherwise find out which device sends forged positions"
        ))
    }
    guard let first = permitted.first else {
      return report(
        .fail(
          .receiverSilent,
          "nothing received in \(NMEANetworkCheck.waitLimit.wholeSeconds) s from an address in source.allow",
          "Check the sender's settings and the firewall: \(ManualPage.receivers)"))
    }
    report(.pass("\(first) sends" + (permitted.count > 1 ? ", and \(permitted.count - 1) more" : "")))
    for finding in probe.findings(environment.buildDate) { report(finding) }
  }
}

/// Checks sentences from the network like those of a receiver without a serial port.
@MainActor private final class NetworkProbe {
  private let loop: EventLoop
  private var receiver: ReceiverProbe

  init(_ loop: EventLoop) {
    self.loop = loop
    receiver = ReceiverProbe(baud: nil, isTerminal: false, at: loop.now.boot)
  }

  var hasReceived: Bool { receiver.byteCount > 0 }

  func receive(_ bytes: Span<UInt8>) { receiver.receive(bytes, at: loop.now) }

  /// Waits until the condition holds or the timeout elapses.
  func wait(_ time: Duration, until isDone: () -> Bool) throws(EventLoopError) {
    try loop.run(until: loop.now.boot + time, or: isDone)
  }

  /// Receives for the same time as from a serial receiver.
  func listen(until isOver: () -> Bool) throws(EventLoopError) {
    if !hasReceived { receiver = ReceiverProbe(baud: nil, isTerminal: false, at: loop.now.boot) }
    while !receiver.isDone, !isOver() {
      try loop.run(until: receiver.nextDeadline, or: isOver)
      _ = receiver.advance(at: loop.now)
    }
  }

  func findings(_ buildDate: Timestamp) -> [Finding] { receiver.findings(buildDate: buildDate) }
}
