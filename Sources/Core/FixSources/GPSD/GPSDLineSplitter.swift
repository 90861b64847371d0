// SPDX-License-Identifier: Apache-2.0

/// Splits gpsd's stream into lines, with a bounded buffer.
struct GPSDLineSplitter {
  /// Maximum length of a line without its end, in bytes. gpsd's own buffer for one object has 10,240 bytes in its
  /// latest releases; the longest objects are reports on the satellites of all constellations.
  static let maximumLength = 32_768

  private var partial: [UInt8] = []
  /// The line exceeds the buffer: the rest of it is skipped.
  private var isOverlong = false

  /// The number of bytes in the incomplete line.
  var partialLength: Int { partial.count }

  /// Processes the next bytes.
  ///
  /// - Parameter emit: called with each line without its end, and with nil for a line that was too long. Empty lines
  ///   are skipped.
  mutating func append(_ bytes: Span<UInt8>, into emit: ([UInt8]?) -> Void) {
    for index in bytes.indices {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
        if isOverlong {
          emit(nil)
        } else if !partial.isEmpty {
          emit(partial)
        }
        reset()
      } else if partial.count == GPSDLineSplitter.maximumLength {
        isOverlong = true
      } else if !isOverlong {
        partial.append(byte)
      }
    }
  }

  /// Discards the incomplete line.
  mutating func reset() {
    partial.removeAll(keepingCapacity: true)
    isOverlong = false
  }
}
