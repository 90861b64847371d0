// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import Positioning

/// What a source reads: a serial port, a socket, the message bus or a recording. It performs what the source's session
/// decides, and passes on what happens.
///
/// After `end` it passes on nothing more.
package protocol SourceLine: AnyObject {
  /// Performs an operation. Others than those of its session do nothing.
  func perform(_ operation: LineOperation)
}

/// Where a line passes on what happens to it. `receive` and `admit` are never called while an operation other than
/// `read` is performed.
package struct LineHandlers {
  /// Something has happened to it.
  package let pass: (SourceInput) -> Void
  /// It has received data; the span is valid during the call.
  package let receive: (Span<UInt8>, SourceSender) -> Void
  /// A sender has connected; nil: its connection must be closed unread.
  package let admit: (IPAddress) -> NMEANetworkSession.Admission?

  package init(
    pass: @escaping (SourceInput) -> Void, receive: @escaping (Span<UInt8>, SourceSender) -> Void,
    admit: @escaping (IPAddress) -> NMEANetworkSession.Admission?
  ) {
    self.pass = pass
    self.receive = receive
    self.admit = admit
  }
}
