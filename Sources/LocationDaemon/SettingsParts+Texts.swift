// SPDX-License-Identifier: Apache-2.0
import Authorization
import Configuration
import Daemon
import HTTPMessages
import TokenStore

extension SettingsParts {
  /// - Parameter credentials: the result of `digest(ofCredentialsOf:)`.
  init(_ texts: SettingsTexts, credentials: String) {
    self.init(
      all: SettingsParts.digest(texts.all), destination: SettingsParts.digest(texts.destination),
      source: SettingsParts.digest(texts.source), token: SettingsParts.digest(texts.token), credentials: credentials)
  }

  private static func digest(_ text: String) -> String { String((Digest.hexadecimal(of: text) ?? "").prefix(32)) }

  /// A 16-bit digest of the values of the provider's credentials. It is that short because it is stored: no value can
  /// be derived from it. One change in 65,536 is missed.
  ///
  /// - Returns: "-" if there are none.
  static func digest(ofCredentialsOf provider: TokenProvider) -> String {
    guard case .http(let endpoint) = provider else { return "-" }
    let values = endpoint.headers.compactMap { header in
      if case .secret(_, let secret) = header.value { "\(header.name): \(secret.reveal())" } else { nil }
    }
    guard !values.isEmpty else { return "-" }
    return String((Digest.hexadecimal(of: "credentials\n" + values.sorted().joined(separator: "\n")) ?? "").prefix(4))
  }
}
