// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
import MessageBus
package import Positioning
import SystemCalls
package import Timekeeping

/// Reads fixes from the receiver of a modem: makes the session's requests to ModemManager, and passes it the responses.
package final class ModemManagerSource: FixSource {
  /// Maximum wait for ModemManager to authorize switching the receiver off: polkit needs this process to exist until
  /// then. The modem then completes it alone.
  private static let releaseLimit = Duration.seconds(1)

  private let loop: EventLoop
  private let bus: String
  private let report: (SourceReport) -> Void
  private var session: ModemSession
  private var client: ModemManagerClient?
  private var timer: LoopTimer?

  /// - Parameters:
  ///   - bus: the address of the bus; nil for the system bus.
  ///   - selection: the modem to use.
  package init(
    loop: EventLoop, bus: String? = nil, selection: ModemSelection, silenceTimeout: Duration,
    report: @escaping (SourceReport) -> Void
  ) {
    self.loop = loop
    self.bus = bus ?? ModemManagerClient.systemBus
    self.report = report
    session = ModemSession(
      selection: selection, silenceTimeout: silenceTimeout, seed: .random(in: .min ... .max))
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
    if case .enable(let path, let sources)? = session.release {
      client?.enableAndWait(sources, of: path, timeLimit: ModemManagerSource.releaseLimit)
    }
    client?.close()
    client = nil
  }

  package var nextDeadline: BootInstant? { timer == nil ? nil : session.nextDeadline }

  private func handle(_ input: ModemSession.Input) {
    guard timer != nil else { return }
    if case .ended = input {
      client?.close()
      client = nil
    }
    for effect in session.handle(input, at: loop.now.boot) {
      // A report may lead to stopping this source.
      guard timer != nil else { return }
      switch effect {
      case .connect: connect()
      case .list: client?.list()
      case .enable(let path, let sources): client?.enable(sources, of: path)
      case .locate(let path): client?.locate(path)
      case .report(let report): self.report(report)
      }
    }
    if let deadline = session.nextDeadline { timer?.arm(at: deadline) } else { timer?.disarm() }
  }

  private func connect() {
    do {
      client = try ModemManagerClient(loop: loop, address: bus) { [weak self] input in self?.handle(input) }
      handle(.connected)
    } catch {
      handle(.connectFailed("ModemManager cannot be reached without the D-Bus system bus: systemctl status dbus"))
    }
  }
}

extension ModemManagerSource {
  convenience init(_ settings: ModemManagerSettings, _ context: FixSources.Context) {
    self.init(
      loop: context.loop, selection: settings.selection, silenceTimeout: context.silenceTimeout, report: context.report)
  }
}
