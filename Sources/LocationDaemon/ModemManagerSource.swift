// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
import MessageBus
package import Positioning
import SystemCalls
import Timekeeping

/// Reads fixes from the receiver of a modem: makes the session's requests to ModemManager, and passes it the responses.
package final class ModemManagerSource: SessionSource<ModemSession> {
  /// Maximum wait for ModemManager to authorize switching the receiver off: polkit needs this process to exist until
  /// then. The modem then completes it alone.
  private static let releaseLimit = Duration.seconds(1)

  private let bus: String
  private var client: ModemManagerClient?

  /// - Parameters:
  ///   - bus: the address of the bus; nil for the system bus.
  ///   - selection: the modem to use.
  package init(
    loop: EventLoop, bus: String? = nil, selection: ModemSelection, silenceTimeout: Duration,
    report: @escaping (SourceReport) -> Void
  ) {
    self.bus = bus ?? ModemManagerClient.systemBus
    super.init(
      loop: loop,
      session: ModemSession(
        selection: selection, silenceTimeout: silenceTimeout, seed: .random(in: .min ... .max)), report: report)
  }

  override func release() {
    if case .enable(let path, let sources)? = session.release {
      client?.enableAndWait(sources, of: path, timeLimit: ModemManagerSource.releaseLimit)
    }
  }

  override func close() {
    client?.close()
    client = nil
  }

  override func perform(_ effect: ModemSession.Effect) {
    switch effect {
    case .open: connect()
    case .list: client?.list()
    case .enable(let path, let sources): client?.enable(sources, of: path)
    case .locate(let path): client?.locate(path)
    case .report(let report): self.report(report)
    }
  }

  private func connect() {
    do {
      client = try ModemManagerClient(loop: loop, address: bus) { [weak self] input in
        if case .ended = input { self?.close() }
        self?.handle(input)
      }
      handle(.opened)
    } catch {
      handle(.openFailed("ModemManager cannot be reached without the D-Bus system bus: systemctl status dbus"))
    }
  }
}

extension ModemManagerSource {
  convenience init(_ settings: ModemManagerSettings, _ context: FixSources.Context) {
    self.init(
      loop: context.loop, selection: settings.selection, silenceTimeout: context.silenceTimeout, report: context.report)
  }
}
