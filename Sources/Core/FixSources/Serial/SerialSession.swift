// SPDX-License-Identifier: Apache-2.0
import NMEA
package import Timekeeping

/// Reads a receiver on a serial port: `PortSupervisor` decides when to open it, `BaudProbe` at which rate if none is
/// configured, and the data is decoded.
///
/// A UART delivers 16 bytes at a time, and a receiver sends a thousand per second. To limit wake-ups, the first bytes
/// of a burst pause the watching of the port, which is then read every 100 ms, on a fast line more often, until a read
/// ends with a complete sentence or returns nothing: then the burst is assumed to be over, and the port is watched
/// again.
package struct SerialSession: ElapsedTimeSession {
  private enum Reading {
    /// Data is passed on when it arrives.
    case watching
    /// The next read is due then.
    case paused(until: BootInstant)
    /// A read is in progress; whether it has returned data.
    case draining(hasBytes: Bool)
  }

  /// The maximum time between reads in a burst.
  private static let longestPeriod = Duration.milliseconds(100)
  /// A read of this many bytes is repeated at once: the kernel buffers 4,095.
  private static let largeRead = 2048

  private let device: String
  private let baud: Int?
  private var reading = Reading.watching
  private var supervisor: PortSupervisor
  private var probe: BaudProbe
  private var decoder = NMEADecoder()
  /// Counters of the line.
  package private(set) var lineStatistics = LineStatistics(.serial)
  private var sky = SatelliteCountReporter()
  /// What the receiver has sent since the port was opened.
  private var protocols = ReceiverProtocolDetector()
  /// Whether data was received since the port was opened.
  private var hasBytes = false
  /// The problem of a receiver that sends data, but no sentences.
  private let useless: PortSupervisor.Problem
  /// Nil while the port is closed.
  private var isTerminal: Bool?

  package var counters: LineStatistics? { lineStatistics }

  /// - Parameters:
  ///   - device: its path, for messages.
  ///   - baud: baud rate; nil to detect it.
  ///   - silenceTimeout: maximum time of an open port without a complete sentence.
  ///   - probe: detects the rate.
  ///   - seed: of the jitter of retries.
  package init(
    device: String, baud: Int?, silenceTimeout: Duration, probe: BaudProbe = BaudProbe(), seed: UInt64
  ) {
    self.device = device
    self.baud = baud
    self.probe = probe
    // The search may need two rounds, if the receiver's start cut off the first one.
    supervisor = PortSupervisor(
      device: device, silenceTimeout: silenceTimeout, firstSentenceTimeout: baud == nil ? probe.round * 2 : .zero,
      seed: seed)
    if baud == nil {
      supervisor.useless = PortSupervisor.Problem(
        "sends bytes but no whole NMEA sentence at any speed", "check that the receiver speaks NMEA 0183")
    }
    useless = supervisor.useless
  }

  /// When to handle `deadline`; nil while waiting for the port only.
  package var nextDeadline: BootInstant? {
    let next: BootInstant? =
      switch reading {
      case .watching: decoder.deadline
      case .paused(let time): time
      case .draining: nil
      }
    return BootInstant.earliest(
      BootInstant.earliest(supervisor.nextDeadline, next), isProbing ? probe.nextDeadline : nil)
  }

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: SourceInput, at now: BootInstant) -> [SourceEffect] {
    switch input {
    case .start: return supervise(.start, at: now)
    case .appeared: return supervise(.appeared, at: now)
    case .opened(let isTerminal):
      self.isTerminal = isTerminal
      (protocols, hasBytes, supervisor.useless) = (ReceiverProtocolDetector(), false, useless)
      if isProbing { probe.opened(at: now) }
      return supervise(.opened, at: now)
    case .openFailed(let why): return supervise(.openFailed(why), at: now)
    case .ended(let why):
      // The last epoch is assumed to be complete.
      var fixes = [SourceEffect]()
      decoder.finish { fixes.append(.report(.fix($0))) }
      close()
      return fixes + supervise(.ended(why), at: now)
    case .drained:
      guard case .draining(let hasBytes) = reading else { return [] }
      guard !hasBytes || !decoder.isInSentence else {
        reading = .paused(until: now + period)
        return []
      }
      // The burst may be over: silence will end the epoch.
      reading = .watching
      return (hasBytes ? [] : expire(at: now)) + [.line(.watch)]
    case .speedRefused: return isProbing ? probe.refused().map { [.line(.setSpeed(baud: $0))] } ?? [] : []
    case .deadline:
      if case .paused(let time) = reading, now >= time {
        reading = .draining(hasBytes: false)
        return [.line(.read)]
      }
      // Silence cannot be detected between two reads.
      let fixes = if case .watching = reading { expire(at: now) } else { [SourceEffect]() }
      return fixes + tryNextSpeed(at: now) + supervise(.deadline, at: now)
    case .left, .endOfInput, .modem: return []
    }
  }

  package mutating func receive(_ bytes: Span<UInt8>, from sender: SourceSender, at now: Moment) -> [SourceEffect] {
    receive(bytes, at: now.boot)
  }

  /// Processes data of the receiver, in chunks of any size.
  package mutating func receive(_ bytes: Span<UInt8>, at now: BootInstant) -> [SourceEffect] {
    guard isTerminal != nil else { return [] }
    let next = pace(bytes.count, at: now)
    noteProtocol(of: bytes)
    hasBytes = hasBytes || bytes.count > 0
    let before = decoder.counters.sentences
    var fixes = [SourceEffect]()
    decoder.decode(bytes, at: now) { fixes.append(.report(.fix($0))) }
    // Data at a rate that is only tried says nothing about the line.
    if !isProbing || decoder.counters.sentences > 0 { lineStatistics.observe(decoder.counters) }
    var sentences = Int(clamping: decoder.counters.sentences - before)
    if isProbing { sentences = probe.received(sentences: sentences) }
    if !fixes.isEmpty { sky.hasFix(at: now) }
    let notice = sky.satellites(inView: decoder.satellitesInView, at: now).map { [SourceEffect.report($0)] } ?? []
    return next + supervise(.received(sentences: sentences), at: now) + fixes + notice
  }

  /// Decides when to read next.
  private mutating func pace(_ count: Int, at now: BootInstant) -> [SourceEffect] {
    switch reading {
    case .watching:
      guard count < SerialSession.largeRead else { return [] }
      reading = .paused(until: now + period)
      return [.line(.pause)]
    case .paused: return []
    case .draining:
      // The data arrived between the last read and this one: the line was active in the meantime.
      decoder.noteActivity(at: now)
      guard count >= SerialSession.largeRead else {
        reading = .draining(hasBytes: true)
        return []
      }
      reading = .watching
      return [.line(.watch)]
    }
  }

  /// A receiver that has sent a sentence speaks NMEA, whatever else it sends.
  private mutating func noteProtocol(of bytes: Span<UInt8>) {
    guard decoder.counters.sentences == 0, protocols.found == nil else { return }
    protocols.read(bytes)
    if let found = protocols.found { supervisor.useless = PortSupervisor.Problem(sending: found) }
  }

  /// Time between reads in a burst: at most half of the kernel's buffer fills up in it, with ten bits per byte.
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

  private mutating func supervise(_ input: PortSupervisor.Input, at now: BootInstant) -> [SourceEffect] {
    supervisor.handle(input, at: now).map { effect in
      switch effect {
      case .open: return .line(.open(baud: baud ?? probe.baud))
      case .close:
        close()
        return .line(.close)
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
    lineStatistics.decoderReplaced()
    sky = SatelliteCountReporter()
  }

  /// Silence after the last sentence ends the epoch.
  private mutating func expire(at now: BootInstant) -> [SourceEffect] {
    var fixes = [SourceEffect]()
    decoder.expire(at: now) { fixes.append(.report(.fix($0))) }
    if !fixes.isEmpty { sky.hasFix(at: now) }
    return fixes
  }

  private mutating func tryNextSpeed(at now: BootInstant) -> [SourceEffect] {
    guard isProbing, let baud = probe.advance(at: now) else { return [] }
    decoder = NMEADecoder()
    lineStatistics.decoderReplaced()
    let report = SourceReport.detecting(
      "\(device) sends bytes, and no NMEA sentence yet at the baud rates tried so far; next \(baud)")
    return [.line(.setSpeed(baud: baud))] + (hasBytes ? [.report(report)] : [])
  }
}
