// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// Decodes NMEA 0183 (versions 2.0 to 4.11) from a byte stream into fixes, one per epoch of the receiver.
///
/// Every sentence needs a valid checksum. All talkers are accepted; most proprietary sentences are not. `NMEASentence`
/// interprets the fields; an epoch with a void position has no fix. After the first epochs, the decoder does not
/// allocate memory.
package struct NMEADecoder {
  /// Counters of the decoder.
  package struct Counters: Equatable, Sendable {
    /// Sentences with a valid checksum, including those that are unknown, unusable or late.
    package var sentences: UInt64 = 0
    /// Sentences with a wrong checksum.
    package var wrongChecksum: UInt64 = 0
    /// Lines that begin with `$` and have no complete checksum: truncated, sent without a checksum, or noise.
    package var unchecked: UInt64 = 0
    /// Lines that begin with `$` and have more than 512 bytes.
    package var overlong: UInt64 = 0
    /// Sentences of types that are not used for fixes: GSV, most proprietary sentences, and others.
    package var unknown: UInt64 = 0
    /// Sentences with an invalid time or position in spite of a valid checksum.
    package var unusable: UInt64 = 0
    /// Sentences received after the end of their epoch.
    package var late: UInt64 = 0
    /// Lines of other protocols, such as AIS (`!`), TAIP (`>`) and tag blocks (`\`), and unknown proprietary sentences.
    package var foreign: UInt64 = 0
    /// Decoded fixes.
    package var fixes: UInt64 = 0

    package init() {}
  }

  /// Counters since initialization.
  package private(set) var counters = Counters()
  /// How many bytes followed the sentence that completed the last fix, in the same call of `decode`.
  package private(set) var bytesAfterFix = 0
  /// Counts the sentences by address; nil: they are not counted.
  package var census: NMEACensus?
  private var framing = NMEAFraming()
  private var assembler: NMEAAssembler
  private var scratch: [UInt8] = []
  /// Whether the previous byte was the end of a line.
  private var isLineStart = false
  /// Maximum number of reported signals (GSV); more than all constellations have.
  private static let maximumSignals = 64
  /// A signal that is missing from the reports (GSV) for longer than this does not count. Receivers report all of them
  /// every 1 to 5 s, so this is at least three cycles.
  package static let maximumSkyAge = Duration.seconds(15)
  /// The last report of each signal, and its arrival, sorted. A dictionary would cost more for so few entries.
  private var inView: [(talker: UInt64, signal: UInt8, count: Int, at: BootInstant)] = []

  /// Satellites in view of all constellations, used or not, as of the last report (GSV): the sum over the
  /// constellations that were reported in the `maximumSkyAge` before it. Nil before the first report.
  ///
  /// A satellite is listed with each of its signals, so a constellation has the satellites of the signal with the most
  /// of them, and those without a signal, which are listed only once.
  package var satellitesInView: Int? {
    guard !inView.isEmpty else { return nil }
    var sum = 0
    var talker: UInt64 = 0
    var most = 0
    for report in inView {
      if report.talker != talker { (sum, talker, most) = (sum + most, report.talker, 0) }
      if report.signal == UInt8(ascii: "0") { sum += report.count } else { most = max(most, report.count) }
    }
    return sum + most
  }

  /// - Parameters:
  ///   - receivesDatagrams: whether the sentences come in datagrams. Datagrams may be reordered: a sentence whose time
  ///     is up to two seconds before that of an earlier one is late, and does not begin an epoch. The first byte begins
  ///     a line.
  ///   - hasMarkedEnds: whether `finish` follows each epoch: then no epoch ends earlier just because it has all the
  ///     sentences of the previous epochs.
  package init(receivesDatagrams: Bool = false, hasMarkedEnds: Bool = false) {
    assembler = NMEAAssembler(mayBeReordered: receivesDatagrams, hasMarkedEnds: hasMarkedEnds)
    isLineStart = receivesDatagrams
    scratch.reserveCapacity(2 * NMEAFraming.maximumLength)
  }

  /// Learns the order of the receiver's sentences from the beginning of a recording, which is then decoded from the
  /// start: there is no silence to show where the first epochs begin.
  package mutating func learnSentenceOrder(from beginning: Span<UInt8>) {
    var decoder = NMEADecoder()
    decoder.decode(beginning, at: .boot) { _ in }
    assembler.adoptOrder(of: decoder.assembler)
  }

  /// When to call `expire`: silence until then completes the open epoch. Nil if none is open.
  package var deadline: BootInstant? { assembler.deadline }

  /// Decodes the next bytes.
  ///
  /// - Parameters:
  ///   - bytes: any part of the stream.
  ///   - now: their arrival; constant when a file is read.
  ///   - emit: called with each fix when its epoch has ended.
  package mutating func decode(_ bytes: Span<UInt8>, at now: BootInstant, into emit: (Fix) -> Void) {
    var index = 0
    var fixes = counters.fixes
    if framing.isHolding {
      index = resume(bytes, at: now, into: emit)
      if counters.fixes != fixes { (fixes, bytesAfterFix) = (counters.fixes, bytes.count - index) }
    }
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
        handleSentence(bytes.extracting(index..<end), at: now, into: emit)
        index = end
        if counters.fixes != fixes { (fixes, bytesAfterFix) = (counters.fixes, bytes.count - index) }
      case .wrongChecksum(let end):
        counters.wrongChecksum += 1
        assembler.noteDamage()
        index = end
      case .unchecked(let next):
        noteUnchecked(endingWith: bytes[next])
        index = next
      case .overlong(let next):
        counters.overlong += 1
        assembler.noteDamage()
        index = next
      case .partial:
        framing.hold(bytes, from: index)
        assembler.partReceived(at: now)
        index = bytes.count
      }
    }
  }

  /// Decodes the next bytes, as above.
  package mutating func decode(_ bytes: [UInt8], at now: BootInstant, into emit: (Fix) -> Void) {
    decode(bytes.span, at: now, into: emit)
  }

  /// Whether a sentence is incomplete.
  package var isInSentence: Bool { framing.isHolding }

  /// The line was active until now, although nothing was read.
  package mutating func noteActivity(at now: BootInstant) { assembler.noteActivity(at: now) }

  /// Ends the open epoch if its deadline has passed.
  package mutating func expire(at now: BootInstant, into emit: (Fix) -> Void) {
    assembler.expire(at: now) { fix in
      counters.fixes += 1
      emit(fix)
    }
  }

  /// Discards the open epoch: at once if it is not known which sentence the receiver sends last in an epoch; otherwise
  /// unless the epoch is completed, or another sentence with its time follows.
  package mutating func discardUnlessContinued() { assembler.discardUnlessContinued() }

  /// A datagram has ended, and an incomplete sentence with it; the next byte begins a line.
  package mutating func endDatagram() {
    if framing.drop() { counters.unchecked += 1 }
    isLineStart = true
  }

  /// End of input; ends the open epoch.
  package mutating func finish(into emit: (Fix) -> Void) {
    if framing.drop() { counters.unchecked += 1 }
    assembler.finish { fix in
      counters.fixes += 1
      emit(fix)
    }
  }

  /// Continues a sentence that began in an earlier input. Returns the index of the first byte that was not read.
  private mutating func resume(_ bytes: Span<UInt8>, at now: BootInstant, into emit: (Fix) -> Void) -> Int {
    let before = framing.borrowBuffer(filledFrom: bytes, into: &scratch)
    var line: [UInt8] = []
    swap(&line, &scratch)
    var next = bytes.count
    var isPartial = false
    switch NMEAFraming.examine(line.span, from: 0) {
    case .sentence(let end):
      handleSentence(line.span.extracting(0..<end), at: now, into: emit)
      next = end - before
    case .wrongChecksum(let end):
      counters.wrongChecksum += 1
      assembler.noteDamage()
      next = end - before
    case .unchecked(let unread):
      noteUnchecked(endingWith: line[unread])
      next = unread - before
    case .overlong(let unread):
      counters.overlong += 1
      assembler.noteDamage()
      next = unread - before
    case .partial:
      isPartial = true
      assembler.partReceived(at: now)
    }
    framing.returnBuffer(&line, keeping: isPartial)
    swap(&line, &scratch)
    return max(next, 0)
  }

  /// A line had no complete checksum before this byte. It was damaged, unless it ended here: some receivers send lines
  /// without a checksum.
  private mutating func noteUnchecked(endingWith byte: UInt8) {
    counters.unchecked += 1
    if byte != UInt8(ascii: "\r"), byte != UInt8(ascii: "\n") { assembler.noteDamage() }
  }

  private mutating func noteInView(_ count: Int, talker: UInt64, signal: UInt8, at now: BootInstant) {
    inView.removeAll { now - $0.at > NMEADecoder.maximumSkyAge }
    let index = inView.firstIndex { ($0.talker, $0.signal) >= (talker, signal) } ?? inView.count
    if index < inView.count, inView[index].talker == talker, inView[index].signal == signal {
      inView[index] = (talker, signal, count, now)
    } else if inView.count < NMEADecoder.maximumSignals {
      // Otherwise a sender could fill the memory with invented talkers.
      inView.insert((talker, signal, count, now), at: index)
    }
  }

  private mutating func handleSentence(_ line: Span<UInt8>, at now: BootInstant, into emit: (Fix) -> Void) {
    counters.sentences += 1
    census?.count(line)
    let sentence = NMEASentence.read(line)
    switch sentence {
    case .unknown:
      counters.unknown += 1
      if line[1] == UInt8(ascii: "P") { counters.foreign += 1 }
    case .sky(let count, let signal):
      counters.unknown += 1
      noteInView(count, talker: NMEASentence.address(line), signal: signal, at: now)
    case .unusable: counters.unusable += 1
    default:
      var fixes: UInt64 = 0
      let isInTime = assembler.add(sentence, address: NMEASentence.address(line), at: now) { fix in
        fixes += 1
        emit(fix)
      }
      counters.fixes += fixes
      if !isInTime { counters.late += 1 }
    }
  }
}
