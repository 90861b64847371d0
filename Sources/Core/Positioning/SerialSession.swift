// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Reads a receiver on a serial port: opens it as `PortSupervisor` decides, at the speed that `BaudProbe` proposes if none is
/// set, and decodes what comes.
///
/// A UART hands over 16 bytes at a time, and a receiver's second has a thousand. So the first bytes of a burst end the watching
/// of the port, and it is read every 100 ms, on a fast line more often, until a read ends with a whole sentence or brings nothing: then the burst is over, as
/// far as is known, and the port is watched again.
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
    /// `read` is done: what had come was handed to `receive`.
    case drained
    case deadline
  }

  /// What the shell is to do, or to report.
  package enum Effect: Equatable, Sendable {
    /// Open the port, at this number of bits per second.
    case open(baud: Int)
    case setSpeed(baud: Int)
    case close
    /// Do not look at the port until `read` or `watch`. One that has just been opened is watched.
    case pause
    /// Hand over whatever has come, at once; `drained` follows.
    case read
    /// Hand over what comes when it comes.
    case watch
    case report(SourceReport)
  }

  private enum Reading {
    /// Bytes are handed over as they come.
    case watching
    /// The next read is due then.
    case paused(until: BootInstant)
    /// A read was asked for, and has brought something or nothing so far.
    case draining(hasBytes: Bool)
  }

  /// The longest time between reads in a burst.
  private static let longestPeriod = Duration.milliseconds(100)
  /// A read that brings this many bytes is followed by the next at once: the kernel keeps 4,095 for a reader.
  private static let largeRead = 2048

  private let device: String
  private let baud: Int?
  private var reading = Reading.watching
  private var supervisor: PortSupervisor
  private var probe: BaudProbe
  private var decoder = NMEADecoder()
  /// What has come over the line.
  package private(set) var health = LineHealth(.serial)
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
    let next: BootInstant? =
      switch reading {
      case .watching: decoder.deadline
      case .paused(let time): time
      case .draining: nil
      }
    return [supervisor.nextDeadline, isProbing ? probe.nextDeadline : nil, next].compactMap(\.self).min()
  }

  /// Takes what happened, and returns what is to be done, in this order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    switch input {
    case .start: return supervise(.start, at: now)
    case .appeared: return supervise(.appeared, at: now)
    case .opened(let isTerminal):
      self.isTerminal = isTerminal
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
    case .drained:
      guard case .draining(let hasBytes) = reading else { return [] }
      guard !hasBytes || !decoder.isInSentence else {
        reading = .paused(until: now + period)
        return []
      }
      // The burst is over, or may be: then silence will tell.
      reading = .watching
      return (hasBytes ? [] : expire(at: now)) + [.watch]
    case .speedRefused: return isProbing ? probe.refused().map { [.setSpeed(baud: $0)] } ?? [] : []
    case .deadline:
      if case .paused(let time) = reading, now >= time {
        reading = .draining(hasBytes: false)
        return [.read]
      }
      // Between two reads a silence cannot be noticed.
      let fixes = if case .watching = reading { expire(at: now) } else { [Effect]() }
      return fixes + tryNextSpeed(at: now) + supervise(.deadline, at: now)
    }
  }

  /// Takes what the receiver sent, in any portions.
  package mutating func receive(_ bytes: Span<UInt8>, at now: BootInstant) -> [Effect] {
    guard isTerminal != nil else { return [] }
    let next = pace(bytes.count, at: now)
    noteBinary(bytes)
    let before = decoder.counters.sentences
    var fixes = [Effect]()
    decoder.decode(bytes, at: now) { fixes.append(.report(.fix($0))) }
    // What comes at a speed that is only tried says nothing about the line.
    if !isProbing || decoder.counters.sentences > 0 { health.observe(decoder.counters) }
    var sentences = Int(clamping: decoder.counters.sentences - before)
    if isProbing { sentences = probe.received(sentences: sentences) }
    if !fixes.isEmpty { sky.hasFix(at: now) }
    let notice = sky.satellites(inView: decoder.satellitesInView, at: now).map { [Effect.report($0)] } ?? []
    return next + supervise(.received(sentences: sentences), at: now) + fixes + notice
  }

  /// When the port is read after this.
  private mutating func pace(_ count: Int, at now: BootInstant) -> [Effect] {
    switch reading {
    case .watching:
      guard count < SerialSession.largeRead else { return [] }
      reading = .paused(until: now + period)
      return [.pause]
    case .paused: return []
    case .draining:
      // They came between the read before and this one: the line was not silent in the meantime.
      decoder.goOn(at: now)
      guard count >= SerialSession.largeRead else {
        reading = .draining(hasBytes: true)
        return []
      }
      reading = .watching
      return [.watch]
    }
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

  /// Time between reads in a burst: no more than half of what the kernel keeps comes in it, ten bits a byte.
  private var period: Duration {
    guard isTerminal == true else { return SerialSession.longestPeriod }
    let bits = Int64(SerialSession.largeRead) * 10
    return min(SerialSession.longestPeriod, .microseconds(bits * 1_000_000 / Int64(max(baud ?? probe.baud, 1))))
  }

  private var isProbing: Bool { baud == nil && isTerminal == true }

  private var name: String {
    if let baud { return "\(device) at \(baud) baud" }
    return isTerminal == true ? "\(device) at \(probe.baud) baud, detected" : device
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
    reading = .watching
    probe.closed()
    decoder = NMEADecoder()
    health.decoderReplaced()
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
    health.decoderReplaced()
    return [.setSpeed(baud: baud)]
  }
}
