// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import FixSources

/// What a source reads: a serial port, a socket, the message bus or a recording. It performs what the source's session
/// decides, and passes on what happens to it.
///
/// After `end` it passes on nothing more.
package protocol SourceLine: AnyObject {
  /// Performs an operation. Operations that its kind of session does not use are ignored.
  func perform(_ operation: LineOperation)
}

/// Owns the lines, and passes on to `Daemon` what happens to them. `receive` and `admit` are never called while an
/// operation other than `read` is performed.
package protocol LineOwner: AnyObject {
  /// Something has happened to the line of the source with this ID.
  func pass(_ input: SourceInput, of id: Int)
  /// The line of this source has received data; the span is valid during the call.
  func receive(_ bytes: Span<UInt8>, from sender: SourceSender, of id: Int)
  /// A sender has connected to the line of this source; nil: its connection must be closed unread.
  func admit(_ address: IPAddress, to id: Int) -> NMEANetworkSession.Admission?
}

/// Where a line passes on what happens to it: to its owner, with the ID of its source.
package struct LineHandlers {
  private weak var owner: (any LineOwner)?
  private let id: Int

  package init(owner: any LineOwner, id: Int) {
    self.owner = owner
    self.id = id
  }

  func pass(_ input: SourceInput) { owner?.pass(input, of: id) }

  func receive(_ bytes: Span<UInt8>, _ sender: SourceSender) { owner?.receive(bytes, from: sender, of: id) }

  func admit(_ address: IPAddress) -> NMEANetworkSession.Admission? { owner?.admit(address, to: id) }
}
