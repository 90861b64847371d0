// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Plays a recording of NMEA: each fix when it is due, or, at pace 0, when the daemon is ready for it.
package struct ReplaySession {
  /// What happens to the recording.
  package enum Input: Equatable, Sendable {
    case start
    /// The recording has no more bytes.
    case endOfInput
    /// It cannot be read any further; the text says why. What has been read is played.
    case readFailed(String)
    /// The daemon has done all that it will do with the last fix.
    case readyForNextFix
    case deadline
  }

  /// What the shell is to do, or to report.
  package enum Effect: Equatable, Sendable {
    /// Read the next portion: `receive` or an input follows, as soon as there is one.
    case read
    case report(SourceReport)
  }

  private enum State: Equatable {
    case idle
    /// Bytes are on their way.
    case reading
    /// A fix was reported, and the daemon is not ready for the next one.
    case awaitingReadiness
    /// The next fix is due then.
    case waiting(until: BootInstant)
    case ended
  }

  private let name: String
  private let pace: Double
  private let shiftsTimes: Bool
  private var state = State.idle
  private var timeline: ReplayTimeline?
  private var decoder = NMEADecoder()
  /// Decoded and not yet reported, in order; those before `position` are.
  private var decoded: [Fix] = []
  private var position = 0
  private var next: (fix: Fix, due: BootInstant)?
  private var isUnread = true
  private var isAtEnd = false

  /// - Parameters:
  ///   - name: for messages.
  ///   - pace: 1 is the recording's own speed, 2 twice as fast; 0 waits for the daemon after each fix.
  ///   - shiftsTimes: whether the first fix is to be true now, and the others after it, or all keep their times.
  package init(name: String, pace: Double, shiftsTimes: Bool) {
    self.name = name
    self.pace = pace
    self.shiftsTimes = shiftsTimes
  }

  /// When to hand over `deadline`; nil while something else is waited for.
  package var nextDeadline: BootInstant? {
    if case .waiting(let due) = state { due } else { nil }
  }

  /// Takes what happened, and returns what is to be done, in this order.
  package mutating func handle(_ input: Input, at now: Moment) -> [Effect] {
    switch (input, state) {
    case (.start, .idle):
      timeline = ReplayTimeline(pace: pace, shiftsTimes: shiftsTimes, start: now)
      return [.report(.reading(name))] + advance(at: now.boot)
    case (.endOfInput, .reading):
      decoder.finish { decoded.append($0) }
      isAtEnd = true
      return advance(at: now.boot)
    case (.readFailed(let why), .reading):
      isAtEnd = true
      return [.report(.lost(why))] + advance(at: now.boot)
    case (.readyForNextFix, .awaitingReadiness): return advance(at: now.boot)
    case (.deadline, .waiting(let due)) where now.boot >= due: return advance(at: now.boot)
    default: return []
    }
  }

  /// Takes the next bytes of the recording, in any portions.
  package mutating func receive(_ bytes: [UInt8], at now: Moment) -> [Effect] {
    guard state == .reading else { return [] }
    if isUnread { decoder.study(bytes.span) }
    isUnread = false
    // When a recording is read says nothing of when its sentences came.
    decoder.decode(bytes, at: .boot) { decoded.append($0) }
    return advance(at: now.boot)
  }

  /// Reports the next fix if it is due, and otherwise says what it waits for. One fix at a time: other inputs have their turn
  /// between two of them.
  private mutating func advance(at now: BootInstant) -> [Effect] {
    if next == nil {
      guard let fix = nextDecoded() else {
        state = isAtEnd ? .ended : .reading
        return [isAtEnd ? .report(.ended) : .read]
      }
      next = timeline?.place(fix)
    }
    guard let (fix, due) = next else { return [] }
    guard pace == 0 || due <= now else {
      state = .waiting(until: due)
      return []
    }
    next = nil
    // What is late is caught up from turn to turn, which is no missed deadline.
    state = pace == 0 ? .awaitingReadiness : .waiting(until: now)
    return [.report(.fix(fix))]
  }

  private mutating func nextDecoded() -> Fix? {
    guard position < decoded.count else {
      decoded.removeAll(keepingCapacity: true)
      position = 0
      return nil
    }
    position += 1
    return decoded[position - 1]
  }
}
