// SPDX-License-Identifier: Apache-2.0
package import Configuration
import ExternalInput
import HTTPMessages
import ServiceManager

/// Warnings about the secrets of token requests: the provider will probably reject a secret to which something was
/// added when it was written. The warnings never contain the secret.
package enum SecretWarnings {
  /// - Returns: one sentence for each credential or file with such a secret; none for a secret that cannot be read.
  package static func warnings(_ token: Settings.Token) -> [String] {
    token.headers.compactMap { header in
      let (secret, source): (Secret?, String)
      switch header.valueSource {
      case .plain: return nil
      case .credential(let name): (secret, source) = (try? Credentials().credential(named: name), "credential \(name)")
      case .file(let path): (secret, source) = (try? Credentials().secret(inFile: path), path)
      }
      return secret.flatMap { problem(of: $0, header: header.name) }
        .map { "token.headers.\(header.name): \(source): \($0)" }
    }
  }

  /// Whether a text is a private key, or a file of Google's with one.
  package nonisolated static func isPrivateKey(_ text: String) -> Bool {
    text.contains(text: "PRIVATE KEY-----") || text.contains(text: "\"private_key\"")
  }

  /// What is probably wrong with the secret, and what to do; nil if nothing is.
  ///
  /// - Parameter header: the name of the header that contains the secret.
  static func problem(of secret: Secret, header: String) -> String? {
    let text = secret.reveal()
    if isPrivateKey(text) {
      return
        "the secret is a private key, perhaps of a service account, which must never be in a vehicle, and is sent to the "
        + "token provider: delete it here, revoke it, and write the box's own secret"
    }
    if text.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7F }) {
      return
        "the secret has a line break or another control character in it, which no header can have; every request for a "
        + "token fails until it is written as one line"
    }
    if let first = text.first, text.count > 1, first == text.last, "\"'".contains(first) {
      return "the secret is in quotes, which are sent too; remove them, unless the token provider expects them"
    }
    if text.lowercased().hasPrefix("\(header.lowercased()):") {
      return "the secret begins with the name of the header; write only the value that follows \"\(header):\""
    }
    return nil
  }
}
