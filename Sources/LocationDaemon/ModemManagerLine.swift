// SPDX-License-Identifier: Apache-2.0
package import EventLoop
import MessageBus
package import FixSources

/// The connection to ModemManager: makes the session's requests, and passes on the responses.
package final class ModemManagerLine: SourceLine {
  /// Maximum wait for ModemManager to authorize switching the receiver off: polkit needs this process to exist until
  /// then. After that, ModemManager completes it alone.
  private static let releaseTimeout = Duration.seconds(1)

  private let loop: EventLoop
  private let bus: String
  private let handlers: LineHandlers
  private var client: ModemManagerClient?

  /// - Parameter bus: the address of the bus; nil for the system bus.
  package init(loop: EventLoop, bus: String? = nil, handlers: LineHandlers) {
    self.loop = loop
    self.bus = bus ?? ModemManagerClient.systemBus
    self.handlers = handlers
  }

  package func perform(_ operation: LineOperation) {
    switch operation {
    case .open: connect()
    case .modem(.list): client?.list()
    case .modem(.enable(let path, let sources)): client?.enable(sources, of: path)
    case .modem(.locate(let path)): client?.locate(path)
    case .end(let request):
      if case .enable(let path, let sources)? = request {
        client?.enableAndWait(sources, of: path, timeLimit: ModemManagerLine.releaseTimeout)
      }
      close()
    case .close: close()
    case .setBaud, .pause, .read, .watch, .awaitBytes, .send, .rejoin: break
    }
  }

  private func close() {
    client?.close()
    client = nil
  }

  private func connect() {
    do {
      client = try ModemManagerClient(loop: loop, address: bus) { [weak self] input in
        if case .ended = input { self?.close() }
        self?.handlers.pass(.modem(input))
      }
      handlers.pass(.opened())
    } catch {
      handlers.pass(.openFailed("ModemManager cannot be reached without the D-Bus system bus: systemctl status dbus"))
    }
  }
}
