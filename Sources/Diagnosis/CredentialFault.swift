// SPDX-License-Identifier: Apache-2.0
import Glibc
import HTTPMessages
import MessageBus
import ServiceManager
import SystemCalls

/// Why systemd cannot pass a credential of `LoadCredential=` or `LoadCredentialEncrypted=` to the service.
package struct CredentialFault: Codable, Equatable, Sendable {
  /// What is wrong with its file.
  enum Kind: Codable, Equatable, Sendable {
    case missing
    /// A plain file, but named in `LoadCredentialEncrypted=`.
    case notEncrypted
    /// It is encrypted, and systemd could not use it.
    case undecryptable
  }

  let kind: Kind
  /// The name of the credential.
  let name: String
  let file: String

  /// Continues a sentence, without a capital letter.
  var sentence: String {
    switch kind {
    case .missing: "the file of the credential \(name) does not exist: \(file)"
    case .notEncrypted:
      "the file of the credential \(name) is not encrypted: \(file), which LoadCredentialEncrypted= names"
    case .undecryptable:
      "the credential \(name) cannot be decrypted: \(file) was encrypted on another machine, or for another name, or "
        + "this machine's firmware or Secure Boot settings have changed"
    }
  }

  /// What to do.
  func advice(_ unit: String) -> String {
    switch kind {
    case .missing: "Write it (mode 0600), or correct LoadCredential= with systemctl edit \(unit)"
    case .notEncrypted, .undecryptable:
      "Encrypt it on this machine: systemd-creds encrypt --tpm2-pcrs= --name=\(name) PLAIN_FILE \(file)"
        + (kind == .notEncrypted ? ", or name it in LoadCredential= (systemctl edit \(unit))" : "")
    }
  }

  /// The faults of a service's credentials, by name. Relative paths are not checked: systemd searches for them.
  /// An encrypted file is only reported if there is no other fault, because only systemd can decrypt it: this is meant
  /// for a service that has ended with exit status 243. One that this user may not read is not reported.
  static func all(_ status: ServiceStatus) -> [CredentialFault] {
    func faults(_ files: [String: String], _ kind: (String) -> Kind?) -> [CredentialFault] {
      var faults: [CredentialFault] = []
      for (name, file) in files.sorted(by: { $0.key < $1.key }) where file.hasPrefix("/") {
        if let kind = kind(file) { faults.append(CredentialFault(kind: kind, name: name, file: file)) }
      }
      return faults
    }
    let isMissing = { (file: String) in FileAccess.error(file, F_OK)?.code == ENOENT }
    let plain = faults(status.credentialFiles) { isMissing($0) ? .missing : nil }
    let encrypted = faults(status.encryptedFiles) { file in
      if isMissing(file) { return .missing }
      guard let content = try? Credentials.content(ofFile: file) else { return nil }
      return isEncrypted(content.reveal()) ? .undecryptable : .notEncrypted
    }
    let others = plain + encrypted.filter { $0.kind != .undecryptable }
    return others.isEmpty ? encrypted : others
  }

  /// The faults of the service's credentials, as far as this process can know them.
  ///
  /// - Parameters:
  ///   - status: nil if systemd cannot be asked.
  ///   - observations: those of root, which can read the files; nil if there are none.
  ///   - isService: whether systemd has started this process with the same credentials, and so has decrypted them.
  static func known(
    of status: ServiceStatus?, _ observations: RootObservations?, isService: Bool
  ) -> [CredentialFault] {
    let faults = observations?.faults ?? status.map(all) ?? []
    return faults.filter { !isService || $0.kind != .undecryptable }
  }

  /// Whether a text may be what systemd-creds(1) writes: Base64 of a header, a key's parameters, the encrypted text and
  /// an authentication tag.
  static func isEncrypted(_ text: String) -> Bool {
    let digits = text.utf8.filter { !" \t\r\n".utf8.contains($0) }
    let isBase64 = digits.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
        true
      default: false
      }
    }
    return isBase64 && digits.count >= minEncryptedSize
  }

  /// The size of the shortest encrypted credential, that of an empty text, in Base64 digits.
  private static let minEncryptedSize = 120
}
