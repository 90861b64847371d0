// SPDX-License-Identifier: Apache-2.0

/// Counts the sentences of a receiver by address, for diagnosis only.
package struct NMEACensus: Equatable, Sendable {
  /// Limits the memory that noise with valid checksums can use.
  private static let maximumAddresses = 64

  /// Sentences with valid checksums by address, as in `GPRMC` or `PUBX`.
  package private(set) var counts: [String: Int] = [:]

  package init() {}

  /// The talkers, as in `GP`, in alphabetical order, without proprietary sentences.
  package var talkers: [String] {
    Set(counts.keys.filter { !NMEACensus.isProprietary($0) }.map { String($0.prefix(2)) }).sorted()
  }

  /// The sentence types, as in `RMC`, in alphabetical order; for proprietary sentences the whole address.
  package var kinds: [String] {
    Set(counts.keys.map { NMEACensus.isProprietary($0) ? $0 : String($0.dropFirst(2)) }).sorted()
  }

  /// Whether there was a sentence with a position.
  package var hasPosition: Bool {
    let names = NMEASentence.PositionReport.Kind.allCases.map { "\($0)".uppercased() }
    return !Set(kinds).isDisjoint(with: names)
  }

  /// Counts a sentence with a valid checksum.
  mutating func count(_ line: Span<UInt8>) {
    var address: [UInt8] = []
    for index in 1..<line.count {
      let byte = line[index]
      if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "*") { break }
      guard address.count < 8, (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) else { return }
      address.append(byte)
    }
    guard address.count >= 3 else { return }
    let name = String(decoding: address, as: UTF8.self)
    guard counts[name] != nil || counts.count < NMEACensus.maximumAddresses else { return }
    counts[name, default: 0] += 1
  }

  private static func isProprietary(_ address: String) -> Bool { address.hasPrefix("P") }
}
