// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Reads a receiver on a serial port: opens it as `PortSupervisor` decides, at the speed that `BaudProbe` proposes if none is
/// set, and decodes what comes.
package struct SerialSession {
  /// What happens to the port.
  package enum Input: Equatable, Sendable {
    case start
    /// The port is open. One that is no terminal (a pipe, a file) has no speed.
    case opened(isTerminal: Bool)
    /// It could not be opened; the text says why and what to do.
    case openFailed(String)
    /// It closed by itself: unplugged, or broken.
    case ended(String)
    /// The device does not do the speed that was asked for last.
    case speedRefused
    /// The device file may have come.
    case appeared
    case deadline
  }

  /// What the shell is to do, or to report.
  package enum Effect: Equatable, Sendable {
    /// Open the port, at this number of bits per second.
    case open(baud: Int)
    case setSpeed(baud: Int)
    case close
    case report(SourceReport)
  }

  private let device: String
  private let baud: Int?
  private var supervisor: PortSupervisor
  private var probe: BaudProbe
  private var decoder = NMEADecoder()
  private var sky = SkyNotice()
  /// Messages of u-blox's own protocol since the port was opened, by their first two bytes.
  private var binaryMessages = 0
  private var lastByte: UInt8 = 0
  /// What is said of a receiver that sends something, and no sentence.
  private let useless: PortSupervisor.Complaint
  /// Nil while the port is not open.
  private var isTerminal: Bool?

  /// - Parameters:
  ///   - device: its path, for messages.
  ///   - baud: bits per second; nil to find it out.
  ///   - silenceTimeout: how long an open port may give no whole sentence.
  ///   - probe: how the speed is found out.
  ///   - seed: of the jitter of retries.
  package init(
    device: String, baud: Int?, silenceTimeout: Duration, probe: BaudProbe = BaudProbe(), seed: UInt64
  ) {
    self.device = device
    self.baud = baud
    self.probe = probe
    // The search may take one round, and the first of it may have been cut by the receiver's own start.
    supervisor = PortSupervisor(
      device: device, silenceTimeout: silenceTimeout, patience: baud == nil ? probe.round * 2 : .zero, seed: seed)
    if baud == nil {
      supervisor.useless = PortSupervisor.Complaint(
        "sends bytes but no whole NMEA sentence at any speed", "does the receiver speak NMEA 0183?")
    }
    useless = supervisor.useless
  }

  /// When to hand over `deadline`; nil while only the port can move things on.
  package var nextDeadline: BootInstant? {
    [supervisor.nextDeadline, isProbing ? probe.nextDeadline : nil, decoder.deadline].compactMap(\.self).min()
  }

  /// Takes what happened, and returns what is to be done, in this order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    switch input {
    case .start: return supervise(.start, at: now)
    case .appeared: return supervise(.appeared, at: now)
    case .opened(let isTerminal):
      self.isTerminal = isTerminal
      decoder = NMEADecoder()
      (binaryMessages, lastByte, supervisor.useless) = (0, 0, useless)
      if isProbing { probe.opened(at: now) }
      return supervise(.opened, at: now)
    case .openFailed(let why): return supervise(.openFailed(why), at: now)
    case .ended(let why):
      // The last epoch was received whole, as far as can be known.
      var fixes = [Effect]()
      decoder.finish { fixes.append(.report(.fix($0))) }
      close()
      return fixes + supervise(.ended(why), at: now)
    case .speedRefused: return isProbing ? probe.refused().map { [.setSpeed(baud: $0)] } ?? [] : []
    case .deadline:
      let fixes = expire(at: now)
      return fixes + tryNextSpeed(at: now) + supervise(.deadline, at: now)
    }
  }

  /// Takes what the receiver sent, in any portions.
  package mutating func receive(_ bytes: Span<UInt8>, at now: BootInstant) -> [Effect] {
    guard isTerminal != nil else { return [] }
    noteBinary(bytes)
    let before = decoder.counters.sentences
    var fixes = [Effect]()
    decoder.decode(bytes, at: now) { fixes.append(.report(.fix($0))) }
    var sentences = Int(clamping: decoder.counters.sentences - before)
    if isProbing { sentences = probe.received(sentences: sentences) }
    if !fixes.isEmpty { sky.hasFix(at: now) }
    let notice = sky.satellites(inView: decoder.satellitesInView, at: now).map { [Effect.report($0)] } ?? []
    return supervise(.received(sentences: sentences), at: now) + fixes + notice
  }

  /// Noise of a wrong speed has these two bytes once, by chance.
  private mutating func noteBinary(_ bytes: Span<UInt8>) {
    for index in 0..<bytes.count {
      if lastByte == 0xB5, bytes[index] == 0x62 { binaryMessages += 1 }
      lastByte = bytes[index]
    }
    guard binaryMessages > 1 else { return }
    supervisor.useless = PortSupervisor.Complaint(
      "sends u-blox's binary protocol and no NMEA sentence", "switch NMEA on in the receiver, or let gpsd read it")
  }

  private var isProbing: Bool { baud == nil && isTerminal == true }

  private var name: String {
    if let baud { return "\(device) at \(baud) baud" }
    return isTerminal == true ? "\(device) at \(probe.baud) baud, found by itself" : device
  }

  private mutating func supervise(_ input: PortSupervisor.Input, at now: BootInstant) -> [Effect] {
    supervisor.handle(input, at: now).map { effect in
      switch effect {
      case .open: return .open(baud: baud ?? probe.baud)
      case .close:
        close()
        return .close
      case .reading: return .report(.reading(name))
      case .lost(let why): return .report(.lost(why))
      }
    }
  }

  private mutating func close() {
    isTerminal = nil
    probe.closed()
    decoder = NMEADecoder()
    sky = SkyNotice()
  }

  /// Silence after the last sentence of an epoch ends it.
  private mutating func expire(at now: BootInstant) -> [Effect] {
    var fixes = [Effect]()
    decoder.expire(at: now) { fixes.append(.report(.fix($0))) }
    if !fixes.isEmpty { sky.hasFix(at: now) }
    return fixes
  }

  private mutating func tryNextSpeed(at now: BootInstant) -> [Effect] {
    guard isProbing, let baud = probe.advance(at: now) else { return [] }
    decoder = NMEADecoder()
    return [.setSpeed(baud: baud)]
  }
}
