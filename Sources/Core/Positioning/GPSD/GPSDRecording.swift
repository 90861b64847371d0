// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Decodes a recording of what gpsd sends, as of `gpspipe -w`: time goes by as its fixes state it.
package struct GPSDRecording: Sendable {
  private var decoder = GPSDDecoder(device: nil, silenceTimeout: .seconds(10))
  private var now = BootInstant.boot
  private var newest: Timestamp?

  package init() {}

  /// What went through the decoder so far.
  package var counters: GPSDDecoder.Counters { decoder.counters }

  /// Takes the next bytes, in any portions.
  ///
  /// - Parameter emit: receives each fix.
  package mutating func decode(_ bytes: Span<UInt8>, into emit: (Fix) -> Void) {
    var start = 0
    for index in 0..<bytes.count where bytes[index] == UInt8(ascii: "\n") || index == bytes.count - 1 {
      decode(line: bytes.extracting(start..<index + 1), into: emit)
      start = index + 1
    }
  }

  /// The input has ended: its last line may have no end.
  package mutating func finish(into emit: (Fix) -> Void) {
    decode(line: [UInt8(ascii: "\n")].span, into: emit)
  }

  /// At most one line, so that each is decoded at its own time.
  private mutating func decode(line: Span<UInt8>, into emit: (Fix) -> Void) {
    var fix: Fix?
    decoder.decode(line, at: now) { event in
      if case .report(_, let reported) = event { fix = reported }
    }
    guard let fix else { return }
    if let stamp = fix.timestamp, stamp > newest ?? Timestamp(milliseconds: .min) {
      if let newest { now = now + (stamp - newest) }
      newest = stamp
    }
    emit(fix)
  }
}
