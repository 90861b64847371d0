// SPDX-License-Identifier: Apache-2.0

/// Counts the sentences of a receiver by address, for diagnosis only. `NMEADecoder` interprets them.
package struct NMEACensus: Equatable, Sendable {
  /// Bounds the memory for noise with valid checksums.
  private static let mostAddresses = 64

  /// Sentences with valid checksums by address, as in `GPRMC` or `PUBX`.
  package private(set) var counts: [String: Int] = [:]
  private var line: [UInt8] = []

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
  package var hasPosition: Bool { !Set(kinds).isDisjoint(with: ["RMC", "GGA", "GNS", "GLL"]) }

  /// Processes the next bytes.
  package mutating func read(_ bytes: Span<UInt8>) {
    for index in 0..<bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "$") {
        line.removeAll(keepingCapacity: true)
      } else if line.isEmpty {
        continue
      }
      line.append(byte)
      guard NMEACensus.isWhole(line) else {
        if line.count >= NMEAFraming.maximumLength { line.removeAll(keepingCapacity: true) }
        continue
      }
      if case .sentence = NMEAFraming.examine(line.span, from: 0) { count() }
      line.removeAll(keepingCapacity: true)
    }
  }

  private mutating func count() {
    let address = line.dropFirst().prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "*") }
    guard (3...8).contains(address.count),
      address.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) })
    else { return }
    let name = String(decoding: address, as: UTF8.self)
    guard counts[name] != nil || counts.count < NMEACensus.mostAddresses else { return }
    counts[name, default: 0] += 1
  }

  /// Whether the line has a checksum field.
  private static func isWhole(_ line: [UInt8]) -> Bool {
    line.count > 3 && line[line.count - 3] == UInt8(ascii: "*")
  }

  private static func isProprietary(_ address: String) -> Bool { address.hasPrefix("P") }
}
