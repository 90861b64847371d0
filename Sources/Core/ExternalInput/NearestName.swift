// SPDX-License-Identifier: Apache-2.0

/// Suggests a name for a misspelled one.
package enum NearestName {
  /// The candidate with the smallest edit distance to `name`; if there are several, the first. The distance must be at
  /// most a third of the letters, or one if that is more, or two for a name of four letters or more with the same first
  /// letter. If one name is a prefix of the other, with three letters or more, their distance counts as one.
  package static func find(_ name: String, among candidates: [String]) -> String? {
    let written = Array(name.lowercased().unicodeScalars.prefix(64))
    var best: (name: String, edits: Int)?
    for candidate in candidates {
      let meant = Array(candidate.unicodeScalars)
      let isBeginning =
        min(written.count, meant.count) >= 3 && (meant.starts(with: written) || written.starts(with: meant))
      let edits = isBeginning ? 1 : distance(from: written, to: meant)
      let isSimilar = written.count >= 4 && written.first == meant.first
      guard edits <= max(isSimilar ? 2 : 1, max(meant.count, written.count) / 3), edits < best?.edits ?? .max else {
        continue
      }
      best = (candidate, edits)
    }
    return best?.name
  }

  /// Edit distance: letters omitted, added, replaced or swapped with their neighbour (optimal string alignment).
  package static func distance(from left: [Unicode.Scalar], to right: [Unicode.Scalar]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for (row, letter) in left.enumerated() {
      var current = [row + 1]
      for (column, other) in right.enumerated() {
        var edits = min(last[column + 1] + 1, current[column] + 1, last[column] + (letter == other ? 0 : 1))
        if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
          edits = min(edits, beforeLast[column - 1] + 1)
        }
        current.append(edits)
      }
      (beforeLast, last) = (last, current)
    }
    return last.last ?? 0
  }
}
