// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Decodes NMEA 0183 (versions 2.0 to 4.11) from bytes in any portions into fixes, one for each epoch of the receiver.
///
/// Every sentence needs its checksum. Any talker is heard but the private ones. What is read of which sentence says
/// `NMEASentence`; an epoch for which the receiver calls its position void gives no fix. After the first epochs nothing is
/// allocated.
package struct NMEADecoder {
  /// What went through the decoder.
  package struct Counters: Equatable, Sendable {
    /// Sentences with the right checksum, all of the following but the first three included.
    package var sentences: UInt64 = 0
    /// Sentences with a wrong checksum.
    package var wrongChecksum: UInt64 = 0
    /// A `$` without the checksum of a sentence before the end of the line: cut, without checksum, or noise.
    package var unchecked: UInt64 = 0
    /// A `$` without the end of a sentence within 512 bytes.
    package var overlong: UInt64 = 0
    /// Sentences that say nothing about a fix, private ones among them.
    package var unknown: UInt64 = 0
    /// Sentences whose time or position cannot be read in spite of the checksum.
    package var unusable: UInt64 = 0
    /// Sentences that came after the end of their epoch.
    package var late: UInt64 = 0
    /// Lines of another language, as AIS (`!`), TAIP (`>`) and tag blocks (`\`), and private sentences that are not understood.
    package var foreign: UInt64 = 0
    /// Fixes that were given.
    package var fixes: UInt64 = 0

    package init() {}
  }

  /// Since it was made.
  package private(set) var counters = Counters()
  private var framing = NMEAFraming()
  private var assembler: NMEAAssembler
  private var scratch: [UInt8] = []
  /// The byte before was the end of a line.
  private var isLineStart = false
  /// More talkers of GSV than there are systems.
  private static let mostSystems = 16
  /// By talker and type.
  private var inView: [UInt64: Int] = [:]

  /// The satellites in view of all systems, used or not; nil before the first report.
  package var satellitesInView: Int? { inView.isEmpty ? nil : inView.values.reduce(0, +) }

  /// - Parameter isDatagrams: whether the sentences come in datagrams. They may overtake each other: one whose time is up to two
  ///   seconds before that of an earlier one came late, and does not begin an epoch. And the first byte begins a line.
  package init(isDatagrams: Bool = false) {
    assembler = NMEAAssembler(isReordered: isDatagrams)
    isLineStart = isDatagrams
    scratch.reserveCapacity(2 * NMEAFraming.maximumLength)
  }

  /// Learns the order of the receiver's sentences from the beginning of a recording, which is then decoded from there: no
  /// silence shows where its first epochs begin.
  package mutating func study(_ beginning: Span<UInt8>) {
    var student = NMEADecoder()
    student.decode(beginning, at: .boot) { _ in }
    assembler.adoptOrder(of: student.assembler)
  }

  /// When `expire` is due: silence until then means that the open epoch has all its sentences. Nil when none is open.
  package var deadline: BootInstant? { assembler.deadline }

  /// Takes the next bytes.
  ///
  /// - Parameters:
  ///   - bytes: any number, from any place of the stream on.
  ///   - now: when they arrived; the same for all when a file is read.
  ///   - emit: receives each fix as soon as its epoch has ended.
  package mutating func decode(_ bytes: Span<UInt8>, at now: BootInstant, into emit: (Fix) -> Void) {
    var index = 0
    if framing.isHolding { index = resume(bytes, at: now, into: emit) }
    while index < bytes.count {
      let byte = bytes[index]
      guard byte == UInt8(ascii: "$") else {
        if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
          isLineStart = true
        } else if isLineStart {
          isLineStart = false
          if (0x21...0x7E).contains(byte) { counters.foreign += 1 }
        }
        index += 1
        continue
      }
      isLineStart = false
      switch NMEAFraming.examine(bytes, from: index) {
      case .sentence(let end):
        accept(bytes.extracting(index..<end), at: now, into: emit)
        index = end
      case .wrongChecksum(let end):
        counters.wrongChecksum += 1
        index = end
      case .unchecked(let next):
        counters.unchecked += 1
        index = next
      case .overlong(let next):
        counters.overlong += 1
        index = next
      case .partial:
        framing.hold(bytes, from: index)
        assembler.hear(at: now)
        index = bytes.count
      }
    }
  }

  /// Takes the next bytes, as above.
  package mutating func decode(_ bytes: [UInt8], at now: BootInstant, into emit: (Fix) -> Void) {
    decode(bytes.span, at: now, into: emit)
  }

  /// Whether a sentence has begun that is not whole yet.
  package var isInSentence: Bool { framing.isHolding }

  /// The line has not been silent until now, though nothing was read.
  package mutating func goOn(at now: BootInstant) { assembler.goOn(at: now) }

  /// Time has passed: the open epoch ends if its deadline has come.
  package mutating func expire(at now: BootInstant, into emit: (Fix) -> Void) {
    assembler.expire(at: now) { fix in
      counters.fixes += 1
      emit(fix)
    }
  }

  /// A datagram has ended, and with it a sentence that was not whole; what comes next is the beginning of a line.
  package mutating func endDatagram() {
    if framing.drop() { counters.unchecked += 1 }
    isLineStart = true
  }

  /// The input has ended, and with it the open epoch.
  package mutating func finish(into emit: (Fix) -> Void) {
    if framing.drop() { counters.unchecked += 1 }
    assembler.finish { fix in
      counters.fixes += 1
      emit(fix)
    }
  }

  /// Looks at a sentence that began in an earlier input. Returns the first byte of this one that is not read.
  private mutating func resume(_ bytes: Span<UInt8>, at now: BootInstant, into emit: (Fix) -> Void) -> Int {
    let before = framing.takeHeld(filledFrom: bytes, into: &scratch)
    var line: [UInt8] = []
    swap(&line, &scratch)
    var next = bytes.count
    var isPartial = false
    switch NMEAFraming.examine(line.span, from: 0) {
    case .sentence(let end):
      accept(line.span.extracting(0..<end), at: now, into: emit)
      next = end - before
    case .wrongChecksum(let end):
      counters.wrongChecksum += 1
      next = end - before
    case .unchecked(let unread):
      counters.unchecked += 1
      next = unread - before
    case .overlong(let unread):
      counters.overlong += 1
      next = unread - before
    case .partial:
      isPartial = true
      assembler.hear(at: now)
    }
    framing.putBack(&line, keeping: isPartial)
    swap(&line, &scratch)
    return max(next, 0)
  }

  private mutating func accept(_ line: Span<UInt8>, at now: BootInstant, into emit: (Fix) -> Void) {
    counters.sentences += 1
    let sentence = NMEASentence.read(line)
    switch sentence {
    case .unknown:
      counters.unknown += 1
      if line[1] == UInt8(ascii: "P") { counters.foreign += 1 }
    case .sky(let count):
      counters.unknown += 1
      let address = NMEASentence.address(line)
      // Two letters make a talker, and a sender could make up all of them.
      if inView[address] != nil || inView.count < NMEADecoder.mostSystems { inView[address] = count }
    case .unusable: counters.unusable += 1
    default:
      var fixes: UInt64 = 0
      let inTime = assembler.add(sentence, address: NMEASentence.address(line), at: now) { fix in
        fixes += 1
        emit(fix)
      }
      counters.fixes += fixes
      if !inTime { counters.late += 1 }
    }
  }
}
