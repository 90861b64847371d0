// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Keeps a receiver's port open: opens it, again when it vanishes, and again when it is open and says nothing. A port is a
/// serial line, or a connection to gpsd.
///
/// A USB receiver may be unplugged and come back under the same name, or keep its name and fall silent for good; both end
/// here in closing and opening. gpsd does not tell its clients either when a receiver has gone.
package struct PortSupervisor: Sendable {
  /// What happens to the port.
  package enum Input: Equatable, Sendable {
    case start
    case opened
    /// It could not be opened; the text says why and what to do.
    case openFailed(String)
    /// Bytes came; how many whole sentences (of gpsd: reports of the receiver) were in them.
    case received(sentences: Int)
    /// It closed by itself: unplugged, or broken.
    case ended(String)
    /// The device file may have come.
    case appeared
    case deadline
  }

  /// What is to be done with the port, or reported of it.
  package enum Effect: Equatable, Sendable {
    case open
    case close
    /// The port is open and gives sentences.
    case reading
    /// It is not to be had, or is of no use; the text says why and what to do.
    case lost(String)
  }

  /// What is said of a port that is open and of no use: what it does, and what a person should look at.
  package struct Complaint: Equatable, Sendable {
    /// Of the port, as in `sends nothing`.
    package var what: String
    /// A sentence without its full stop.
    package var advice: String

    package init(_ what: String, _ advice: String) {
      self.what = what
      self.advice = advice
    }
  }

  private enum State: Equatable {
    case closed
    case opening
    case open(since: BootInstant, lastSentence: BootInstant?, hasBytes: Bool)
  }

  /// The waits between tries while nothing announces the device. They differ from vehicle to vehicle: a depot whose power
  /// comes back does not open everything at one moment.
  private static let retry = Backoff.Bounds.atLeastHalf(.seconds(1), cap: .seconds(10))

  /// Said when nothing comes.
  package var silent = Complaint("is open but silent", "check the receiver and its power")
  /// Said when something comes that is no sentence.
  package var useless = Complaint("sends bytes but no whole NMEA sentence", "check source.baud")

  /// Said of what is done about either, as in `opening it again`.
  package var remedy = "opening it again"

  private let device: String
  private let silenceTimeout: Duration
  private let patience: Duration
  private var state = State.closed
  private var gate: RetryGate

  /// - Parameters:
  ///   - device: its name, for messages.
  ///   - silenceTimeout: how long an open port may give no whole sentence.
  ///   - patience: how long it may take to the first sentence, if that is longer.
  ///   - seed: of the waits' jitter.
  package init(device: String, silenceTimeout: Duration, patience: Duration = .zero, seed: UInt64) {
    gate = RetryGate(seed: seed)
    self.device = device
    self.silenceTimeout = silenceTimeout
    self.patience = max(patience, silenceTimeout)
  }

  package var nextDeadline: BootInstant? {
    switch state {
    case .closed: gate.notBefore
    case .opening: nil
    case .open(let since, let lastSentence, _): lastSentence.map { $0 + silenceTimeout } ?? since + patience
    }
  }

  /// Whether it waits for the next try, or for the device.
  package var isClosed: Bool { state == .closed }

  /// Takes what happened, and returns what is to be done, in this order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    switch (input, state) {
    case (.start, .closed), (.appeared, .closed):
      state = .opening
      return [.open]
    case (.deadline, .closed) where now >= gate.notBefore:
      state = .opening
      return [.open]
    case (.opened, .opening):
      state = .open(since: now, lastSentence: nil, hasBytes: false)
      return []
    case (.openFailed(let why), .opening):
      close(at: now)
      return [.lost(why)]
    case (.received(let sentences), .open(let since, let last, _)):
      guard sentences > 0 else {
        state = .open(since: since, lastSentence: last, hasBytes: true)
        return []
      }
      gate.reset()
      state = .open(since: since, lastSentence: now, hasBytes: false)
      return last == nil ? [.reading] : []
    case (.ended(let why), .open):
      close(at: now)
      return [.lost(why)]
    case (.deadline, .open(_, let last, let hasBytes)):
      guard let nextDeadline, now >= nextDeadline else { return [] }
      close(at: now)
      return [.close, .lost(complaint(hasBytes ? useless : silent, after: last == nil ? patience : silenceTimeout))]
    default:
      return []
    }
  }

  private mutating func close(at now: BootInstant) {
    state = .closed
    _ = gate.failed(PortSupervisor.retry, at: now)
  }

  private func complaint(_ complaint: Complaint, after time: Duration) -> String {
    "\(device) \(complaint.what) for \(time.wholeSeconds) s: \(complaint.advice); \(remedy)"
  }
}
