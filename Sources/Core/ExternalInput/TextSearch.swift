// SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
  /// Whether the text occurs in this one, byte by byte. The search of the standard library would add its module of
  /// regular expressions to the program, a tenth of it.
  ///
  /// - Parameter text: not empty.
  package func contains(text: String) -> Bool {
    let wanted = Array(text.utf8)
    var rest = utf8[...]
    while let start = rest.firstIndex(of: wanted.first ?? 0) {
      rest = rest[start...]
      if rest.starts(with: wanted) { return true }
      rest.removeFirst()
    }
    return false
  }
}
