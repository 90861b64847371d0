// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import Timekeeping

/// A source of fixes, as a value: it decides when its line is opened, read and reopened, and what is reported.
///
/// A line is what a source reads: a serial port, a socket, the message bus or a recording. All sessions
/// share these inputs and effects; each uses the ones that its kind of source needs.
package protocol SourceSession: Sendable {
  /// When to handle `deadline`; nil while waiting for something else.
  var nextDeadline: BootInstant? { get }
  /// Counters of its line; nil if it has none.
  var counters: LineStatistics? { get }
  /// Whether its line is left unread while no fix is needed.
  var isPausable: Bool { get }
  /// The last request to ModemManager before its line is closed for good; nil for none.
  var lastRequest: ModemRequest? { get }

  /// Handles an input, and returns the effects in order.
  mutating func handle(_ input: SourceInput, at now: Moment) -> [SourceEffect]
  /// Processes data of the line, in chunks of any size; a datagram must be whole.
  mutating func receive(_ bytes: Span<UInt8>, from sender: SourceSender, at now: Moment) -> [SourceEffect]
  /// A sender has connected.
  ///
  /// - Returns: nil if its connection must be closed unread.
  mutating func admit(_ address: IPAddress, at now: BootInstant) -> NMEANetworkSession.Admission?
  /// The last fix was handled: the next one is due, if the source waits for this. It is reported at the deadline and
  /// not here, so that a recording whose fixes are all rejected causes no recursion.
  mutating func readyForNextFix(at now: BootInstant)
}

extension SourceSession {
  package var counters: LineStatistics? { nil }
  package var isPausable: Bool { false }
  package var lastRequest: ModemRequest? { nil }

  /// Returns `nextDeadline`. If the property were read instead, a session whose concrete type is not known would be
  /// copied first.
  package mutating func deadlineInPlace() -> BootInstant? { nextDeadline }

  package mutating func receive(_ bytes: Span<UInt8>, from sender: SourceSender, at now: Moment) -> [SourceEffect] {
    []
  }

  package mutating func admit(_ address: IPAddress, at now: BootInstant) -> NMEANetworkSession.Admission? { nil }

  package mutating func readyForNextFix(at now: BootInstant) {}
}

/// What happens to a source and on its line.
package enum SourceInput: Equatable, Sendable {
  /// Begins to open the line; sent once.
  case start
  /// `nextDeadline` has passed.
  case deadline
  /// The line is open, or listens. Only a terminal has a baud rate.
  case opened(isTerminal: Bool = false)
  /// Opening failed; the text has the cause and the remedy.
  case openFailed(String)
  /// The line was closed: it was unplugged, it failed, or the other side closed it.
  case ended(String)
  /// The device file may have appeared.
  case appeared
  /// The device does not support the requested baud rate.
  case baudRefused
  /// `read` is done: the data was passed to `receive`.
  case drained
  /// Whether fixes are needed, as they are initially. While they are not, a pausable session reads the line only to
  /// empty it.
  case needed(Bool)
  /// The machine was suspended and has resumed: silence is counted from now on.
  case resumed
  /// The connection of the sender with this ID was closed.
  case senderDisconnected(Int)
  /// The recording is at its end.
  case endOfInput
  /// ModemManager has answered, or signals a change.
  case modem(ModemSession.Input)
}

/// Who has sent data.
package enum SourceSender: Equatable, Sendable {
  /// The other end of the line.
  case peer
  /// The sender with this ID, which has connected.
  case connection(Int)
  /// The sender of a datagram.
  case datagram(IPAddress, port: UInt16)
}

/// What the shell has to do, or what the source reports.
package enum SourceEffect: Equatable, Sendable {
  case line(LineOperation)
  case report(SourceReport)
}

/// What the shell has to do with the line of a source.
package enum LineOperation: Equatable, Sendable {
  /// Open, connect or listen: `opened` or `openFailed` follows. The baud rate is that of a serial port.
  case open(baud: Int? = nil)
  case setBaud(baud: Int)
  case close
  /// Do not watch the line until `read` or `watch`. A line that was just opened is watched.
  case pause
  /// Pass on all available data at once; `drained` follows. For a recording: pass on the next data in a later iteration
  /// of the loop; at its end `endOfInput` follows instead, and after an error `ended`.
  case read
  /// Watch the line and pass on data when it arrives.
  case watch
  /// Pass on data only once this many bytes have arrived, or the line has ended. A line that was just opened passes on
  /// every byte.
  case awaitBytes(Int)
  /// Send these bytes.
  case send([UInt8])
  /// Rejoin the multicast group: its interface may have been replaced.
  case rejoin
  /// A request to ModemManager; `modem` follows with its response.
  case modem(ModemRequest)
  /// Close the line for good, after this request.
  case end(after: ModemRequest?)
}

/// A session that needs only elapsed time, not civil time.
package protocol ElapsedTimeSession: SourceSession {
  /// Handles an input as `SourceSession.handle` does, at an instant of elapsed time.
  mutating func handle(_ input: SourceInput, at now: BootInstant) -> [SourceEffect]
}

extension ElapsedTimeSession {
  package mutating func handle(_ input: SourceInput, at now: Moment) -> [SourceEffect] { handle(input, at: now.boot) }
}
