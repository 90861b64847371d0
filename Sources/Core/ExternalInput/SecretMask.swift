// SPDX-License-Identifier: Apache-2.0

/// Masks everything in a text that could be a secret: a token, a key, a password, whole or in pieces.
///
/// It does not know any formats. Words are sequences of letters and digits. A word is *random* if it does not look like
/// a natural word: unusual letter pairs, digits among letters, or capitals within it. That matches base64, base32 and
/// hexadecimal in any case. These are masked:
///
/// - random words of 8 characters or more, other words of 25 or more in which no capital follows a lower-case letter,
///   and numbers of 16 digits or more;
/// - three or more random words, of 12 characters or more together, with at most two other words between two of them,
///   of which at most one has more than 3 characters: a secret in pieces;
/// - the word after `Bearer` and `Basic`, values assigned to a name such as `password`, the word after an option such
///   as `--password`, and user and password in a URL.
///
/// The names that the settings give to provider and vehicle are not secrets, even if they look like secrets (VINs,
/// UUIDs): they are the first thing that a reader compares. Other names that look like a key are masked by mistake. A
/// passphrase of natural words is masked only if a name such as `password` precedes it.
enum SecretMask {
  static let replacement = "<redacted>".unicodeScalars

  private enum Kind {
    /// Looks like a word, a name or a number.
    case plain
    /// Too short to decide, such as `to` and `v1`.
    case short
    case random
  }

  private struct Word {
    var range: Range<Int>
    var kind: Kind
    var isMasked: Bool
  }

  /// - Parameter names: names that remain readable where they occur as whole words.
  static func masked(_ text: [Unicode.Scalar], except names: [String] = []) -> [Unicode.Scalar] {
    let shown = names.flatMap { occurrences(of: Array($0.unicodeScalars), in: text) }
    // A secret whose pieces have such a name between them is masked as if the name were not there.
    var words = words(of: text).filter { word in !shown.contains { $0.contains(word.range.lowerBound) } }
    maskPieces(&words, in: text, without: shown)
    maskAssigned(&words, in: text)
    maskUserInformation(&words, in: text)
    return replaced(text, words)
  }

  /// Where a name occurs between characters that are not part of a word.
  private static func occurrences(of name: [Unicode.Scalar], in text: [Unicode.Scalar]) -> [Range<Int>] {
    guard !name.isEmpty, name.count <= text.count else { return [] }
    func isBoundary(_ index: Int) -> Bool { !text.indices.contains(index) || !isWordCharacter(text[index]) }
    return (0...text.count - name.count).lazy.map { $0..<$0 + name.count }.filter {
      isBoundary($0.lowerBound - 1) && isBoundary($0.upperBound) && text[$0].elementsEqual(name)
    }
  }

  // MARK: - Words

  private static func words(of text: [Unicode.Scalar]) -> [Word] {
    var words: [Word] = []
    var start: Int?
    for index in 0...text.count {
      if index < text.count, isWordCharacter(text[index]) {
        if start == nil { start = index }
      } else if let first = start {
        words.append(word(text, first..<index))
        start = nil
      }
    }
    return words
  }

  private static func isWordCharacter(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII ? isLetter(scalar) || isDigit(scalar) : scalar.properties.isAlphabetic
  }

  private static func word(_ text: [Unicode.Scalar], _ range: Range<Int>) -> Word {
    let unusualPairs = unusualPairs(text[range])
    let isRandom = range.count >= 8 ? unusualPairs >= 2 : unusualPairs >= 1
    let kind: Kind = isRandom ? .random : range.count <= 3 ? .short : .plain
    return Word(range: range, kind: kind, isMasked: isRandom && range.count >= 8 || isTooLong(text[range]))
  }

  private static func isTooLong(_ word: ArraySlice<Unicode.Scalar>) -> Bool {
    if word.count >= 16, word.allSatisfy(isDigit) { return true }
    guard word.count >= 25, word.allSatisfy({ $0.isASCII }) else { return false }
    return !zip(word, word.dropFirst()).contains { isLower($0) && isUpper($1) }
  }

  /// The number of unusual character pairs.
  private static func unusualPairs(_ word: ArraySlice<Unicode.Scalar>) -> Int {
    var count = 0
    // The number of letters in this part of a camel-case word (`fleetEngine` has two), and whether it has several.
    var (partLength, hasParts) = (0, false)
    // Digits in a row, and whether the previous letter follows a digit.
    var (digits, followsDigit) = (0, false)
    func endPart() {
      if hasParts, partLength < 3 { count += 1 }
    }
    for (previous, scalar) in zip([nil] + word.map(Optional.some), word) {
      digits = isDigit(scalar) ? digits + 1 : 0
      guard let previous else {
        partLength = 1
        continue
      }
      // `7fa3` and `7f3a`, but not `12Z`.
      if isLetter(previous), followsDigit { count += 1 }
      followsDigit = isDigit(previous) && isLetter(scalar)
      if isLower(previous), isUpper(scalar) {
        if partLength < 3 { count += 1 }
        (partLength, hasParts) = (1, true)
      } else if isLetter(previous), isLetter(scalar) {
        partLength += 1
        if !isCommonPair(previous, scalar) { count += 1 }
      } else if isDigit(previous), isLetter(scalar) {
        count += 1
        (partLength, hasParts) = (1, false)
      } else if isLetter(previous), isDigit(scalar) {
        endPart()
        hasParts = false
      } else if digits == 7, !word.allSatisfy(isDigit) {
        count += 2
      }
    }
    if digits == 0 { endPart() }
    return count
  }

  private static func isCommonPair(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Bool {
    let (row, column) = (Int((first.value | 0x20) - 0x61), (second.value | 0x20) - 0x61)
    return commonPairs.indices.contains(row) && commonPairs[row] & (1 << column) != 0
  }

  /// The letters that follow a to z in natural words: 99.3 % of all pairs in the words of Debian's documentation, and
  /// some more in technical terms.
  private static let commonPairs: [UInt32] = [
    "bcdefghijklmnopqrstuvwxy", "abcdegijlmoprstuy", "acdehiklmoprstuy", "abdegijlorstuvwy",
    "abcdefghijklmnopqrstuvwxyz",
    "acdefgilorstuy", "acefghilmnoprstuwyz", "aeilmnorstuwy", "abcdefghklmnopqrstuvxz", "aeous", "aeilnostuyw",
    "abcdefgiklmnoprstuvwyz", "abcdeiklmnopstuy", "acdefghijklmnopqstuvwyz", "abcdefghijklmnoprstuvwxy",
    "acdefghiklmnopqrstuwy", "luv", "abcdefghiklmnoprstuvwyz", "acdefghiklmnopqrstuvwxy", "acdefhiklmnoprstuvwxyz",
    "abcdefgiklmnoprstuvxyz", "aegimouy", "aehilnorstwy", "acehimprstuy", "abcdeilmnoprstwz", "aeiloyz",
  ].map { letters in letters.unicodeScalars.reduce(0) { $0 | 1 << ($1.value - 0x61) } }

  // MARK: - Pieces

  /// Maximum number of characters between two pieces of one secret, as in `"abc",
  ///  "def"`.
  private static let maximumGap = 4

  private static func maskPieces(_ words: inout [Word], in text: [Unicode.Scalar], without shown: [Range<Int>]) {
    /// The number of characters between a word and the one before it.
    func gap(before index: Int) -> Int {
      let range = words[index - 1].range.upperBound..<words[index].range.lowerBound
      return range.count - shown.filter(range.contains).reduce(0) { $0 + $1.count }
    }
    let gaps = words.indices.map { $0 == 0 ? 0 : gap(before: $0) }
    maskRuns(&words, gaps)
    // A word with digits next to a secret is most likely the rest of it.
    func extend(_ index: Int, beside other: Int) {
      let gap = gaps[max(index, other)]
      let word = text[words[index].range]
      if words[other].isMasked, gap <= maximumGap, word.count >= 4, word.contains(where: isDigit) {
        words[index].isMasked = true
      }
    }
    for index in words.indices.dropFirst() { extend(index, beside: index - 1) }
    for index in words.indices.dropLast().reversed() { extend(index, beside: index + 1) }
  }

  private static func maskRuns(_ words: inout [Word], _ gaps: [Int]) {
    var run: [Int] = []
    // Words after the last random one, which are part of the run if another random one follows.
    var between: [Int] = []
    func close() {
      let random = run.filter { words[$0].kind == .random }
      let length = random.reduce(0) { $0 + words[$1].range.count }
      if random.count >= 3 && length >= 12 || random.contains(where: { words[$0].isMasked }) {
        for index in run { words[index].isMasked = true }
      }
      run = []
      between = []
    }
    for index in words.indices {
      if gaps[index] > maximumGap { close() }
      switch words[index].kind {
      case .random:
        run += between + [index]
        between = []
      case .plain, .short:
        guard !run.isEmpty else { continue }
        between.append(index)
        let plain = between.count { words[$0].kind == .plain }
        if plain > 1 || between.count > 2 { close() }
      }
    }
    close()
  }

  // MARK: - Names

  private static let authSchemes: Set<String> = ["bearer", "basic"]
  /// Names of secrets, and words in such names.
  private static let secretNames: Set<String> = [
    "password", "passwd", "passphrase", "pass", "pwd", "pw", "secret", "token", "key", "apikey", "credential",
    "credentials", "authorization", "auth", "signature", "sig", "session", "sessionid", "cookie", "pin", "otp", "jwt",
  ]

  /// Masks the word after a scheme, and values assigned to a name: `password=…`, `"token": "…"`, `secret: …`.
  private static func maskAssigned(_ words: inout [Word], in text: [Unicode.Scalar]) {
    var index = 0
    while index + 1 < words.count {
      defer { index += 1 }
      let name = lowercased(text[words[index].range])
      let end = words[index].range.upperBound
      let next = words[index + 1].range.lowerBound
      let gap = text[end..<next]
      if authSchemes.contains(where: name.hasSuffix), !gap.isEmpty, gap.allSatisfy({ $0 == " " }) {
        maskValue(&words, from: index + 1, in: text, isQuoted: false)
        continue
      }
      guard isSecretName(name), gap.count <= maximumGap else { continue }
      if isOption(endingAt: end, in: text), gap.allSatisfy({ " ,\"'".unicodeScalars.contains($0) }) {
        let isQuoted = gap.last == "\"" || gap.last == "'"
        maskValue(&words, from: index + 1, in: text, isQuoted: isQuoted)
        continue
      }
      guard gap.allSatisfy({ " \"'=:".unicodeScalars.contains($0) }),
        let separator = gap.first(where: { $0 == "=" || $0 == ":" })
      else { continue }
      let isQuoted = gap.last == "\"" || gap.last == "'"
      // `Invalid token: it has expired` is a sentence.
      let isSentence =
        separator == ":" && gap.last == " " && words[index + 1].kind != .random && !name.hasPrefix("pass")
        && name != "secret" && name != "authorization"
      if isQuoted || !isSentence { maskValue(&words, from: index + 1, in: text, isQuoted: isQuoted) }
    }
  }

  private static func isSecretName(_ name: String) -> Bool {
    secretNames.contains(name) || secretNames.contains { $0.utf8.count >= 5 && name.hasSuffix($0) }
  }

  /// Whether the argument after this one is a secret: this one is an option such as `--password` or `--api-key`.
  static func isSecretOption(_ argument: [Unicode.Scalar]) -> Bool {
    guard let name = words(of: argument).last, name.range.upperBound == argument.count else { return false }
    return isSecretName(lowercased(argument[name.range])) && isOption(endingAt: argument.count, in: argument)
  }

  /// Whether a word is the end of an option such as `--password` or `--api-key`.
  private static func isOption(endingAt end: Int, in text: [Unicode.Scalar]) -> Bool {
    let option = text[..<end].reversed().prefix { isWordCharacter($0) || $0 == "-" || $0 == "_" }
    return option.suffix(2).elementsEqual(["-", "-"])
  }

  /// Masks what is between `://` and `@`, if there is a colon in it.
  private static func maskUserInformation(_ words: inout [Word], in text: [Unicode.Scalar]) {
    for start in text.indices.dropLast(3) where text[start..<start + 3].elementsEqual("://".unicodeScalars) {
      let authority = text[(start + 3)...].prefix { !" /?#\"'<>".unicodeScalars.contains($0) }
      guard let end = authority.lastIndex(of: "@"), authority[..<end].contains(":") else { continue }
      for index in words.indices where (start + 3..<end).contains(words[index].range.lowerBound) {
        words[index].isMasked = true
      }
    }
  }

  /// Masks all words of one value: up to the closing quotation mark, or to the next space.
  private static func maskValue(
    _ words: inout [Word], from first: Int, in text: [Unicode.Scalar], isQuoted: Bool
  ) {
    for index in first..<words.count {
      if index > first {
        let gap = text[words[index - 1].range.upperBound..<words[index].range.lowerBound]
        let terminators = isQuoted ? "\"'" : " ,;\"'"
        if gap.contains(where: terminators.unicodeScalars.contains) { return }
      }
      words[index].isMasked = true
    }
  }

  // MARK: - Text

  /// Masked words with only punctuation between them are replaced together.
  private static func replaced(_ text: [Unicode.Scalar], _ words: [Word]) -> [Unicode.Scalar] {
    var result: [Unicode.Scalar] = []
    var position = 0
    var wasMasked = false
    for word in words where word.isMasked {
      let gap = text[position..<word.range.lowerBound]
      if !(wasMasked && gap.count <= maximumGap && !gap.contains(where: isWordCharacter)) {
        result += gap
        result += replacement
      }
      position = word.range.upperBound
      wasMasked = true
    }
    return result + text[position...]
  }

  // MARK: - Characters

  private static func isLower(_ scalar: Unicode.Scalar) -> Bool { ("a"..."z").contains(scalar) }
  private static func isUpper(_ scalar: Unicode.Scalar) -> Bool { ("A"..."Z").contains(scalar) }
  private static func isLetter(_ scalar: Unicode.Scalar) -> Bool { isLower(scalar) || isUpper(scalar) }
  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

  private static func lowercased(_ word: ArraySlice<Unicode.Scalar>) -> String {
    String(String.UnicodeScalarView(word.suffix(40))).lowercased()
  }
}
