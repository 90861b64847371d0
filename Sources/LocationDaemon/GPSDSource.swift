// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
package import Positioning
import StreamSocket
package import Timekeeping
import SystemCalls

/// Reads fixes from a gpsd, on this machine or another: connects as the session decides, and passes it the received
/// bytes.
package final class GPSDSource: FixSource {
  /// Timeout for making a connection.
  private static let connectDeadline = Duration.seconds(10)

  private let loop: EventLoop
  private let lookup: HostLookup
  private let report: (SourceReport) -> Void
  private var session: GPSDSession
  private var socket: StreamSocket?
  private var isConnected = false
  private var timer: LoopTimer?

  /// - Parameters:
  ///   - host: a name or an address; an IPv6 address without brackets.
  ///   - device: the receiver to use, as gpsd names it; nil for the first that reports a fix.
  package init(
    loop: EventLoop, host: String, port: Int, device: String?, silenceTimeout: Duration,
    report: @escaping (SourceReport) -> Void
  ) {
    self.loop = loop
    self.report = report
    lookup = HostLookup(loop: loop, host: host, port: port)
    session = GPSDSession(
      address: lookup.name, device: device, silenceTimeout: silenceTimeout, seed: .random(in: .min ... .max))
  }

  package func start() {
    do {
      timer = try loop.makeTimer { [unowned self] in handle(.deadline) }
    } catch {
      loop.defer { [report] in report(.lost("\(error)")) }
      return
    }
    loop.defer { [weak self] in self?.handle(.start) }
  }

  package func stop() {
    timer?.close()
    timer = nil
    disconnect()
  }

  package var nextDeadline: BootInstant? { timer == nil ? nil : session.nextDeadline }

  private func handle(_ input: GPSDSession.Input) {
    perform(session.handle(input, at: loop.now.boot))
  }

  private func perform(_ effects: [GPSDSession.Effect]) {
    for effect in effects {
      // A report may lead to stopping this source.
      guard timer != nil else { return }
      switch effect {
      case .connect: connect()
      case .send(let bytes): socket?.send(bytes)
      case .close: disconnect()
      case .report(let report): self.report(report)
      }
    }
    if let deadline = session.nextDeadline { timer?.arm(at: deadline) } else { timer?.disarm() }
  }

  private func connect() {
    socket = StreamSocket(
      loop: loop, lookup: lookup, deadline: GPSDSource.connectDeadline,
      onConnected: { [weak self] in
        guard let self else { return }
        isConnected = true
        handle(.connected)
      },
      onBytes: { [weak self] bytes in
        guard let self else { return }
        perform(session.receive(bytes, at: loop.now.boot))
      },
      onEnd: { [weak self] error in
        guard let self else { return }
        let wasConnected = isConnected
        disconnect()
        handle(
          wasConnected
            ? .ended("gpsd at \(error.message)")
            : .connectFailed("gpsd at \(error.message); \(ConnectionAdvice.gpsd(error))"))
      })
  }

  private func disconnect() {
    socket?.close()
    socket = nil
    isConnected = false
  }
}

extension GPSDSource {
  convenience init(_ settings: GPSDSettings, _ context: FixSources.Context) {
    self.init(
      loop: context.loop, host: settings.address.host, port: settings.address.port, device: settings.device,
      silenceTimeout: context.silenceTimeout, report: context.report)
  }
}
