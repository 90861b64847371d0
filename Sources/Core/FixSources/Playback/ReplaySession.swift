// SPDX-License-Identifier: Apache-2.0
import NMEA
import Positioning
package import Timekeeping

/// Replays a recording of NMEA 0183: each fix when it is due, or, at pace 0, when the daemon is ready for it.
package struct ReplaySession: SourceSession {
  private enum State: Equatable {
    case idle
    /// A read is in progress.
    case reading
    /// A fix was reported, and the daemon is not ready for the next.
    case awaitingReadiness
    /// The next fix is due at this time.
    case waiting(until: BootInstant)
    case ended
  }

  private let name: String
  private let pace: Double
  private let shiftsTimes: Bool
  private var state = State.idle
  private var timeline: ReplayTimeline?
  private var decoder = NMEADecoder()
  /// Decoded fixes in order; those from `nextIndex` on have not been reported yet.
  private var decoded: [Fix] = []
  private var nextIndex = 0
  private var next: (fix: Fix, due: BootInstant)?
  private var isUnread = true
  private var isAtEnd = false

  /// - Parameters:
  ///   - name: for messages.
  ///   - pace: 1 is the recorded pace, 2 twice as fast; 0 waits for the daemon after each fix.
  ///   - shiftsTimes: whether timestamps are shifted so that the first fix is now, or keep their recorded values.
  ///     Shifted times follow the pace, and so do the speeds.
  package init(name: String, pace: Double, shiftsTimes: Bool) {
    self.name = name
    self.pace = pace
    self.shiftsTimes = shiftsTimes
  }

  /// When to handle `deadline`; nil while waiting for something else.
  package var nextDeadline: BootInstant? {
    if case .waiting(let due) = state { due } else { nil }
  }

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: SourceInput, at now: Moment) -> [SourceEffect] {
    switch (input, state) {
    case (.start, .idle):
      timeline = ReplayTimeline(pace: pace, shiftsTimes: shiftsTimes, start: now)
      return [.report(.reading(name))] + advance(at: now.boot)
    case (.endOfInput, .reading):
      decoder.finish { decoded.append($0) }
      isAtEnd = true
      return advance(at: now.boot)
    case (.ended(let why), .reading):
      isAtEnd = true
      return [.report(.lost(why))] + advance(at: now.boot)
    case (.deadline, .waiting(let due)) where now.boot >= due: return advance(at: now.boot)
    default: return []
    }
  }

  package mutating func readyForNextFix(at now: BootInstant) {
    if state == .awaitingReadiness { state = .waiting(until: now) }
  }

  /// Processes the next bytes of the recording, in chunks of any size.
  package mutating func receive(_ bytes: Span<UInt8>, from sender: SourceSender, at now: Moment) -> [SourceEffect] {
    guard state == .reading else { return [] }
    if isUnread { decoder.learnSentenceOrder(from: bytes) }
    isUnread = false
    // The time of reading is unrelated to the recorded arrival.
    decoder.decode(bytes, at: .boot) { decoded.append($0) }
    return advance(at: now.boot)
  }

  /// Reports the next fix if it is due; otherwise waits. Only one fix is reported at a time, so that other inputs are
  /// handled in between.
  private mutating func advance(at now: BootInstant) -> [SourceEffect] {
    while next == nil {
      guard let fix = nextDecoded() else {
        state = isAtEnd ? .ended : .reading
        return [isAtEnd ? .report(.ended) : .line(.read)]
      }
      next = timeline?.schedule(fix)
    }
    guard let (fix, due) = next else { return [] }
    guard pace == 0 || due <= now else {
      state = .waiting(until: due)
      return []
    }
    next = nil
    // Late fixes are reported one by one; this does not count as a missed deadline.
    state = pace == 0 ? .awaitingReadiness : .waiting(until: now)
    return [.report(.fix(fix))]
  }

  private mutating func nextDecoded() -> Fix? {
    guard nextIndex < decoded.count else {
      decoded.removeAll(keepingCapacity: true)
      nextIndex = 0
      return nil
    }
    nextIndex += 1
    return decoded[nextIndex - 1]
  }
}
