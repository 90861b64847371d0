// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
package import Positioning
import SerialPort
import SystemCalls
import Timekeeping

/// Reads a receiver on a serial port: opens and configures the port as the session decides, and passes it the received
/// bytes.
package final class SerialSource: SessionSource<SerialSession> {
  private let device: String
  private var port: SerialPort?
  private var watch: PathWatch?

  /// - Parameters:
  ///   - baud: bits per second; nil to detect it.
  ///   - probe: the state of the detection.
  package init(
    loop: EventLoop, device: String, baud: Int?, silenceTimeout: Duration, probe: BaudProbe = BaudProbe(),
    report: @escaping (SourceReport) -> Void
  ) {
    self.device = device
    super.init(
      loop: loop,
      session: SerialSession(
        device: device, baud: baud, silenceTimeout: silenceTimeout, probe: probe, seed: .random(in: .min ... .max)),
      report: report)
  }

  package override func start() {
    super.start()
    guard isRunning else { return }
    watch = PathWatch(loop: loop, path: device) { [weak self] in self?.handle(.appeared) }
  }

  override func release() { watch = nil }

  override func close() { port = nil }

  package override var lineStatistics: LineStatistics? { session.lineStatistics }

  override func perform(_ effect: SerialSession.Effect) {
    switch effect {
    case .open(let baud): open(at: baud)
    case .setSpeed(let baud): setSpeed(baud)
    case .close: close()
    case .pause: port?.pause()
    case .read:
      port?.readNow()
      handle(.drained)
    case .watch: port?.watch()
    case .report(let report): self.report(report)
    }
  }

  private func open(at baud: Int) {
    do {
      let port = try SerialPort(
        loop: loop, path: device, baud: baud,
        onBytes: { [weak self] bytes in
          guard let self else { return }
          run(session.receive(bytes, at: loop.now.boot))
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
