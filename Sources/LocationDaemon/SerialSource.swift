// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
package import Positioning
import SerialPort
import SystemCalls
package import Timekeeping

/// Reads a receiver on a serial port: opens and configures the port as the session decides, and passes it the received
/// bytes.
package final class SerialSource: FixSource {
  private let loop: EventLoop
  private let device: String
  private let report: (SourceReport) -> Void
  private var session: SerialSession
  private var port: SerialPort?
  private var watch: PathWatch?
  private var timer: LoopTimer?

  /// - Parameters:
  ///   - baud: bits per second; nil to detect it.
  ///   - probe: the state of the detection.
  package init(
    loop: EventLoop, device: String, baud: Int?, silenceTimeout: Duration, probe: BaudProbe = BaudProbe(),
    report: @escaping (SourceReport) -> Void
  ) {
    self.loop = loop
    self.device = device
    self.report = report
    session = SerialSession(
      device: device, baud: baud, silenceTimeout: silenceTimeout, probe: probe, seed: .random(in: .min ... .max))
  }

  package func start() {
    do {
      timer = try loop.makeTimer { [unowned self] in handle(.deadline) }
    } catch {
      loop.defer { [report] in report(.lost("\(error)")) }
      return
    }
    watch = PathWatch(loop: loop, path: device) { [weak self] in self?.handle(.appeared) }
    loop.defer { [weak self] in self?.handle(.start) }
  }

  package func stop() {
    timer?.close()
    timer = nil
    watch = nil
    port = nil
  }

  package var nextDeadline: BootInstant? { timer == nil ? nil : session.nextDeadline }

  package var lineStatistics: LineStatistics? { session.lineStatistics }

  private func handle(_ input: SerialSession.Input) {
    perform(session.handle(input, at: loop.now.boot))
  }

  private func perform(_ effects: [SerialSession.Effect]) {
    for effect in effects {
      // A report may lead to stopping this source.
      guard timer != nil else { return }
      switch effect {
      case .open(let baud): open(at: baud)
      case .setSpeed(let baud): setSpeed(baud)
      case .close: port = nil
      case .pause: port?.pause()
      case .read:
        port?.readNow()
        handle(.drained)
      case .watch: port?.watch()
      case .report(let report): self.report(report)
      }
    }
    if let deadline = session.nextDeadline { timer?.arm(at: deadline) } else { timer?.disarm() }
  }

  private func open(at baud: Int) {
    do {
      let port = try SerialPort(
        loop: loop, path: device, baud: baud,
        onBytes: { [weak self] bytes in
          guard let self else { return }
          perform(session.receive(bytes, at: loop.now.boot))
        },
        onEnd: { [weak self] error in
          guard let self else { return }
          self.port = nil
          handle(.ended(error.message))
        })
      self.port = port
      handle(.opened(isTerminal: port.isTerminal))
    } catch {
      handle(.openFailed(error.message))
    }
  }

  private func setSpeed(_ baud: Int) {
    do {
      try port?.setBaud(baud)
    } catch {
      // Other errors end the port, which is reported separately.
      if error.code == .badBaud { handle(.speedRefused) }
    }
  }
}

extension SerialSource {
  convenience init(_ settings: SerialSettings, _ context: FixSources.Context) {
    self.init(
      loop: context.loop, device: settings.device, baud: settings.baud, silenceTimeout: context.silenceTimeout,
      report: context.report)
  }
}
