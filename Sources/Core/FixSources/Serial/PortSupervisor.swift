// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Keeps a receiver's port open: opens it, and reopens it after it has vanished or while it is silent. A port is a
/// serial line, a connection to gpsd, or a socket that receives NMEA 0183 from the network.
///
/// A USB receiver may be unplugged and return under the same name, or keep its name and fall silent; both are handled
/// by closing and reopening. gpsd does not notify its clients of a removed receiver either.
package struct PortSupervisor: Sendable {
  /// Events of the port.
  package enum Input: Equatable, Sendable {
    case start
    case opened
    /// Opening failed; the text has the cause and the remedy.
    case openFailed(String)
    /// Bytes were received, with this number of complete sentences (for gpsd: of reports of the receiver).
    case received(sentences: Int)
    /// It was closed: unplugged, or failed.
    case ended(String)
    /// The device file may have appeared.
    case appeared
    /// The machine was suspended and has resumed: silence is counted from then on. A connection that may have ended
    /// unnoticed, as one to another machine, is closed if it is silent for two seconds.
    case resumed(mayHaveEnded: Bool = false)
    case deadline
  }

  /// What to do with the port, or to report.
  package enum Effect: Equatable, Sendable {
    case open
    case close
    /// The port is open and sends sentences.
    case reading
    /// It is unavailable or unusable; the text has the cause and the remedy.
    case lost(String)
  }

  /// The problem of an open port, and what to do.
  package struct Problem: Equatable, Sendable {
    /// The end of a sentence about the port, as in `sends nothing`.
    package var what: String
    /// What to do, without a full stop.
    package var advice: String

    package init(_ what: String, _ advice: String) {
      self.what = what
      self.advice = advice
    }

    /// A receiver that sends a protocol other than NMEA 0183.
    init(sending other: ReceiverProtocol) {
      self.init("sends \(other.name) and no NMEA sentence", other.advice)
    }
  }

  private enum State: Equatable {
    case closed
    case opening
    case open(since: BootInstant, lastSentenceAt: BootInstant?, hasBytes: Bool)
  }

  /// The backoff while nothing announces the device, with jitter, so that the vehicles in a depot do not all reopen
  /// their ports at the same moment after a power cut.
  private static let retryBackoff = Backoff.Bounds.equalJitter(.seconds(1), cap: .seconds(10))

  /// How long a connection that may have ended in a suspend may be silent after it: receivers report every second.
  private static let connectionGrace = Duration.seconds(2)

  /// The problem if nothing is received.
  package var silent = Problem("is open but silent", "check the receiver and its power")
  /// The problem if no complete sentence is received.
  package var noSentences = Problem(
    "sends bytes but no complete NMEA sentence", "check source.baud, or set baud = \"auto\"")

  /// What the daemon does about either problem, as in `reconnecting`.
  package var recovery = "reopening it"

  private let device: String
  private let silenceTimeout: Duration
  private let firstSentenceTimeout: Duration
  private var state = State.closed
  private var gate: RetryGate

  /// - Parameters:
  ///   - device: its name, for messages.
  ///   - silenceTimeout: maximum time without a complete sentence while the port is open.
  ///   - firstSentenceTimeout: timeout for the first sentence, if it is longer.
  ///   - seed: for the jitter.
  package init(device: String, silenceTimeout: Duration, firstSentenceTimeout: Duration = .zero, seed: UInt64) {
    gate = RetryGate(seed: seed)
    self.device = device
    self.silenceTimeout = silenceTimeout
    self.firstSentenceTimeout = max(firstSentenceTimeout, silenceTimeout)
  }

  package var nextDeadline: BootInstant? {
    switch state {
    case .closed: gate.notBefore
    case .opening: nil
    case .open(let since, let last, _): last.map { $0 + silenceTimeout } ?? since + firstSentenceTimeout
    }
  }

  /// Whether the port is open.
  package var isOpen: Bool { if case .open = state { true } else { false } }

  /// Whether it waits for the next attempt, or for the device.
  package var isClosed: Bool { state == .closed }

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    switch (input, state) {
    case (.start, .closed), (.appeared, .closed):
      state = .opening
      return [.open]
    case (.deadline, .closed) where now >= gate.notBefore:
      state = .opening
      return [.open]
    case (.opened, .opening):
      state = .open(since: now, lastSentenceAt: nil, hasBytes: false)
      return []
    case (.openFailed(let why), .opening):
      close(at: now)
      return [.lost(why)]
    case (.received(let sentences), .open(let since, let last, _)):
      guard sentences > 0 else {
        state = .open(since: since, lastSentenceAt: last, hasBytes: true)
        return []
      }
      gate.reset()
      state = .open(since: since, lastSentenceAt: now, hasBytes: false)
      return last == nil ? [.reading] : []
    case (.resumed(let mayHaveEnded), .open(_, let last, let hasBytes)):
      let grace = mayHaveEnded ? min(silenceTimeout, PortSupervisor.connectionGrace) : silenceTimeout
      let start = now - (silenceTimeout - grace)
      state = .open(since: start, lastSentenceAt: last.map { _ in start }, hasBytes: hasBytes)
      return []
    case (.ended(let why), .open):
      close(at: now)
      return [.lost(why)]
    case (.deadline, .open(_, let last, let hasBytes)):
      guard let nextDeadline, now >= nextDeadline else { return [] }
      close(at: now)
      return [
        .close,
        .lost(problemText(hasBytes ? noSentences : silent, after: last == nil ? firstSentenceTimeout : silenceTimeout)),
      ]
    default:
      return []
    }
  }

  private mutating func close(at now: BootInstant) {
    state = .closed
    _ = gate.failed(PortSupervisor.retryBackoff, at: now)
  }

  private func problemText(_ problem: Problem, after time: Duration) -> String {
    "\(device) \(problem.what) for \(time.wholeSeconds) s; \(problem.advice); \(recovery)"
  }
}
