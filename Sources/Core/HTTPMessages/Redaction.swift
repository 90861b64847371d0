// SPDX-License-Identifier: Apache-2.0

extension String {
  /// These words of somebody else on one line, without what looks like a token, a key or a password: a party that is asked
  /// for a secret may well quote it when it complains.
  ///
  /// What looks like one: a word that begins like a JSON Web Token, a long word of letters in both cases with digits, a long
  /// hexadecimal one, and what follows `Bearer` or `Basic`. Names, numbers, paths and the usual form of a UUID stay.
  package var withoutSecrets: String {
    var result = ""
    var word: [UInt8] = []
    var followsScheme = false
    func flush() {
      guard !word.isEmpty else { return }
      let text = String(decoding: word, as: UTF8.self)
      result += followsScheme || word.looksSecret ? "<redacted>" : text
      let scheme = text.lowercased()
      followsScheme = scheme.hasSuffix("bearer") || scheme.hasSuffix("basic")
      word.removeAll(keepingCapacity: true)
    }
    for scalar in unicodeScalars {
      if scalar.isASCII, UInt8(scalar.value).standsInSecret {
        word.append(UInt8(scalar.value))
        continue
      }
      flush()
      if scalar != " " { followsScheme = false }
      result.unicodeScalars.append(scalar.value < 32 || scalar.value == 127 ? " " : scalar)
    }
    flush()
    return result
  }
}

extension UInt8 {
  /// Letters, digits and the marks of both base64 alphabets but the slash, which divides paths.
  fileprivate var standsInSecret: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "+"),
      UInt8(ascii: "="):
      true
    default: false
    }
  }
}

extension [UInt8] {
  fileprivate var looksSecret: Bool {
    // `{"` in base64.
    if count >= 8, starts(with: "eyJ".utf8) { return true }
    var (hasUpper, hasLower, hasDigit, isHex) = (false, false, false, true)
    for byte in self {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"):
        hasUpper = true
        isHex = isHex && byte <= UInt8(ascii: "F")
      case UInt8(ascii: "a")...UInt8(ascii: "z"):
        hasLower = true
        isHex = isHex && byte <= UInt8(ascii: "f")
      case UInt8(ascii: "0")...UInt8(ascii: "9"): hasDigit = true
      default: isHex = false
      }
    }
    if count >= 32, isHex { return true }
    return hasUpper && hasLower && (count >= 40 || (count >= 20 && hasDigit))
  }
}
