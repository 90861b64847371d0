// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
import MessageBus
package import Positioning
import SystemCalls
package import Timekeeping

/// Takes fixes from the receiver of a modem: asks ModemManager what the session wants to know, and hands it the answers.
package final class ModemManagerSource: FixSource {
  /// How long the end may wait until the receiver is switched off again. ModemManager asks polkit about this program, which must
  /// be there until then; what the modem takes for it goes on without.
  private static let releaseLimit = Duration.seconds(1)

  private let loop: EventLoop
  private let bus: String
  private let report: (SourceReport) -> Void
  private var session: ModemSession
  private var client: ModemManagerClient?
  private var timer: LoopTimer?

  /// - Parameters:
  ///   - bus: the address of the bus; of the system's without one.
  ///   - selection: which modem is meant.
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
      // A report may end in this source being stopped.
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
      handle(.connectFailed("there is no message bus to reach ModemManager over: systemctl status dbus"))
    }
  }
}

extension ModemManagerSource {
  convenience init(_ settings: ModemManagerSettings, _ context: FixSources.Context) {
    self.init(
      loop: context.loop, selection: settings.selection, silenceTimeout: context.silenceTimeout, report: context.report)
  }
}
