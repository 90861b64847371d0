// SPDX-License-Identifier: Apache-2.0

/// Counts the sentences of a receiver by their addresses, for a person who wants to know what it says. It decides nothing:
/// what the sentences mean is `NMEADecoder`'s.
package struct NMEACensus: Equatable, Sendable {
  /// Noise whose checksum is right by chance must not fill the memory.
  private static let mostAddresses = 64

  /// How often each address came, as in `GPRMC` or `PUBX`; only of sentences with the right checksum.
  package private(set) var counts: [String: Int] = [:]
  private var line: [UInt8] = []

  package init() {}

  /// Who speaks, as in `GP`, in alphabetical order; not the private ones.
  package var talkers: [String] {
    Set(counts.keys.filter { !NMEACensus.isPrivate($0) }.map { String($0.prefix(2)) }).sorted()
  }

  /// What is said, as in `RMC`, in alphabetical order; of the private ones the whole address.
  package var kinds: [String] {
    Set(counts.keys.map { NMEACensus.isPrivate($0) ? $0 : String($0.dropFirst(2)) }).sorted()
  }

  /// Whether a sentence came that tells a position.
  package var tellsPosition: Bool { !Set(kinds).isDisjoint(with: ["RMC", "GGA", "GNS", "GLL"]) }

  /// Takes the next bytes.
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

  /// Whether the line has the place of its checksum.
  private static func isWhole(_ line: [UInt8]) -> Bool {
    line.count > 3 && line[line.count - 3] == UInt8(ascii: "*")
  }

  private static func isPrivate(_ address: String) -> Bool { address.hasPrefix("P") }
}
