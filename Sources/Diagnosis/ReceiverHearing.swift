// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// Listens to a receiver for some seconds, as the service would: at the speed that is set, or at each of the usual ones
/// until sentences have the right checksum. It gathers what a person wants to know of it.
package struct ReceiverHearing: Sendable {
  /// A fix, and when it came.
  package struct Told: Equatable, Sendable {
    /// As the service would get it, before its filter.
    package var fix: Fix
    /// When the decoder gave it.
    package var at: Moment
  }

  /// How long a receiver that gives sentences is listened to.
  package static let span = Duration.seconds(5)
  /// How long one may keep silent at a speed that is set.
  package static let patience = Duration.seconds(6)
  /// How long one may keep silent while all speeds are tried.
  package static let search = BaudProbe().round + BaudProbe.dwell

  /// Bits per second; nil for a device that is no serial line.
  package private(set) var baud: Int?
  /// Bytes that came, at all speeds together.
  package private(set) var byteCount = 0
  /// The first two bytes of a message of u-blox's own protocol.
  package private(set) var binaryMessages = 0
  /// The sentences that came, counted by kind.
  package private(set) var census = NMEACensus()
  /// The last one.
  package private(set) var told: Told?
  /// How long it was listened to since the first sentence.
  package private(set) var listened = Duration.zero
  /// Whether there is nothing more to learn by listening on.
  package private(set) var isDone = false

  private var decoder = NMEADecoder()
  private var probe: BaudProbe?
  private var since: BootInstant
  private var until: BootInstant
  private var firstSentence: BootInstant?
  private var lastByte: UInt8 = 0

  /// The device has been opened.
  ///
  /// - Parameters:
  ///   - baud: the speed that is set; nil to find it out.
  ///   - isTerminal: whether it is a serial line, which has a speed.
  package init(baud: Int?, isTerminal: Bool, at now: BootInstant) {
    since = now
    guard isTerminal, baud == nil else {
      self.baud = isTerminal ? baud : nil
      until = now + ReceiverHearing.patience
      return
    }
    var probe = BaudProbe()
    probe.opened(at: now)
    self.baud = probe.baud
    until = now + ReceiverHearing.search
    self.probe = probe
  }

  /// What the decoder made of the bytes.
  package var counters: NMEADecoder.Counters { decoder.counters }

  /// Nil when the receiver does not say.
  package var satellitesInView: Int? { decoder.satellitesInView }

  /// Whether the speed was not set and had to be found.
  package var isProbing: Bool { probe != nil }

  /// When `advance` is due next.
  package var nextDeadline: BootInstant { min(probe?.nextDeadline ?? until, until) }

  /// Bytes came.
  package mutating func receive(_ bytes: Span<UInt8>, at now: Moment) {
    byteCount += bytes.count
    for index in 0..<bytes.count {
      if lastByte == 0xB5, bytes[index] == 0x62 { binaryMessages += 1 }
      lastByte = bytes[index]
    }
    let before = decoder.counters.sentences
    var fixes: [Fix] = []
    decoder.decode(bytes, at: now.boot) { fixes.append($0) }
    census.read(bytes)
    var sentences = Int(clamping: decoder.counters.sentences - before)
    if probe != nil { sentences = probe?.received(sentences: sentences) ?? 0 }
    if sentences > 0, firstSentence == nil {
      firstSentence = now.boot
      until = now.boot + ReceiverHearing.span
    }
    take(fixes, at: now)
  }

  /// Time has passed.
  ///
  /// - Returns: the speed to set the line to, when the next is due.
  package mutating func advance(at now: Moment) -> Int? {
    var fixes: [Fix] = []
    decoder.expire(at: now.boot) { fixes.append($0) }
    take(fixes, at: now)
    if now.boot >= until {
      isDone = true
      decoder.finish { fixes.append($0) }
      take(fixes, at: now)
      return nil
    }
    guard let next = probe?.advance(at: now.boot) else { return nil }
    return change(to: next)
  }

  /// The device does not do the speed.
  ///
  /// - Returns: the speed to set the line to instead; nil when there is none.
  package mutating func refused() -> Int? {
    guard let next = probe?.refused() else { return nil }
    return change(to: next)
  }

  private mutating func change(to next: Int) -> Int {
    baud = next
    decoder = NMEADecoder()
    census = NMEACensus()
    return next
  }

  private mutating func take(_ fixes: [Fix], at now: Moment) {
    if let firstSentence { listened = now.boot - firstSentence }
    if let fix = fixes.last { told = Told(fix: fix, at: now) }
  }
}
