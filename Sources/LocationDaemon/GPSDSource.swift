// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
package import Positioning
import StreamSocket
import Timekeeping
import SystemCalls

/// Reads fixes from a gpsd, on this machine or another: connects as the session decides, and passes it the received
/// bytes.
package final class GPSDSource: SessionSource<GPSDSession> {
  /// Timeout for making a connection.
  private static let connectDeadline = Duration.seconds(10)

  private let lookup: HostLookup
  private var socket: StreamSocket?
  private var isConnected = false

  /// - Parameters:
  ///   - host: a name or an address; an IPv6 address without brackets.
  ///   - device: the receiver to use, as gpsd names it; nil for the first that reports a fix.
  package init(
    loop: EventLoop, host: String, port: Int, device: String?, silenceTimeout: Duration,
    report: @escaping (SourceReport) -> Void
  ) {
    lookup = HostLookup(loop: loop, host: host, port: port)
    super.init(
      loop: loop,
      session: GPSDSession(
        address: lookup.name, device: device, silenceTimeout: silenceTimeout, seed: .random(in: .min ... .max)),
      report: report)
  }

  override func perform(_ effect: GPSDSession.Effect) {
    switch effect {
    case .open: connect()
    case .send(let bytes): socket?.send(bytes)
    case .close: close()
    case .report(let report): self.report(report)
    }
  }

  private func connect() {
    socket = StreamSocket(
      loop: loop, lookup: lookup, deadline: GPSDSource.connectDeadline,
      onConnected: { [weak self] in
        guard let self else { return }
        isConnected = true
        handle(.opened)
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
          wasConnected
            ? .ended("gpsd at \(error.message)")
            : .openFailed("gpsd at \(error.message); \(ConnectionAdvice.gpsd(error))"))
      })
  }

  override func close() {
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
