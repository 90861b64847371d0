// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import LocationDaemon

/// What `setup` writes and runs.
struct SetupPlan {
  /// The credential for the token provider.
  enum Credential: Equatable {
    case none
    /// The value of the header.
    case plain(Secret)
    /// The output of systemd-creds(1).
    case encrypted([UInt8])
    /// The existing file.
    case existing(isEncrypted: Bool)
  }

  /// A file to write.
  struct File: Equatable {
    var path: String
    var mode: UInt32
    var content: [UInt8]
    /// Whether its content must not be printed.
    var isSecret = false
  }

  /// What happens to a file.
  enum Change: Equatable {
    case created(File)
    case unchanged(File)
    /// The old file is kept under another name.
    case replaced(File, backup: String)
    /// The file, given by its path, gets another name.
    case removed(String, backup: String)
    /// The file, given by its path, has a credential that is not encrypted, and is not kept.
    case deleted(String)
  }

  /// Such as `fleet-locationd.service`.
  let unit: String
  let files: [File]
  /// The drop-in that passes the credential to the service.
  private let dropIn: String
  private let hasCredential: Bool
  private let instance: String?
  /// Whether the credential that is written is encrypted; nil if none is written.
  private let isWrittenEncrypted: Bool?

  /// The path of the main settings file.
  ///
  /// - Parameter instance: the NAME of `fleet-locationd@NAME`; nil for `fleet-locationd`.
  static func settingsPath(_ instance: String?) -> String { "\(directory)/\(instance ?? name).toml" }

  /// The file of the credential.
  static func credentialPath(_ instance: String?, isEncrypted: Bool) -> String {
    let file = instance.map { "\($0).\(SetupAnswers.credentialName)" } ?? SetupAnswers.credentialName
    return "\(directory)/\(file)\(isEncrypted ? ".cred" : "")"
  }

  /// Whether the existing credential is encrypted: the one that the drop-in passes or, if that is missing, the other.
  ///
  /// - Parameter content: returns the content of a file; nil if there is none.
  /// - Returns: nil if there is no credential.
  static func isExistingEncrypted(
    _ instance: String?, content: (String) -> [UInt8]?, exists: (String) -> Bool
  ) -> Bool? {
    let isPassedEncrypted = content(dropInPath(instance)).flatMap(SetupPlan.isEncrypted(passedBy:)) ?? true
    return [isPassedEncrypted, !isPassedEncrypted].first { exists(credentialPath(instance, isEncrypted: $0)) }
  }

  /// Maximum size of a credential in bytes.
  static let maxCredentialSize = 8192

  /// Why a new instance cannot have this name; nil if it can.
  static func problem(ofInstance text: String) -> String? {
    if text == name { return "has the settings file of the main daemon; leave the option out, or name the vehicle" }
    let isName = text.utf8.allSatisfy {
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 || "0123456789._-".utf8.contains($0)
    }
    return isName && !text.hasPrefix("-")
      ? nil : "is not a name that needs no escape in systemd: letters, digits, \".\", \"_\" and \"-\" are expected"
  }

  /// Why a text cannot be the value of a header, without the text; nil if it can.
  static func problem(ofCredential text: String) -> String? {
    if text.isEmpty { return "the credential is empty" }
    if SecretWarnings.isPrivateKey(text) {
      return
        "the credential is a private key, perhaps of a service account, which must never be in a vehicle: delete it here "
        + "and revoke it; the box's own secret for the token provider is expected"
    }
    if text.utf8.count > maxCredentialSize { return "the credential is longer than \(maxCredentialSize) bytes" }
    guard text.utf8.allSatisfy({ $0 == 0x09 || (0x20...0x7E).contains($0) }) else {
      return "the credential has characters that are not allowed in a header, such as a line end"
    }
    return nil
  }

  private static let name = "fleet-locationd"
  private static let directory = "/etc/fleet-locationd"

  private static func unit(_ instance: String?) -> String { name + (instance.map { "@\($0)" } ?? "") + ".service" }

  private static let dropInName = "credential.conf"

  private static let unitDirectory = "/etc/systemd/system"

  private static func dropInDirectory(_ instance: String?) -> String { "\(unitDirectory)/\(unit(instance)).d" }

  private static func dropInPath(_ instance: String?) -> String { "\(dropInDirectory(instance))/\(dropInName)" }

  init(_ answers: SetupAnswers, credential: Credential, instance: String?) {
    self.instance = instance
    unit = SetupPlan.unit(instance)
    dropIn = SetupPlan.dropInPath(instance)
    hasCredential = credential != .none
    var answers = answers
    answers.hasCredential = hasCredential
    var files: [File] = []
    let isEncrypted: Bool
    switch credential {
    case .none: isEncrypted = false
    case .plain(let secret):
      isEncrypted = false
      files.append(
        File(
          path: SetupPlan.credentialPath(instance, isEncrypted: false), mode: 0o600,
          content: Array(secret.reveal().utf8), isSecret: true))
    case .encrypted(let content):
      isEncrypted = true
      files.append(
        File(
          path: SetupPlan.credentialPath(instance, isEncrypted: true), mode: 0o600, content: content, isSecret: true))
    case .existing(let isExistingEncrypted): isEncrypted = isExistingEncrypted
    }
    isWrittenEncrypted = files.isEmpty ? nil : isEncrypted
    if hasCredential {
      let path = SetupPlan.credentialPath(instance, isEncrypted: isEncrypted)
      let text = """
        [Service]
        LoadCredential\(isEncrypted ? "Encrypted" : "")=\(SetupAnswers.credentialName):\(path)

        """
      files.append(File(path: dropIn, mode: 0o644, content: Array(text.utf8)))
    }
    // Written last, because the unit starts only if this file exists.
    files.append(File(path: SetupPlan.settingsPath(instance), mode: 0o644, content: Array(answers.tomlText.utf8)))
    self.files = files
  }

  /// - Parameters:
  ///   - time: for the names of the old files, such as `20261121T083000Z`.
  ///   - names: the names of the files in a directory.
  ///   - existing: the content of a file; nil if there is none.
  func changes(at time: String, names: (String) -> [String], existing: (String) -> [UInt8]?) -> [Change] {
    // The service does not start with a credential whose file is missing. Removed last: settings that name a credential
    // need the drop-in.
    let removed: [Change] =
      !hasCredential && existing(dropIn).flatMap(SetupPlan.isEncrypted(passedBy:)) != nil
      ? [.removed(dropIn, backup: "\(dropIn).\(time)")] : []
    // A later run must not find the previous credential in its other form.
    let superseded: [Change] =
      isWrittenEncrypted.map { isEncrypted -> [Change] in
        let path = SetupPlan.credentialPath(instance, isEncrypted: !isEncrypted)
        guard existing(path) != nil, !isPassed(spellings(of: path), names: names, content: existing) else { return [] }
        return [isEncrypted ? .deleted(path) : .removed(path, backup: "\(path).\(time)")]
      } ?? []
    let written = files.map { file -> Change in
      guard let old = existing(file.path) else { return .created(file) }
      return old == file.content ? .unchanged(file) : .replaced(file, backup: "\(file.path).\(time)")
    }
    return written + removed + superseded
  }

  /// A text that ends with the path of this plan's credential, and the same text as a drop-in of the template may have
  /// it, with %i for the instance's name, with which the file's name begins.
  private func spellings(of text: String) -> [String] {
    guard let instance, let slash = text.lastIndex(of: "/") else { return [text] }
    return [text, "\(text[...slash])%i\(text[slash...].dropFirst(1 + instance.count))"]
  }

  /// Whether a drop-in passes one of these files, such as one of `systemctl edit` or of another instance; the one of
  /// this plan is replaced and does not count.
  private func isPassed(_ paths: [String], names: (String) -> [String], content: (String) -> [UInt8]?) -> Bool {
    let directories = names(SetupPlan.unitDirectory)
      .filter { $0.hasPrefix(SetupPlan.name) && $0.hasSuffix(".service.d") }
      .map { "\(SetupPlan.unitDirectory)/\($0)" }
    for directory in directories {
      for name in names(directory) where name.hasSuffix(".conf") && "\(directory)/\(name)" != dropIn {
        let text = String(decoding: content("\(directory)/\(name)") ?? [], as: UTF8.self)
        let isAnyPassed = text.split(separator: "\n").contains { line in paths.contains { line.hasSuffix(":\($0)") } }
        if isAnyPassed { return true }
      }
    }
    return false
  }

  /// Why the service would not get the credential of this plan: of the drop-ins that pass one, systemd uses the last in
  /// the order of their names.
  ///
  /// - Parameters:
  ///   - names: the names of the files in a directory.
  ///   - content: the content of a file; nil if there is none.
  /// - Returns: nil if it gets this credential, or needs none.
  func obstacle(names: (String) -> [String], content: (String) -> [UInt8]?) -> String? {
    guard let file = files.first(where: { $0.path == dropIn }) else { return nil }
    let own = SetupPlan.credentialLine(in: file.content).map(spellings(of:)) ?? []
    // An instance also has the drop-ins of the template, but for those whose names its own directory has, too.
    var paths: [String: String] = [:]
    let template = instance.map { _ in SetupPlan.dropInDirectory("") }
    for directory in [template, SetupPlan.dropInDirectory(instance)].compactMap(\.self) {
      for name in names(directory) { paths[name] = "\(directory)/\(name)" }
    }
    let later = paths.filter { $0.key.hasSuffix(".conf") && $0.key > SetupPlan.dropInName }
    for (_, path) in later.sorted(by: { $0.key > $1.key }) {
      guard let line = content(path).flatMap(SetupPlan.credentialLine(in:)) else { continue }
      guard !own.contains(line) else { return nil }
      return "the service would get the credential of \(path), and nothing was changed; delete its line \(line), "
        + "then run setup again"
    }
    return nil
  }

  /// Whether the credential that a drop-in passes is encrypted; nil if the drop-in does not pass the one that `setup`
  /// writes.
  private static func isEncrypted(passedBy dropIn: [UInt8]) -> Bool? {
    credentialLine(in: dropIn).map { $0.hasPrefix("LoadCredentialEncrypted=") }
  }

  /// The line of a drop-in that passes the credential for the token provider; nil if there is none.
  private static func credentialLine(in dropIn: [UInt8]) -> String? {
    // The last line is in force.
    String(decoding: dropIn, as: UTF8.self).split(separator: "\n").last { line in
      ["LoadCredential", "LoadCredentialEncrypted"].contains {
        line.hasPrefix("\($0)=\(SetupAnswers.credentialName):")
      }
    }.map(String.init)
  }

  /// The files as `--dry-run` prints them.
  func text(_ changes: [Change]) -> String {
    changes.map { change in
      let file: File
      let what: String
      switch change {
      case .created(let new): (file, what) = (new, "new")
      case .unchanged(let same): (file, what) = (same, "as it is")
      case .replaced(let new, let backup): (file, what) = (new, "the old one is kept as \(backup)")
      case .removed(let path, let backup): return "# \(path), not used, is kept as \(backup)\n\n"
      case .deleted(let path): return "# \(path), with the previous credential, is deleted\n\n"
      }
      let content = file.isSecret ? "(secret)\n" : String(decoding: file.content, as: UTF8.self)
      return "# \(file.path), mode 0\(String(file.mode, radix: 8)), \(what)\n\(content)\n"
    }.joined()
  }
}
