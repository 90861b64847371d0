// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// The source of the vehicle's ID, so that one settings file can be used for many vehicles.
enum VehicleIDSource: Equatable, Sendable {
  case literal(String)
  /// Path of a file that contains only the ID.
  case file(String)
  /// The name of a systemd credential.
  case credential(String)
  case hostname
  /// The name of an environment variable.
  case environment(String)

  /// Reads and checks the ID.
  func resolve(in context: SettingsContext) throws(ValueProblem) -> String {
    let (text, origin) = try find(in: context.environment, directory: context.directory)
    let id = String(text.trimmingWhitespace())
    if let problem = Identifier.problem(ofVehicle: id) {
      throw ValueProblem(message: origin.map { "\($0) \(problem)" } ?? problem)
    }
    return id
  }

  /// The text, and the name of its origin for messages.
  private func find(
    in environment: ConfigurationEnvironment, directory: String
  ) throws(ValueProblem) -> (String, String?) {
    switch self {
    case .literal(let text): return (text, nil)
    case .file(let path):
      let path = path.resolvedPath(in: directory)
      return (try Self.read(path, "the file \(path.printable)", environment), "the ID in \(path.printable)")
    case .credential(let name):
      guard let directory = environment.variable("CREDENTIALS_DIRECTORY"), !directory.isEmpty else {
        throw ValueProblem(
          message: "there are no credentials: CREDENTIALS_DIRECTORY is not set; "
            + "add LoadCredential=\(name.printable):/path/to/it to the unit", mayAppearLater: true)
      }
      let text = try Self.read("\(directory)/\(name)", "the credential \(name.printable)", environment)
      return (text, "the ID in the credential \(name.printable)")
    case .hostname:
      guard let name = environment.hostname() else {
        throw ValueProblem(message: "this machine has no host name", mayAppearLater: true)
      }
      return (name, "the host name")
    case .environment(let name):
      guard let text = environment.variable(name) else {
        throw ValueProblem(
          message:
            "the environment variable \(name.printable) is not set; add Environment=\(name.printable)=… to the unit")
      }
      return (text, "the ID in the environment variable \(name.printable)")
    }
  }

  private static func read(
    _ path: String, _ name: String, _ environment: ConfigurationEnvironment
  ) throws(ValueProblem) -> String {
    let bytes: [UInt8]
    do throws(ConfigurationEnvironment.FileProblem) {
      bytes = try environment.readFile(path, 4096)
    } catch {
      throw ValueProblem(
        message: "\(name) \(error.explanation)", mayAppearLater: error == .missing,
        isPermissionDenied: error == .permissionDenied)
    }
    // A shell creates the file before it writes the ID, and a power cut may leave it empty.
    guard !SettingsFile.isEmpty(bytes) else {
      throw ValueProblem(message: "\(name) is empty; the vehicle's ID is expected", mayAppearLater: true)
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ValueProblem(message: "\(name) is not UTF-8 text")
    }
    // The byte order mark that some editors put before the text.
    let hasMark = text.unicodeScalars.first == "\u{FEFF}"
    return hasMark ? String(text.unicodeScalars.dropFirst()) : text
  }
}

extension SettingType where Value == String {
  /// The ID of the vehicle, or a reference to it.
  static let vehicleID = SettingType(
    name: "string or table",
    allowed: "at most 64 characters, none of `/ : ? , #`; or `{ file = \"…\" }`, `{ credential = \"…\" }`, "
      + "`{ hostname = true }`, `{ environment = \"…\" }`",
    text: { $0.isEmpty ? nil : "\"\($0)\"" }
  ) { value, context throws(ValueProblem) in try VehicleIDSource(value).resolve(in: context) }
}

extension VehicleIDSource {
  fileprivate init(_ value: TOMLValue) throws(ValueProblem) {
    switch value.content {
    case .string(let text):
      if let problem = Identifier.problem(ofVehicle: text) { throw ValueProblem(message: problem) }
      self = .literal(text)
    case .table(let members):
      let (name, member) = try members.only(of: ["file", "credential", "hostname", "environment"])
      switch name {
      case "file": self = .file(try member.value.reference(expected: "a path in quotes"))
      case "credential": self = .credential(try member.value.credentialName())
      case "environment":
        let variable = try member.value.line(expected: "the name of a variable in quotes")
        self = .environment(variable)
      default:
        guard case .boolean(true) = member.value.content else {
          throw ValueProblem(message: "hostname can only be true", position: member.value.position)
        }
        self = .hostname
      }
    default: throw .wrongType(of: value, expected: "a string in quotes, or a table as in { hostname = true },")
    }
  }
}

extension [String: TOMLValue.Member] {
  /// The only member of a table that must have exactly one of several keys.
  func only(of names: [String]) throws(ValueProblem) -> (String, TOMLValue.Member) {
    let choice = names.joined(separator: ", ")
    for (name, member) in sorted(by: { $0.key < $1.key }) where !names.contains(name) {
      let hint = NearestName.find(name, among: names).map { "; did you mean `\($0)`?" } ?? ""
      throw ValueProblem(
        message: "has the unknown key `\(name.printable)`; allowed: \(choice)\(hint)", position: member.keyPosition)
    }
    guard count == 1, let (name, member) = first else {
      throw ValueProblem(message: "needs exactly one of \(choice)")
    }
    return (name, member)
  }
}

extension TOMLValue {
  /// The name of a systemd credential: a file name.
  func credentialName() throws(ValueProblem) -> String {
    let name = try reference(expected: "the name of a credential in quotes")
    guard !name.contains("/"), name != ".", name != "..", name.utf8.count <= 255 else {
      // The text is not in the message, because it may be the secret itself.
      throw ValueProblem(
        message: "is not the name of a credential, which has no slash and at most 255 bytes", position: position)
    }
    return name
  }

  /// The name of a credential or the path of a file, whose content is secret. The secret in its place is a mistake.
  func reference(expected: String) throws(ValueProblem) -> String {
    let text = try line(expected: expected)
    guard !HeaderRules.looksSecret(text) else {
      throw ValueProblem(
        message: "contains a secret, which must not be in the settings; \(expected) is expected", position: position)
    }
    return text
  }
}

extension String {
  /// A path that may be relative to a directory.
  func resolvedPath(in directory: String) -> String {
    hasPrefix("/") || directory.isEmpty ? self : "\(directory)/\(self)"
  }

  fileprivate func trimmingWhitespace() -> Substring {
    let scalars = unicodeScalars
    guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
      let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
    else { return "" }
    return Substring(scalars[first...last])
  }
}
