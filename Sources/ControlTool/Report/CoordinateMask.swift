// SPDX-License-Identifier: Apache-2.0

/// Masks every number in a text that may be a coordinate: a number with three decimals or more, as in degrees and in
/// NMEA's `4807.038`; two numbers with decimals side by side; a number after a word such as `latitude`; and a whole
/// number of eight digits or more, as in degrees times 10⁷. Other numbers of these forms are masked by mistake;
/// versions and IP addresses are not.
enum CoordinateMask {
  private struct Number {
    /// Includes the sign.
    var range: Range<Int>
    var decimals: Int
    var isMasked: Bool
  }

  /// Maximum number of characters between the two numbers of a pair, and between a number and its name.
  private static let maximumGap = 4

  /// - Parameters:
  ///   - replacement: written in place of each number.
  ///   - names: no number in one of these is masked, where it is not part of a longer word or number.
  static func masked(_ text: String, with replacement: String, showing names: [String]) -> String {
    let scalars = Array(text.unicodeScalars)
    var numbers = numbers(in: scalars)
    for index in numbers.indices {
      if followsName(numbers[index].range.lowerBound, in: scalars) { numbers[index].isMasked = true }
      guard index > 0, numbers[index].decimals > 0, numbers[index - 1].decimals > 0 else { continue }
      let gap = scalars[numbers[index - 1].range.upperBound..<numbers[index].range.lowerBound]
      if gap.count <= maximumGap, !gap.contains(where: { isLetter($0) || isDigit($0) }) {
        (numbers[index - 1].isMasked, numbers[index].isMasked) = (true, true)
      }
    }
    let shown = names.flatMap { occurrences(of: Array($0.unicodeScalars), in: scalars) }
    var result: [Unicode.Scalar] = []
    var position = 0
    for number in numbers where number.isMasked {
      let digits = number.range.lowerBound + (scalars[number.range.lowerBound] == "-" ? 1 : 0)..<number.range.upperBound
      if shown.contains(where: { $0.contains(digits) }) { continue }
      result += scalars[position..<number.range.lowerBound] + Array(replacement.unicodeScalars)
      position = number.range.upperBound
    }
    return String(String.UnicodeScalarView(result + scalars[position...]))
  }

  /// Runs of digits with at most one point, which is between digits.
  private static func numbers(in text: [Unicode.Scalar]) -> [Number] {
    var numbers: [Number] = []
    var index = 0
    while index < text.count {
      guard isDigit(text[index]) else {
        index += 1
        continue
      }
      let start = index
      var points: [Int] = []
      while index < text.count, isDigit(text[index]) || text[index] == "." {
        if text[index] == "." { points.append(index) }
        index += 1
      }
      var end = index
      while points.last == end - 1 {
        points.removeLast()
        end -= 1
      }
      // The seconds of a time, as in RFC 3339.
      let isTime = start > 0 && text[start - 1] == ":" && index < text.count && text[index] == "Z"
      guard points.count <= 1, !isTime else { continue }
      let decimals = points.first.map { end - $0 - 1 } ?? 0
      let isPartOfWord = start > 0 && isLetter(text[start - 1]) || index < text.count && isLetter(text[index])
      numbers.append(
        Number(
          range: (start > 0 && text[start - 1] == "-" ? start - 1 : start)..<end,
          decimals: decimals, isMasked: decimals >= 3 || decimals == 0 && end - start >= 8 && !isPartOfWord))
    }
    return numbers
  }

  /// Where a text contains a name as a whole.
  private static func occurrences(of name: [Unicode.Scalar], in text: [Unicode.Scalar]) -> [Range<Int>] {
    guard !name.isEmpty, name.count <= text.count else { return [] }
    return (0...text.count - name.count).map { $0..<$0 + name.count }.filter { range in
      guard text[range.lowerBound] == name[0], text[range].elementsEqual(name) else { return false }
      let (before, after) = (text[..<range.lowerBound].suffix(2), text[range.upperBound...].prefix(2))
      return !isContinued(before.reversed()) && !isContinued(Array(after))
    }
  }

  /// Whether these characters beside a name belong to a longer word or number.
  private static func isContinued(_ beside: [Unicode.Scalar]) -> Bool {
    guard let first = beside.first else { return false }
    return isLetter(first) || isDigit(first) || first == "." && beside.count > 1 && isDigit(beside[1])
  }

  /// Whether the number at this place follows a word such as `latitude`.
  private static func followsName(_ start: Int, in text: [Unicode.Scalar]) -> Bool {
    var end = start
    while end > 0, start - end < maximumGap, !isLetter(text[end - 1]), !isDigit(text[end - 1]) { end -= 1 }
    var first = end
    while first > 0, isLetter(text[first - 1]) { first -= 1 }
    let word = String(String.UnicodeScalarView(text[first..<end])).lowercased()
    return ["lat", "lon", "lng"].contains(word) || word.hasSuffix("latitude") || word.hasSuffix("longitude")
  }

  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }
  private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
    ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
  }
}
