// SPDX-License-Identifier: Apache-2.0

/// Cuts the stream of gpsd into lines, in a buffer that cannot grow beyond one of them.
struct GPSDLines {
  /// Bytes of a line without its end. gpsd's own buffer for one object is 10,240 bytes in its latest releases; a report
  /// on the satellites of all constellations is the longest.
  static let maximumLength = 32_768

  private var held: [UInt8] = []
  /// The line has outgrown the buffer: its rest is passed over.
  private var isOverlong = false

  /// Takes the next bytes.
  ///
  /// - Parameter emit: receives each line without its end; nil stands for one that was too long. Empty lines are left out.
  mutating func append(_ bytes: Span<UInt8>, into emit: ([UInt8]?) -> Void) {
    for index in bytes.indices {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
        if isOverlong {
          emit(nil)
        } else if !held.isEmpty {
          emit(held)
        }
        reset()
      } else if held.count == GPSDLines.maximumLength {
        isOverlong = true
      } else if !isOverlong {
        held.append(byte)
      }
    }
  }

  /// Forgets the line that was not finished.
  mutating func reset() {
    held.removeAll(keepingCapacity: true)
    isOverlong = false
  }
}
