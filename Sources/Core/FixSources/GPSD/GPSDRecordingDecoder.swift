// SPDX-License-Identifier: Apache-2.0
package import Positioning
import Timekeeping

/// Decodes a recording of gpsd's output, such as that of `gpspipe -w`; time advances with its fixes, including those of
/// receivers that are not used.
package struct GPSDRecordingDecoder: Sendable {
  private var decoder = GPSDDecoder(device: nil, silenceTimeout: .seconds(10))
  private var now = BootInstant.boot
  private var newest: Timestamp?

  package init() {}

  /// Counters of the decoder.
  package var counters: GPSDDecoder.Counters { decoder.counters }

  /// Decodes the next bytes, in chunks of any size.
  ///
  /// - Parameter emit: called with each fix.
  package mutating func decode(_ bytes: Span<UInt8>, into emit: (Fix) -> Void) {
    var start = 0
    for index in 0..<bytes.count where bytes[index] == UInt8(ascii: "\n") || index == bytes.count - 1 {
      decode(line: bytes.extracting(start..<index + 1), into: emit)
      start = index + 1
    }
  }

  /// End of input: the last line may have no end.
  package mutating func finish(into emit: (Fix) -> Void) {
    decode(line: [UInt8(ascii: "\n")].span, into: emit)
  }

  /// Decodes at most one line, so that each is decoded at its own time.
  private mutating func decode(line: Span<UInt8>, into emit: (Fix) -> Void) {
    var fix: Fix?
    decoder.decode(line, at: now) { event in
      if case .report(_, let reported) = event { fix = reported }
    }
    if let stamp = fix?.timestamp ?? decoder.ignoredTime, stamp > newest ?? Timestamp(milliseconds: .min) {
      if let newest { now = now + (stamp - newest) }
      newest = stamp
    }
    if let fix { emit(fix) }
  }
}
