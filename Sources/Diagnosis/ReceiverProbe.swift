// SPDX-License-Identifier: Apache-2.0
package import FixSources
package import NMEA
package import Positioning
package import Timekeeping

/// Reads a receiver for some seconds, as the service would: at the configured baud rate, or at each of the usual rates
/// until sentences have correct checksums. It collects what the findings need.
package struct ReceiverProbe: Sendable {
  /// A fix, and when it was received.
  package struct ReceivedFix: Equatable, Sendable {
    /// As decoded, before the filter.
    package var fix: Fix
    /// When the decoder completed it.
    package var at: Moment
  }

  /// How long a receiver that sends sentences is read.
  package static let readingDuration = Duration.seconds(5)
  /// How long a receiver may be silent at a configured baud rate.
  package static let silenceLimit = Duration.seconds(6)
  /// How long a receiver may be silent while all baud rates are tried.
  package static let searchSilenceLimit = BaudProbe().roundDuration + BaudProbe.dwell

  /// Bits per second; nil for a device that is not a serial port.
  package private(set) var baud: Int?
  /// Number of bytes received, at all baud rates.
  package private(set) var byteCount = 0
  /// The protocol that the receiver sends, if it is not NMEA.
  package var otherProtocol: ReceiverProtocol? { protocolDetector.found }
  /// The received sentences, counted by kind.
  package var census: NMEACensus { decoder.census ?? NMEACensus() }
  /// The last fix.
  package private(set) var received: ReceivedFix?
  /// Time since the first sentence.
  package private(set) var listened = Duration.zero
  /// Whether the reading is finished.
  package private(set) var isDone = false

  private var decoder = NMEADecoder()
  private var probe: BaudProbe?
  private var deadline: BootInstant
  private var firstSentenceAt: BootInstant?
  private var protocolDetector = ReceiverProtocolDetector()

  /// Begins when the device has been opened.
  ///
  /// - Parameters:
  ///   - baud: the configured baud rate; nil to detect it.
  ///   - isTerminal: whether it is a serial port, which has a baud rate.
  package init(baud: Int?, isTerminal: Bool, at now: BootInstant) {
    decoder.census = NMEACensus()
    guard isTerminal, baud == nil else {
      self.baud = isTerminal ? baud : nil
      deadline = now + ReceiverProbe.silenceLimit
      return
    }
    var probe = BaudProbe()
    probe.opened(at: now)
    self.baud = probe.baud
    deadline = now + ReceiverProbe.searchSilenceLimit
    self.probe = probe
  }

  /// The decoder's counters.
  package var counters: NMEADecoder.Counters { decoder.counters }

  /// Nil if the receiver does not report it.
  package var satellitesInView: Int? { decoder.satellitesInView }

  /// Whether the baud rate is detected rather than configured, even after it has been found.
  package var isProbing: Bool { probe != nil }

  /// When `advance` is due next.
  package var nextDeadline: BootInstant { min(probe?.nextDeadline ?? deadline, deadline) }

  /// Decodes received bytes.
  package mutating func receive(_ bytes: Span<UInt8>, at now: Moment) {
    byteCount += bytes.count
    protocolDetector.read(bytes)
    let before = decoder.counters.sentences
    var fixes: [Fix] = []
    decoder.decode(bytes, at: now.boot) { fixes.append($0) }
    var sentences = Int(clamping: decoder.counters.sentences - before)
    if probe != nil { sentences = probe?.received(sentences: sentences) ?? 0 }
    if sentences > 0, firstSentenceAt == nil {
      firstSentenceAt = now.boot
      deadline = now.boot + ReceiverProbe.readingDuration
    }
    note(fixes, at: now)
  }

  /// Handles the passage of time.
  ///
  /// - Returns: the baud rate to set the port to, if the next one is due.
  package mutating func advance(at now: Moment) -> Int? {
    var fixes: [Fix] = []
    decoder.expire(at: now.boot) { fixes.append($0) }
    note(fixes, at: now)
    if now.boot >= deadline {
      isDone = true
      decoder.finish { fixes.append($0) }
      note(fixes, at: now)
      return nil
    }
    guard let next = probe?.advance(at: now.boot) else { return nil }
    return changeBaud(to: next)
  }

  /// Handles a baud rate that the device does not support.
  ///
  /// - Returns: the baud rate to set the port to instead; nil if there is none.
  package mutating func refused() -> Int? {
    guard let next = probe?.refused() else { return nil }
    return changeBaud(to: next)
  }

  private mutating func changeBaud(to next: Int) -> Int {
    baud = next
    decoder = NMEADecoder()
    decoder.census = NMEACensus()
    return next
  }

  private mutating func note(_ fixes: [Fix], at now: Moment) {
    if let firstSentenceAt { listened = now.boot - firstSentenceAt }
    if let fix = fixes.last { received = ReceivedFix(fix: fix, at: now) }
  }
}
