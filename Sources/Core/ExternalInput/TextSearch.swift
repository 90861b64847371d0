// SPDX-License-Identifier: Apache-2.0

// Searching with the standard library would add its module of regular expressions, which is a tenth of the program.
extension StringProtocol {
  /// Whether the text occurs in this one, byte by byte.
  ///
  /// - Parameter text: not empty.
  package func contains(text: String) -> Bool { parts(around: text) != nil }

  /// What is before and after the first occurrence of a text, byte by byte; nil if it does not occur.
  ///
  /// - Parameter text: not empty.
  package func parts(around text: String) -> (before: SubSequence, after: SubSequence)? {
    let wanted = Array(text.utf8)
    var rest = utf8[...]
    while let start = rest.firstIndex(of: wanted.first ?? 0) {
      rest = rest[start...]
      if rest.starts(with: wanted) { return (self[..<start], self[rest.index(start, offsetBy: wanted.count)...]) }
      rest.removeFirst()
    }
    return nil
  }
}
