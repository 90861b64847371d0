// SPDX-License-Identifier: Apache-2.0
package import EventLoop
import Positioning
import SerialPort
package import Timekeeping

/// Reads a receiver on a serial port: opens it as the supervisor decides, and decodes what comes.
package final class SerialSource: FixSource {
  private let loop: EventLoop
  private let device: String
  private let baud: Int
  private let report: (SourceReport) -> Void
  private var supervisor: PortSupervisor
  private var decoder = NMEADecoder()
  private var port: SerialPort?
  private var watch: DeviceWatch?
  private var supervisorTimer: LoopTimer?
  private var epochTimer: LoopTimer?

  package init(
    loop: EventLoop, device: String, baud: Int, silenceTimeout: Duration, report: @escaping (SourceReport) -> Void
  ) {
    self.loop = loop
    self.device = device
    self.baud = baud
    self.report = report
    supervisor = PortSupervisor(device: device, silenceTimeout: silenceTimeout)
  }

  package func start() {
    do {
      supervisorTimer = try loop.makeTimer { [unowned self] in handle(.deadline) }
      epochTimer = try loop.makeTimer { [unowned self] in endEpoch() }
    } catch {
      loop.defer { [report] in report(.lost("\(error)")) }
      return
    }
    watch = DeviceWatch(loop: loop, path: device) { [unowned self] in handle(.appeared) }
    loop.defer { [weak self] in self?.handle(.start) }
  }

  package func stop() {
    supervisorTimer?.close()
    epochTimer?.close()
    supervisorTimer = nil
    epochTimer = nil
    watch = nil
    port = nil
  }

  package func settled() {}

  package func isProgressing(at now: BootInstant) -> Bool {
    guard let deadline = supervisor.nextDeadline else { return true }
    return now - deadline < .seconds(30)
  }

  // MARK: - The port

  private func handle(_ input: PortSupervisor.Input) {
    guard let supervisorTimer else { return }
    for effect in supervisor.handle(input, at: loop.now.boot) {
      switch effect {
      case .open: open()
      case .close: port = nil
      case .reading: report(.reading("\(device) at \(baud) baud"))
      case .lost(let why): report(.lost(why))
      }
    }
    if let deadline = supervisor.nextDeadline { supervisorTimer.arm(at: deadline) } else { supervisorTimer.disarm() }
  }

  private func open() {
    do {
      port = try SerialPort(
        loop: loop, path: device, baud: baud,
        onBytes: { [unowned self] in decode($0) },
        onEnd: { [unowned self] error in
          port = nil
          handle(.ended(error.message))
        })
      decoder = NMEADecoder()
      handle(.opened)
    } catch {
      handle(.openFailed(error.message))
    }
  }

  // MARK: - Sentences

  private func decode(_ bytes: Span<UInt8>) {
    let before = decoder.counters.sentences
    var fixes = [Fix]()
    decoder.decode(bytes, at: loop.now.boot) { fixes.append($0) }
    handle(.received(sentences: Int(clamping: decoder.counters.sentences - before)))
    deliver(fixes)
  }

  private func endEpoch() {
    var fixes = [Fix]()
    decoder.expire(at: loop.now.boot) { fixes.append($0) }
    deliver(fixes)
  }

  private func deliver(_ fixes: [Fix]) {
    if let deadline = decoder.deadline { epochTimer?.arm(at: deadline) } else { epochTimer?.disarm() }
    for fix in fixes { report(.fix(fix)) }
  }
}
