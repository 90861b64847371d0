// SPDX-License-Identifier: Apache-2.0

extension SettingType where Value == [Settings.Token.Header] {
  /// Headers of the token request, in the order of their names.
  static let headers = SettingType(
    name: "table",
    allowed: "each value a string, `{ credential = \"…\" }` or `{ file = \"…\" }`; a secret never as a string"
  ) { value, context throws(ValueProblem) in
    guard case .table(let members) = value.content else {
      throw .wrongType(of: value, expected: "a table of headers, as in { Accept = \"application/json\" },")
    }
    var headers: [Settings.Token.Header] = []
    for (name, member) in members.sorted(by: { $0.key < $1.key }) {
      if let problem = HeaderRules.problem(of: name) {
        throw ValueProblem(message: problem, position: member.keyPosition)
      }
      guard !headers.contains(where: { $0.name.lowercased() == name.lowercased() }) else {
        throw ValueProblem(message: "names the header \(name.printable) twice", position: member.keyPosition)
      }
      let source: Settings.Token.HeaderSource
      do throws(ValueProblem) {
        source = try HeaderRules.source(of: member.value, header: name, context)
      } catch {
        throw ValueProblem(
          message: "the header \(name.printable) \(error.message)", position: error.position ?? member.value.position)
      }
      headers.append(Settings.Token.Header(name: name, valueSource: source))
    }
    return headers
  }
}

/// Rules for the names and values of headers.
enum HeaderRules {
  /// The mistake in the name of a header; nil if it is valid.
  static func problem(of name: String) -> String? {
    let isToken = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      // RFC 9110, section 5.6.2.
      default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
      }
    }
    guard isToken, !name.isEmpty, name.utf8.count <= 128 else {
      return "\"\(name.printable)\" is not the name of a header"
    }
    if ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te"].contains(name.lowercased()) {
      return "the header \(name) is set by the program itself"
    }
    return nil
  }

  /// Parses the value of a header. Error messages never contain it, because it may be a secret.
  static func source(
    of value: TOMLValue, header: String, _ context: SettingsContext
  ) throws(ValueProblem) -> Settings.Token.HeaderSource {
    switch value.content {
    case .string(let text):
      guard !text.isEmpty, text.utf8.allSatisfy({ $0 == 0x09 || (0x20...0x7E).contains($0) }) else {
        throw ValueProblem(message: "is empty or has characters that are not allowed in a header")
      }
      guard !isSecret(header: header), !looksSecret(text) else {
        throw ValueProblem(
          message: "contains a secret, which must not be in the settings; write "
            + "\(header) = { credential = \"NAME\" } and LoadCredential=NAME:/path in the unit, or "
            + "\(header) = { file = \"/path\" } for a file that only the service can read")
      }
      return .plain(text)
    case .table(let members):
      let (name, member) = try members.only(of: ["credential", "file"])
      if name == "credential" { return .credential(try member.value.credentialName()) }
      return .file(try member.value.reference(expected: "a path in quotes").resolvedPath(in: context.directory))
    default: throw .wrongType(of: value, expected: "a string or a table as in { credential = \"NAME\" }")
    }
  }

  /// Whether the header's name says that its value is a secret.
  private static func isSecret(header: String) -> Bool {
    let name = header.lowercased()
    return ["authorization", "cookie", "token", "secret", "password", "key", "apikey", "credential", "auth"].contains {
      word in
      name.split(separator: "-").contains(Substring(word)) || name.split(separator: "_").contains(Substring(word))
    }
  }

  static func looksSecret(_ text: String) -> Bool {
    let lower = text.lowercased()
    // Prefixes of a pasted header, authentication schemes, JSON Web Tokens and PEM keys.
    return ["authorization:", "bearer ", "basic ", "digest ", "eyj", "-----begin"].contains { lower.hasPrefix($0) }
  }
}
