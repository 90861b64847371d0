// SPDX-License-Identifier: Apache-2.0

/// Finds the name that somebody may have meant.
enum NearestName {
  /// The candidate with the fewest slips between it and `name`, if there are few enough to have meant it: a third of
  /// its letters, or one name is the beginning of the other. Of several the first.
  static func find(_ name: String, among candidates: [String]) -> String? {
    let written = Array(name.lowercased().unicodeScalars.prefix(64))
    var best: (name: String, slips: Int)?
    for candidate in candidates {
      let meant = Array(candidate.unicodeScalars)
      let isBeginning =
        min(written.count, meant.count) >= 3 && (meant.starts(with: written) || written.starts(with: meant))
      let slips = isBeginning ? 1 : slips(from: written, to: meant)
      guard slips <= max(1, max(meant.count, written.count) / 3), slips < best?.slips ?? .max else { continue }
      best = (candidate, slips)
    }
    return best?.name
  }

  /// Letters left out, added, exchanged or swapped with their neighbour (optimal string alignment).
  static func slips(from left: [Unicode.Scalar], to right: [Unicode.Scalar]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for (row, letter) in left.enumerated() {
      var current = [row + 1]
      for (column, other) in right.enumerated() {
        var slips = min(last[column + 1] + 1, current[column] + 1, last[column] + (letter == other ? 0 : 1))
        if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
          slips = min(slips, beforeLast[column - 1] + 1)
        }
        current.append(slips)
      }
      (beforeLast, last) = (last, current)
    }
    return last.last ?? 0
  }
}
