// SPDX-License-Identifier: Apache-2.0

/// Splits what a client of the control socket sends into messages. Varlink's messages end with NUL; those of releases
/// before 0.3.0 are lines. The terminator that arrives first determines the kind for the whole connection.
package struct MessageFraming: Sendable {
  /// A message without its end.
  package enum Message: Equatable, Sendable {
    /// A message of Varlink.
    case varlink([UInt8])
    /// A request in the format of releases before 0.3.0.
    case line([UInt8])
  }

  /// The end of a message of Varlink.
  package static let varlinkTerminator: UInt8 = 0
  /// The end of a line.
  package static let lineTerminator = UInt8(ascii: "\n")

  private let limit: Int
  private var buffer: [UInt8] = []
  /// Nil before the first message.
  private var terminator: UInt8?

  /// - Parameter limit: the maximum size of a message in bytes, without its end.
  package init(limit: Int) {
    self.limit = limit
  }

  /// Adds data, in chunks of any size.
  package mutating func append(_ bytes: some Sequence<UInt8>) {
    buffer.append(contentsOf: bytes)
  }

  /// Removes and returns the next message; nil if none is complete, or if it is too long.
  package mutating func next() -> Message? {
    guard let index = terminatorIndex, index <= limit else { return nil }
    let terminator = buffer[index]
    self.terminator = terminator
    let message = Array(buffer[..<index])
    buffer.removeFirst(index + 1)
    return terminator == MessageFraming.varlinkTerminator ? .varlink(message) : .line(message)
  }

  /// Whether the next message exceeds the limit: `next` remains nil, and the connection must be closed.
  package var isTooLong: Bool { (terminatorIndex ?? buffer.count) > limit }

  private var terminatorIndex: Int? {
    buffer.firstIndex { byte in
      terminator.map { byte == $0 }
        ?? (byte == MessageFraming.varlinkTerminator || byte == MessageFraming.lineTerminator)
    }
  }
}
