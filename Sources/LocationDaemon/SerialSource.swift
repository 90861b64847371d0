// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
package import Positioning
import SerialPort
package import Timekeeping
import SystemCalls

/// Reads a receiver on a serial port: opens it as the supervisor decides, at the speed that the probe proposes if none is
/// set, and decodes what comes.
package final class SerialSource: FixSource {
  private let loop: EventLoop
  private let device: String
  private let baud: Int?
  private let report: (SourceReport) -> Void
  private var supervisor: PortSupervisor
  private var probe: BaudProbe
  private var decoder = NMEADecoder()
  private var port: SerialPort?
  private var watch: DeviceWatch?
  private var supervisorTimer: LoopTimer?
  private var epochTimer: LoopTimer?
  private var probeTimer: LoopTimer?

  /// - Parameters:
  ///   - baud: bits per second; nil to find it out.
  ///   - probe: how it is found out.
  package init(
    loop: EventLoop, device: String, baud: Int?, silenceTimeout: Duration, probe: BaudProbe = BaudProbe(),
    report: @escaping (SourceReport) -> Void
  ) {
    self.loop = loop
    self.device = device
    self.baud = baud
    self.report = report
    self.probe = probe
    // The search may take one round, and the first of it may have been cut by the receiver's own start.
    supervisor = PortSupervisor(
      device: device, silenceTimeout: silenceTimeout, patience: baud == nil ? probe.round * 2 : .zero,
      seed: .random(in: .min ... .max))
    if baud == nil {
      supervisor.useless = PortSupervisor.Complaint(
        "sends bytes but no whole NMEA sentence at any speed", "does the receiver speak NMEA 0183?")
    }
  }

  package func start() {
    do {
      supervisorTimer = try loop.makeTimer { [unowned self] in handle(.deadline) }
      epochTimer = try loop.makeTimer { [unowned self] in endEpoch() }
      if baud == nil { probeTimer = try loop.makeTimer { [unowned self] in tryNextSpeed() } }
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
    probeTimer?.close()
    supervisorTimer = nil
    epochTimer = nil
    probeTimer = nil
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
      case .close: close()
      case .reading: report(.reading(name))
      case .lost(let why): report(.lost(why))
      }
    }
    if let deadline = supervisor.nextDeadline { supervisorTimer.arm(at: deadline) } else { supervisorTimer.disarm() }
  }

  private var name: String {
    if let baud { return "\(device) at \(baud) baud" }
    return port?.isTerminal == false ? device : "\(device) at \(probe.baud) baud, found by itself"
  }

  private func open() {
    do {
      let port = try SerialPort(
        loop: loop, path: device, baud: baud ?? probe.baud,
        onBytes: { [unowned self] in decode($0) },
        onEnd: { [unowned self] error in
          close()
          handle(.ended(error.message))
        })
      self.port = port
      decoder = NMEADecoder()
      if port.isTerminal { probe.opened(at: loop.now.boot) }
      armProbe()
      handle(.opened)
    } catch {
      handle(.openFailed(error.message))
    }
  }

  private func close() {
    port = nil
    probe.closed()
    armProbe()
  }

  // MARK: - The speed

  private func tryNextSpeed() {
    var next = probe.advance(at: loop.now.boot)
    if next != nil { decoder = NMEADecoder() }
    while let speed = next {
      do {
        try port?.setBaud(speed)
        next = nil
      } catch {
        next = error.code == .badBaud ? probe.refused() : nil
      }
    }
    armProbe()
  }

  private func armProbe() {
    guard baud == nil else { return }
    if let deadline = probe.nextDeadline { probeTimer?.arm(at: deadline) } else { probeTimer?.disarm() }
  }

  // MARK: - Sentences

  private func decode(_ bytes: Span<UInt8>) {
    let before = decoder.counters.sentences
    var fixes = [Fix]()
    decoder.decode(bytes, at: loop.now.boot) { fixes.append($0) }
    var sentences = Int(clamping: decoder.counters.sentences - before)
    if baud == nil, port?.isTerminal == true {
      sentences = probe.received(sentences: sentences)
      armProbe()
    }
    handle(.received(sentences: sentences))
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

extension SerialSource {
  convenience init(_ settings: SerialSettings, _ context: FixSources.Context) {
    self.init(
      loop: context.loop, device: settings.device, baud: settings.baud, silenceTimeout: context.silenceTimeout,
      report: context.report)
  }
}
