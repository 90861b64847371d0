// SPDX-License-Identifier: Apache-2.0
import Configuration
import EventLoop
import ExternalInput
import Positioning
import StreamSocket
import SystemCalls
import Timekeeping

/// NMEA 0183 from the network: connected to, or listened for, and heard like a receiver on a line.
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

  private static let connectDeadline = Duration.seconds(10)
  /// A router connects again after an interval of its own.
  private static let waitLimit = Duration.seconds(12)

  let name: String
  let kind: SourceKind
  let endpoint: Endpoint
  let surroundings: Doctor.Surroundings

  var title: String { "\(name): NMEA 0183, \(kind.name)" }

  func run(_ report: (Finding) -> Void) {
    // A sender may have a place for one client only, and it is the daemon's.
    guard !surroundings.isDaemonRunning else {
      return report(.pass("the running daemon reads it, and reports under Service who sends and what it receives"))
    }
    let hearing = Hearing(surroundings.loop)
    do {
      switch endpoint {
      case .connect(let address): try connect(address, hearing, report)
      case .listen, .datagrams: try listen(hearing, report)
      }
    } catch {
      return report(.fail("\(error)", "Close other programs, and try again"))
    }
  }

  private func connect(_ address: HostAddress, _ hearing: Hearing, _ report: (Finding) -> Void) throws {
    let loop = surroundings.loop
    let lookup = HostLookup(loop: loop, host: address.host, port: address.port)
    var isConnected = false
    var failure: StreamSocketError?
    let socket = StreamSocket(
      loop: loop, lookup: lookup, deadline: NMEANetworkCheck.connectDeadline, onConnected: { isConnected = true },
      onBytes: { hearing.receive($0) }, onEnd: { failure = $0 })
    defer { socket.close() }
    try loop.turn(until: loop.now.boot + NMEANetworkCheck.connectDeadline + .seconds(1)) {
      isConnected || failure != nil
    }
    guard isConnected else {
      let advice =
        failure?.code == .refused
        ? "Nothing listens there: check the sender's settings, and source.address"
        : "Check source.address, the network and the firewall between"
      return report(.fail(failure?.message ?? "\(address): no answer", advice))
    }
    report(.pass("\(address) takes the connection"))
    try hearing.listen { failure != nil }
    guard hearing.hasHeard else {
      return report(
        .fail(
          failure?.message ?? "it sends nothing",
          "Check the sender's receiver and settings. Some allow one client only: is another connected?"))
    }
    for finding in hearing.findings(surroundings.buildDate) { report(finding) }
  }

  private func listen(_ hearing: Hearing, _ report: (Finding) -> Void) throws {
    let loop = surroundings.loop
    var heard: [IPAddress] = []
    var refused: [IPAddress] = []
    /// Each is named once, and not more than a person reads.
    func note(_ address: IPAddress, _ allow: [AddressRange]) -> Bool {
      let isAllowed = allow.contains { $0.contains(address) }
      if isAllowed {
        if !heard.contains(address), heard.count < 8 { heard.append(address) }
      } else if !refused.contains(address), refused.count < 8 {
        refused.append(address)
      }
      return isAllowed && address == heard.first
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
          guard note(connection.address, allow), connections.count < 8,
            let socket = try? StreamSocket(
              loop: loop, connection: connection, onBytes: { hearing.receive($0) }, onEnd: { _ in })
          else { return }
          connections.append(socket)
        }
      case .datagrams(let address, let group, let allow):
        datagrams = try DatagramSocket(
          loop: loop, host: address.host, port: address.port, group: group,
          onDatagram: { bytes, sender in if note(sender, allow) { hearing.receive(bytes) } }, onEnd: { _ in })
      }
    } catch {
      let advice =
        error.code == .inUse ? "Another program has it: ss -lnp shows which" : "Check source.listen and the interfaces"
      return report(.fail(error.message, advice))
    }
    try hearing.wait(NMEANetworkCheck.waitLimit) { !heard.isEmpty }
    if !heard.isEmpty { try hearing.listen { false } }
    for address in refused {
      report(
        .warn(
          "\(address) sends and is not allowed",
          "If it is the vehicle's own, add it to source.allow; if not, find out what sends forged positions"))
    }
    guard let first = heard.first else {
      return report(
        .fail(
          "nothing came in \(NMEANetworkCheck.waitLimit.wholeSeconds) s from an address in source.allow",
          "Check the sender's settings and the firewall between: docs/receivers.md"))
    }
    report(.pass("\(first) sends" + (heard.count > 1 ? ", and \(heard.count - 1) more" : "")))
    for finding in hearing.findings(surroundings.buildDate) { report(finding) }
  }
}

/// What comes from the network, heard like a receiver that is no serial line.
@MainActor private final class Hearing {
  private let loop: EventLoop
  private var hearing: ReceiverHearing

  init(_ loop: EventLoop) {
    self.loop = loop
    hearing = ReceiverHearing(baud: nil, isTerminal: false, at: loop.now.boot)
  }

  var hasHeard: Bool { hearing.byteCount > 0 }

  func receive(_ bytes: Span<UInt8>) { hearing.receive(bytes, at: loop.now) }

  /// Until it is done, or the time is over.
  func wait(_ time: Duration, until isDone: () -> Bool) throws(EventLoopError) {
    try loop.turn(until: loop.now.boot + time, or: isDone)
  }

  /// As long as a receiver is listened to.
  func listen(until isOver: () -> Bool) throws(EventLoopError) {
    if !hasHeard { hearing = ReceiverHearing(baud: nil, isTerminal: false, at: loop.now.boot) }
    while !hearing.isDone, !isOver() {
      try loop.turn(until: hearing.nextDeadline, or: isOver)
      _ = hearing.advance(at: loop.now)
    }
  }

  func findings(_ buildDate: Timestamp) -> [Finding] { hearing.findings(buildDate: buildDate) }
}
