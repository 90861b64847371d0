// SPDX-License-Identifier: Apache-2.0
import NMEA
import Positioning
package import Timekeeping

/// Reads a receiver on a serial port and decodes its data. `PortSupervisor` decides when to open the port, and
/// `BaudProbe` at which baud rate if none is configured.
///
/// A UART delivers 16 bytes at a time, and a receiver sends a thousand per second. To limit wake-ups, the first bytes
/// of a burst pause the watching of the port, which is then read every 100 ms (more often on a fast line) until a read
/// ends with a complete sentence or returns nothing. Then the burst is assumed to be over, and the port is watched
/// again. Once `BurstForecast` predicts when the receiver's next fix is complete, the port is not watched until then,
/// and is read once for each burst. While no fix is needed, the port is only emptied now and then.
package struct SerialSession: ElapsedTimeSession {
  private enum Reading {
    /// Data is passed on when it arrives.
    case watching
    /// Nothing is read until this time. `isForecast`: the time is a prediction of the next fix.
    case paused(until: BootInstant, isForecast: Bool = false)
    /// A read is in progress. `hasBytes`: it has returned data.
    case draining(hasBytes: Bool = false, isForecast: Bool)
  }

  /// The maximum time between reads in a burst.
  private static let maximumReadPeriod = Duration.milliseconds(100)
  /// The time until the first read after a predicted read that came too early. It doubles with each further read.
  private static let minimumPause = Duration.milliseconds(2)
  /// How often the port is emptied while no fix is needed, so that it neither overflows nor stays open when it is
  /// silent.
  private static let drainPeriod = Duration.seconds(20)
  /// More reads than are needed to empty the kernel's buffers, which hold 640 kB with some drivers.
  private static let maximumRepeats = 256
  /// A read of this many bytes is repeated at once: the kernel buffers 4,095.
  private static let largeRead = 2048

  private let device: String
  private let baud: Int?
  private var reading = Reading.watching
  private var forecast = BurstForecast()
  /// The newest fix that was complete when its last sentence was read, until the next read is planned.
  private var newestFix: Fix?
  /// The burst that is being read, if the port was watched when it began: when its first bytes were read, and the
  /// number of bytes since.
  private var burst: (start: BootInstant, bytes: Int)?
  /// When the newest fix was complete, as far as that is known.
  private var completedAt = BootInstant.boot
  /// The number of bytes since the end of the last fix, and between the ends of the last two fixes.
  private var bytesSinceFix = 0
  private var bytesPerFix = 0
  /// The number of reads of this burst after a predicted read that came too early.
  private var earlyReads = 0
  /// Whether a read shortly before the predicted read has returned data.
  private var isInBurst = false
  private var isNeeded = true
  /// Whether data is read and discarded, because it arrived while no fix was needed.
  private var isDiscarding = false
  /// How often the port has been read again while it is being emptied.
  private var repeats = 0
  private var staleFixFilter = StaleFixFilter()
  private var supervisor: PortSupervisor
  private var probe: BaudProbe
  private var decoder = NMEADecoder()
  /// Counters of the line.
  package private(set) var lineStatistics = LineStatistics(.serial)
  private var sky = SatelliteCountReporter()
  /// Recognizes the protocol of what the receiver has sent since the port was opened.
  private var protocolDetector = ReceiverProtocolDetector()
  /// Whether data was received since the port was opened.
  private var hasBytes = false
  /// The problem of a receiver that sends data, but no sentences.
  private let noSentences: PortSupervisor.Problem
  /// Nil while the port is closed.
  private var isTerminal: Bool?

  package var counters: LineStatistics? { lineStatistics }

  package var isPausable: Bool { true }

  /// - Parameters:
  ///   - device: its path, for messages.
  ///   - baud: baud rate; nil to detect it.
  ///   - silenceTimeout: maximum time without a complete sentence while the port is open.
  ///   - probe: detects the rate.
  ///   - seed: for the jitter of retries.
  package init(
    device: String, baud: Int?, silenceTimeout: Duration, probe: BaudProbe = BaudProbe(), seed: UInt64
  ) {
    self.device = device
    self.baud = baud
    self.probe = probe
    // Detection may need two rounds if the receiver started during the first one.
    supervisor = PortSupervisor(
      device: device, silenceTimeout: silenceTimeout,
      firstSentenceTimeout: baud == nil ? probe.roundDuration * 2 : .zero,
      seed: seed)
    if baud == nil {
      supervisor.noSentences = PortSupervisor.Problem(
        "sends bytes but no complete NMEA sentence at any baud rate", "check that the receiver speaks NMEA 0183")
    }
    noSentences = supervisor.noSentences
  }

  /// When to handle `deadline`; nil while waiting only for the port.
  package var nextDeadline: BootInstant? {
    if isDiscarding { return if case .paused(let time, _) = reading { time } else { nil } }
    let next: BootInstant? =
      switch reading {
      case .watching: decoder.deadline
      case .paused(let time, _): time
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
    case .resumed: return supervise(.resumed(), at: now)
    case .opened(let isTerminal):
      self.isTerminal = isTerminal
      (protocolDetector, hasBytes, supervisor.noSentences) = (ReceiverProtocolDetector(), false, noSentences)
      if isProbing { probe.opened(at: now) }
      return supervise(.opened, at: now)
    case .openFailed(let why): return supervise(.openFailed(why), at: now)
    case .ended(let why):
      // The last epoch is assumed to be complete.
      var fixes = [Fix]()
      decoder.finish { fixes.append($0) }
      let reports = isDiscarding ? [] : reports(of: fixes, at: now)
      close()
      return reports + supervise(.ended(why), at: now)
    case .needed(let isNeeded): return setNeeded(isNeeded, at: now)
    case .drained where isDiscarding: return discarded(at: now)
    case .drained:
      guard case .draining(let hasBytes, let isForecast) = reading else { return [] }
      if awaitNextFix() { return [] }
      if isForecast {
        if let next = forecast.missed() {
          isInBurst = hasBytes
          reading = .paused(until: next, isForecast: true)
          return []
        }
        earlyReads = 0
      } else if !hasBytes {
        // The burst is over, and the predicted fix was not in it.
        forecast.reset()
      }
      // Without any bytes, the burst has not begun.
      guard !hasBytes || !decoder.isInSentence && !forecast.isMissed else {
        reading = .paused(until: now + nextPause())
        return []
      }
      // The burst may be over: silence will end the epoch.
      reading = .watching
      return (hasBytes ? [] : expire(at: now)) + [.line(.watch)]
    case .baudRefused: return isProbing ? probe.refused().map { [.line(.setBaud(baud: $0))] } ?? [] : []
    case .deadline:
      if case .paused(let time, let isForecast) = reading, now >= time {
        (reading, repeats) = (.draining(isForecast: isForecast), 0)
        return [.line(.read)]
      }
      // Silence cannot be detected between two reads.
      let fixes = if case .watching = reading { expire(at: now) } else { [SourceEffect]() }
      return fixes + tryNextRate(at: now) + supervise(.deadline, at: now)
    case .senderDisconnected, .endOfInput, .modem: return []
    }
  }

  package mutating func receive(_ bytes: Span<UInt8>, from sender: SourceSender, at now: Moment) -> [SourceEffect] {
    receive(bytes, at: now.boot)
  }

  /// Processes data of the receiver, in chunks of any size.
  package mutating func receive(_ bytes: Span<UInt8>, at now: BootInstant) -> [SourceEffect] {
    guard isTerminal != nil else { return [] }
    if isDiscarding { return discard(bytes, at: now) }
    let next = scheduleRead(bytes.count, at: now)
    noteProtocol(of: bytes)
    hasBytes = hasBytes || bytes.count > 0
    let before = decoder.counters.sentences
    var fixes = [Fix]()
    decoder.decode(bytes, at: now) { fixes.append($0) }
    // Several fixes in one read share a burst, or were read too late: neither allows a prediction.
    if fixes.count > 1 { forecast.reset() }
    recordRead(bytes.count, fixes.count == 1 ? fixes.first : nil, at: now)
    // Data at a rate that is only being tried says nothing about the quality of the line.
    if !isProbing || decoder.counters.sentences > 0 { lineStatistics.observe(decoder.counters) }
    var sentences = Int(clamping: decoder.counters.sentences - before)
    if isProbing { sentences = probe.received(sentences: sentences) }
    if !fixes.isEmpty { sky.noteFix(at: now) }
    let notice = sky.report(inView: decoder.satellitesInView, at: now).map { [SourceEffect.report($0)] } ?? []
    return next + supervise(.received(sentences: sentences), at: now) + reports(of: fixes, at: now) + notice
      + leaveUnread(at: now)
  }

  /// Reports of these fixes, except those that the receiver made while the port was left unread.
  private mutating func reports(of fixes: [Fix], at now: BootInstant) -> [SourceEffect] {
    fixes.filter { staleFixFilter.admit($0, at: now) }.map { .report(.fix($0)) }
  }

  /// Decides when to read next.
  private mutating func scheduleRead(_ count: Int, at now: BootInstant) -> [SourceEffect] {
    switch reading {
    case .watching:
      (burst, newestFix) = (nil, nil)
      guard count < SerialSession.largeRead else { return [] }
      burst = (now, -count)
      reading = .paused(until: now + nextPause(after: count))
      return [.line(.pause)]
    case .paused: return []
    case .draining(_, let isForecast):
      // The data arrived between the previous read and this one, so the line was active. Before a predicted read it was
      // silent.
      if !isForecast || isInBurst { decoder.noteActivity(at: now) }
      if isForecast { (burst, isInBurst) = (nil, false) }
      guard count >= SerialSession.largeRead else {
        reading = .draining(hasBytes: true, isForecast: isForecast)
        return []
      }
      reading = .watching
      return [.line(.watch)]
    }
  }

  /// Time until the next read in a burst. After a predicted read that came too early, the rest of the burst is assumed
  /// to be as long as that of the previous one.
  ///
  /// - Parameter count: bytes that were just read, and are not counted yet.
  private mutating func nextPause(after count: Int = 0) -> Duration {
    guard forecast.isMissed else { return readPeriod }
    let shortest = SerialSession.minimumPause * (1 << min(earlyReads, 6))
    earlyReads += 1
    // A UART may deliver the last bytes a few byte times late.
    let rest = duration(of: bytesPerFix - bytesSinceFix - count + 8)
    return min(max(rest, shortest), readPeriod)
  }

  /// Records what was read, with the newest fix in it.
  private mutating func recordRead(_ count: Int, _ fix: Fix?, at now: BootInstant) {
    burst?.bytes += count
    bytesSinceFix += count
    // If a position is pending, this fix was completed only by the beginning of the next burst.
    guard let fix, decoder.deadline == nil else { return }
    newestFix = fix
    let later = decoder.bytesAfterFix
    // A UART delivers 16 bytes at a time.
    completedAt = burst.map { min(now, $0.start + duration(of: $0.bytes - later + 16)) } ?? now
    (bytesPerFix, bytesSinceFix) = (bytesSinceFix - later, later)
    // The first read of the burst already contained the fix: a prediction could only be later.
    guard case .paused = reading else { return }
    self.newestFix = nil
    forecast.reset()
  }

  /// Leaves the port, which is paused, unread until the predicted time of the next fix.
  ///
  /// - Returns: false if there is no new fix, or no prediction.
  private mutating func awaitNextFix() -> Bool {
    guard let fix = newestFix else { return false }
    newestFix = nil
    guard bytesPerFix < SerialSession.largeRead, let next = forecast.found(fix, completedAt: completedAt) else {
      return false
    }
    reading = .paused(until: next, isForecast: true)
    return true
  }

  /// The time that this many bytes take on the line, with ten bits each.
  private func duration(of bytes: Int) -> Duration {
    .microseconds(Int64(max(bytes, 0)) * 10_000_000 / Int64(max(baud ?? probe.baud, 1)))
  }

  // MARK: - No fix is needed

  private mutating func setNeeded(_ isNeeded: Bool, at now: BootInstant) -> [SourceEffect] {
    self.isNeeded = isNeeded
    guard isNeeded, isDiscarding else { return leaveUnread(at: now) }
    staleFixFilter.readingResumed(at: now)
    (reading, repeats) = (.draining(isForecast: false), 0)
    return [.line(.read)]
  }

  /// Leaves the port unread if no fix is needed, once the receiver is known.
  private mutating func leaveUnread(at now: BootInstant) -> [SourceEffect] {
    guard !isNeeded, !isDiscarding, decoder.counters.sentences > 0, !isProbing || probe.isFound else { return [] }
    isDiscarding = true
    forecast.reset()
    // `drained` follows.
    if case .draining = reading { return [] }
    reading = .paused(until: now + SerialSession.drainPeriod)
    return [.line(.pause)]
  }

  /// The decoder continues, so that it knows the receiver, and has the beginning of the burst during which fixes are
  /// needed again.
  private mutating func discard(_ bytes: Span<UInt8>, at now: BootInstant) -> [SourceEffect] {
    if case .draining = reading { reading = .draining(hasBytes: true, isForecast: false) }
    decoder.noteActivity(at: now)
    let before = decoder.counters.sentences
    decoder.decode(bytes, at: now) { _ in }
    lineStatistics.observe(decoder.counters)
    return supervise(.received(sentences: Int(clamping: decoder.counters.sentences - before)), at: now)
  }

  /// A read has finished while the port is being emptied.
  private mutating func discarded(at now: BootInstant) -> [SourceEffect] {
    guard case .draining(let hasBytes, _) = reading else { return [] }
    // The port may hold more than one read returns.
    if hasBytes, repeats < SerialSession.maximumRepeats {
      repeats += 1
      reading = .draining(isForecast: false)
      return [.line(.read)]
    }
    guard isNeeded else {
      reading = .paused(until: now + SerialSession.drainPeriod)
      return supervise(.deadline, at: now)
    }
    isDiscarding = false
    reading = .watching
    // Only a burst that has begun is continued.
    decoder.discardUnlessContinued()
    return [.line(.watch)]
  }

  /// A receiver that has sent a sentence speaks NMEA, whatever else it sends.
  private mutating func noteProtocol(of bytes: Span<UInt8>) {
    guard decoder.counters.sentences == 0, protocolDetector.found == nil else { return }
    protocolDetector.read(bytes)
    if let found = protocolDetector.found { supervisor.noSentences = PortSupervisor.Problem(sending: found) }
  }

  /// The time between reads in a burst, in which at most half of the kernel's buffer fills up.
  private var readPeriod: Duration {
    guard isTerminal == true else { return SerialSession.maximumReadPeriod }
    return min(SerialSession.maximumReadPeriod, duration(of: SerialSession.largeRead))
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
    forecast.reset()
    (isDiscarding, staleFixFilter) = (false, StaleFixFilter())
    (newestFix, burst, bytesSinceFix, bytesPerFix) = (nil, nil, 0, 0)
    probe.closed()
    decoder = NMEADecoder()
    lineStatistics.decoderReplaced()
    sky = SatelliteCountReporter()
  }

  /// Silence after the last sentence ends the epoch.
  private mutating func expire(at now: BootInstant) -> [SourceEffect] {
    var fixes = [Fix]()
    decoder.expire(at: now) { fixes.append($0) }
    guard !fixes.isEmpty else { return [] }
    sky.noteFix(at: now)
    return reports(of: fixes, at: now)
  }

  private mutating func tryNextRate(at now: BootInstant) -> [SourceEffect] {
    guard isProbing, let baud = probe.advance(at: now) else { return [] }
    decoder = NMEADecoder()
    lineStatistics.decoderReplaced()
    let report = SourceReport.detecting(
      "\(device) sends bytes, and no NMEA sentence yet at the baud rates tried so far; next \(baud)")
    return [.line(.setBaud(baud: baud))] + (hasBytes ? [.report(report)] : [])
  }
}
