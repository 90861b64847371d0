// SPDX-License-Identifier: Apache-2.0
import Foundation

@testable import SimulatedWorld

/// The number of random runs that cover each case, compared with `coverage.txt`.
struct CoverageTally {
  /// What `coverage.txt` expects for a case.
  enum Expectation: Equatable {
    /// At least one run of `make test` must cover the case.
    case often
    /// At least `minimumRuns` runs of `make simulate` must cover the case.
    case seldom
    /// Runs cover the case only occasionally, or not at all, for this reason.
    case rare(String)
    /// No run can cover the case, for this reason.
    case never(String)
  }

  /// The minimum number of runs of `make simulate` that must cover an `often` or `seldom` case.
  static let minimumRuns = 10

  /// The number of runs that cover each case. The key is the case's name, `group case`.
  private(set) var runs: [String: Int] = [:]
  private var parts = 0

  mutating func add(_ coverage: Coverage) {
    for (name, isCovered) in coverage.list where isCovered { runs[name, default: 0] += 1 }
  }

  /// Records that a part of the runs has ended.
  /// - Returns: the number of parts that have ended.
  mutating func endPart() -> Int {
    parts += 1
    return parts
  }

  /// The differences from `coverage.txt`.
  /// - Parameters:
  ///   - names: the names of all cases.
  ///   - isThorough: whether there are at least as many runs as in `make simulate`.
  func problems(_ names: [String], _ expectations: [String: Expectation], isThorough: Bool) -> [String] {
    let unknown = expectations.keys.filter { !names.contains($0) }.sorted()
    return unknown.map { "\($0): there is no such case" }
      + names.compactMap { name in
        let count = runs[name] ?? 0
        switch expectations[name] {
        case nil: return "\(name): covered by \(count) runs, and not in coverage.txt"
        case .never(let why): return count == 0 ? nil : "\(name): covered by \(count) runs, although \(why)"
        case .often where !isThorough: return count > 0 ? nil : "\(name): no run covers it any more"
        case .rare: return nil
        case .seldom where !isThorough: return nil
        case .often, .seldom:
          return count >= CoverageTally.minimumRuns ? nil : "\(name): only \(count) runs cover it any more"
        }
      }
  }

  /// Each case with the number of runs that cover it, and the cases that no run covers.
  func table(_ names: [String], _ expectations: [String: Expectation]) -> String {
    let covered = names.filter { runs[$0] != nil }.map { name in
      let count = "\(runs[name] ?? 0)"
      return String(repeating: " ", count: max(8 - count.count, 1)) + count + "  \(name)"
    }
    let uncovered = names.filter { runs[$0] == nil }.map { name in
      if case .never(let why) = expectations[name] { "   never  \(name): \(why)" } else { "   never  \(name)" }
    }
    return (["    runs  that cover it"] + covered + uncovered).joined(separator: "\n")
  }

  /// The contents of `coverage.txt`.
  static func expectations() throws -> [String: Expectation] {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("coverage.txt")
    return try expectations(String(contentsOf: file, encoding: .utf8))
  }

  /// A line is `group case often`, `group case seldom`, `group case rare: why` or `group case never: why`; a line
  /// that begins with `#` is ignored.
  static func expectations(_ text: String) throws -> [String: Expectation] {
    var expectations: [String: Expectation] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: true).map(String.init)
      let expectation: Expectation? =
        switch (words.count, words.dropFirst(2).first) {
        case (3, "often"): .often
        case (3, "seldom"): .seldom
        case (4, "rare:"): .rare(words[3])
        case (4, "never:"): .never(words[3])
        default: nil
        }
      guard let expectation, expectations.updateValue(expectation, forKey: "\(words[0]) \(words[1])") == nil else {
        throw CoverageError(line: String(line))
      }
    }
    return expectations
  }
}

/// A line of `coverage.txt` that is invalid, or repeats a case.
struct CoverageError: Error, Equatable {
  var line: String
}
