// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import HTTPMessages
import SystemCalls

extension SettingType where Value == String {
  /// A text of one line that is not empty.
  static let line = SettingType(name: "string", allowed: "") { value throws(ValueProblem) in
    try value.line(expected: "a string in quotes")
  }

  /// The path of a file, relative to the directory of the main settings file.
  static let path = SettingType(name: "path", allowed: "", text: { $0.isEmpty ? nil : "\"\($0)\"" }) {
    value, context throws(ValueProblem) in
    try value.reference(expected: "a path in quotes").resolvedPath(in: context.directory)
  }

  /// The path of a file that must exist and be PEM. It is checked here, because libcurl would report it only with the
  /// first request.
  static let certificateFile = pemFile(with: "CERTIFICATE")
  static let keyFile = pemFile(with: privateKey)

  private static var privateKey: String { "PRIVATE KEY" }

  /// Whether a PEM file has an encrypted key: in PKCS #8, or in the older format of OpenSSL.
  private static func isEncrypted(_ text: String) -> Bool {
    text.contains(text: "ENCRYPTED PRIVATE KEY-----") || text.contains(text: "Proc-Type: 4,ENCRYPTED")
  }

  /// - Parameter content: the end of the label of what the file must contain.
  private static func pemFile(with content: String) -> SettingType {
    SettingType(name: path.name, allowed: path.allowed) { value, context throws(ValueProblem) in
      let path = try path.read(value, context)
      let bytes: [UInt8]
      do throws(ConfigurationEnvironment.FileProblem) {
        // Five times the size of a bundle of all public authorities.
        bytes = try context.environment.readFile(path, 1_000_000)
      } catch {
        throw ValueProblem(
          message: "\(path.printable) \(error.explanation); a PEM file is expected"
            + (error == .permissionDenied ? " that the user of the service can read" : ""),
          mayAppearLater: error == .missing, isPermissionDenied: error == .permissionDenied)
      }
      let text = String(decoding: bytes, as: UTF8.self)
      guard content != privateKey || !isEncrypted(text) else {
        throw ValueProblem(
          message: "\(path.printable) is encrypted, and no setting has its passphrase; write it without one: "
            + "openssl pkey -in \(path.printable) -out KEY_FILE", mayAppearLater: true)
      }
      guard text.contains(text: "\(content)-----") else {
        throw ValueProblem(
          message: "\(path.printable) is not the PEM file that is expected: it has no line -----BEGIN \(content)-----",
          mayAppearLater: true)
      }
      return path
    }
  }

  /// The path of a file that the node exporter's textfile collector reads. A relative path is relative to the daemon's
  /// runtime directory: the daemon may write there, and each of several daemons on a box has its own.
  static let metricsFile = SettingType(name: path.name, allowed: path.allowed) { value, context throws(ValueProblem) in
    let directory = Environment.serviceDirectory(in: context.environment.variable("RUNTIME_DIRECTORY"))
    let path = try value.line(expected: "a path in quotes").resolvedPath(in: directory ?? context.directory)
    guard path.hasSuffix(".prom") else {
      throw ValueProblem(
        message: "\(path.printable) does not end in .prom; the collector reads only such files")
    }
    return path
  }

  /// The path of a file, or `-`.
  static let inputFile = SettingType(name: path.name, allowed: path.allowed) { value, context throws(ValueProblem) in
    value.content == .string("-") ? "-" : try path.read(value, context)
  }

  /// The path of a device.
  static let device = SettingType(name: "path", allowed: "an absolute path") { value throws(ValueProblem) in
    let path = try value.line(expected: "the path of a device in quotes")
    guard path.hasPrefix("/") else {
      throw ValueProblem(message: "\"\(path.printable)\" is not an absolute path, as in \"/dev/ttyUSB0\"")
    }
    return path
  }

  /// A key of a response, or a path of keys separated by dots.
  static let dottedKey = SettingType(
    name: "string", allowed: "a key, or a path of keys separated by dots", text: { "\"\($0)\"" }
  ) { value throws(ValueProblem) in
    let key = try value.line(expected: "a key in quotes")
    guard !key.split(separator: ".", omittingEmptySubsequences: false).contains("") else {
      throw ValueProblem(message: "\"\(key.printable)\" has an empty part between its dots")
    }
    return key
  }

  /// A provider ID.
  static let identifier = SettingType(name: "string", allowed: "at most 64 characters, none of `/ : ? , #`") {
    value throws(ValueProblem) in
    guard case .string(let text) = value.content else { throw .wrongType(of: value, expected: "a string in quotes") }
    if let problem = Identifier.problem(of: text) { throw ValueProblem(message: problem) }
    return text
  }

  /// A template for the body of a request.
  static let template = SettingType(
    name: "string", allowed: "placeholders `{provider_id}`, `{vehicle_id}`, `{scope}` and `{id}`"
  ) {
    value throws(ValueProblem) in
    guard case .string(let text) = value.content else { throw .wrongType(of: value, expected: "a string in quotes") }
    // A body may be JSON, which has other braces: only what has the form of a placeholder is checked.
    try Template.check(text, bracesAreLiteral: true)
    return text
  }

  /// The URL of the token provider.
  static let urlTemplate = SettingType(
    name: "URL",
    allowed:
      "https; http to a loopback address; placeholders `{provider_id}`, `{vehicle_id}`, `{scope}` and `{id}` after the host"
  ) { value throws(ValueProblem) in
    let text = try value.line(expected: "a URL in quotes")
    let address = try WebAddress.parse(text, schemes: ["https", "http"])
    try address.requireEncryption()
    try Template.check(text, bracesAreLiteral: false)
    return text
  }

  /// The URL of Fleet Engine.
  static let endpoint = SettingType(
    name: "URL", allowed: "https; http to a loopback address; no path", text: { "\"\($0)\"" }
  ) { value throws(ValueProblem) in
    let text = try value.line(expected: "a URL in quotes")
    let address = try WebAddress.parse(text, schemes: ["https", "http"])
    try address.requireEncryption()
    guard address.path.isEmpty || address.path == "/" else {
      throw ValueProblem(
        message: "has the path \"\(address.path.printable)\"; write the scheme and the host alone: "
          + "\"\(address.origin)\"")
    }
    return address.origin
  }

  /// The URL of a proxy.
  static let proxy = SettingType(name: "URL", allowed: "http, https, socks5 or socks5h; no path") {
    value throws(ValueProblem) in
    let text = try value.line(expected: "a URL in quotes")
    let address = try WebAddress.parse(text, schemes: ["http", "https", "socks5", "socks5h"])
    guard address.path.isEmpty || address.path == "/" else {
      throw ValueProblem(message: "has a path; write the scheme, the host and the port alone")
    }
    return address.origin
  }
}

extension SettingType where Value == [String] {
  /// A program and its arguments.
  static let commandTemplate = SettingType(
    name: "array",
    allowed:
      "the absolute path of a program, then its arguments; placeholders `{provider_id}`, `{vehicle_id}`, `{scope}` and `{id}` in these"
  ) { value, context throws(ValueProblem) in
    let example = "[\"/usr/local/bin/get-token\", \"{vehicle_id}\"]"
    guard case .array(let elements) = value.content else {
      throw .wrongType(of: value, expected: "an array of strings, as in \(example),")
    }
    var words: [String] = []
    for element in elements {
      guard case .string(let word) = element.content else {
        throw ValueProblem(
          message: "has \(element.typeName) in it; strings are expected, as in \(example)", position: element.position)
      }
      guard !word.utf8.contains(0) else {
        throw ValueProblem(message: "has a NUL character in it", position: element.position)
      }
      try Template.check(word, bracesAreLiteral: true)
      words.append(word)
    }
    guard let program = words.first else { throw ValueProblem(message: "is empty; write it as in \(example)") }
    guard program.hasPrefix("/"), !program.contains("{") else {
      throw ValueProblem(
        message:
          "begins with \"\(program.printable)\", which is not the absolute path of a program; no shell looks for it; write it as in \(example)"
      )
    }
    // It must exist, otherwise the mistake would be noticed only when the first token is needed.
    do throws(ConfigurationEnvironment.FileProblem) {
      _ = try context.environment.readFile(program, 1)
    } catch {
      switch error {
      // An executable program need not be readable, and this process may run as a different user from the daemon.
      case .tooLarge, .permissionDenied, .systemError: break
      case .missing, .directory, .notRegular:
        throw ValueProblem(
          message: "\(program.printable) \(error.explanation); a program is expected", mayAppearLater: error == .missing
        )
      }
    }
    return words
  }
}

extension SettingType where Value: RawRepresentable & CaseIterable & Sendable, Value.RawValue == String {
  /// One of the raw values.
  static var choice: SettingType { choice(of: Array(Value.allCases), \.rawValue) }
}

extension SettingType where Value: Sendable {
  /// One of several values, each with its name.
  static func choice(of values: [Value], _ word: @escaping @Sendable (Value) -> String) -> SettingType {
    let words = values.map(word)
    let allowed = words.map { "\"\($0)\"" }.joined(separator: ", ")
    return SettingType(
      name: "string", allowed: words.map { "`\"\($0)\"`" }.joined(separator: ", "), text: { "\"\(word($0))\"" }
    ) { value throws(ValueProblem) in
      guard case .string(let written) = value.content else {
        throw .wrongType(of: value, expected: "one of \(allowed)")
      }
      if let index = words.firstIndex(of: written) { return values[index] }
      let hint = NearestName.find(written, among: words).map { "; did you mean \"\($0)\"?" } ?? ""
      throw ValueProblem(message: "\"\(written.printable)\" is not allowed; allowed: \(allowed)\(hint)")
    }
  }
}

extension TOMLValue {
  /// A text that is not empty and has no control characters.
  func line(expected: String) throws(ValueProblem) -> String {
    guard case .string(let text) = content else { throw .wrongType(of: self, expected: expected) }
    guard !text.isEmpty else { throw ValueProblem(message: "is empty; \(expected) is expected") }
    guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw ValueProblem(message: "has a control character in it")
    }
    return text
  }
}
