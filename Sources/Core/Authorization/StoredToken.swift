// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages
package import Timekeeping

/// A token as it is stored for the next run of the daemon: its format, and whether that run may use it.
///
/// Its times are on the clock of elapsed time, which restarts at boot, so they are valid only in the boot whose ID is
/// stored with them.
package struct StoredToken: Equatable, Sendable {
  /// What a stored token is bound to.
  package struct Key: Equatable, Sendable {
    /// A digest of `subject(of:from:)`.
    package let subject: String
    /// The kernel's boot ID.
    package let boot: String

    /// Both must be single words, such as hexadecimal digits.
    package init(subject: String, boot: String) {
      self.subject = subject
      self.boot = boot
    }
  }

  /// Why a stored token is discarded.
  package enum DiscardReason: String, Error, Sendable {
    /// Not in this daemon's format, or truncated.
    case damaged
    /// From a previous boot.
    case otherBoot
    /// For another vehicle, or from a provider with different settings.
    case otherSettings
    case expired

    /// The end of a sentence.
    package var explanation: String {
      switch self {
      case .damaged: "it is damaged, or was written by another program or release"
      case .otherBoot: "it was stored before the last reboot"
      case .otherSettings: "it is for another vehicle, or the settings of the token provider have changed"
      case .expired: "it has expired"
      }
    }
  }

  /// The allowed difference between clocks.
  private static let tolerance = Duration.seconds(600)
  private static let title = "fleet-locationd token 1"
  private static let keys = ["boot", "subject", "received", "ends", "lifetime", "token"]

  /// The token. Its expiry is valid only in the boot of `key`.
  package let token: AccessToken
  /// What it is bound to: boot, vehicle and provider.
  package let key: Key

  package init(_ token: AccessToken, key: Key) {
    self.token = token
    self.key = key
  }

  /// The file's content: one line for each key, with its value.
  package var text: Secret {
    let values = [
      key.boot, key.subject, "\(token.receivedAt.nanoseconds)", "\(token.deadline.nanoseconds)",
      token.lifetimeSource.rawValue, token.secret.reveal(),
    ]
    let lines = zip(StoredToken.keys, values).map { "\($0) \($1)\n" }
    return Secret("\(StoredToken.title)\n\(lines.joined())")
  }

  /// Parses what a previous run stored.
  ///
  /// - Parameters:
  ///   - context: what the token must be for; its claims are checked against this again.
  ///   - key: the key of this run.
  /// - Throws: why it is discarded.
  package init(
    _ text: Secret, for context: AuthorizationContext?, key: Key, at now: BootInstant
  ) throws(DiscardReason) {
    let values = try StoredToken.values(in: text.reveal())
    guard let received = Int64(values[2]), let end = Int64(values[3]), 0 <= received, received < end,
      let source = AccessToken.LifetimeSource(rawValue: values[4])
    else { throw .damaged }
    let receivedAt = BootInstant(nanoseconds: received)
    // A time of receipt in the future is from another boot, whatever the file says.
    guard values[0] == key.boot, receivedAt <= now else { throw .otherBoot }
    guard values[1] == key.subject, let context else { throw .otherSettings }
    let secret = Secret(values[5])
    guard let claims = try? TokenClaims(of: secret) else { throw .damaged }
    guard (try? claims.check(for: context)) != nil else { throw .otherSettings }
    let token = AccessToken(
      secret: secret, context: context, receivedAt: receivedAt,
      lifetime: BootInstant(nanoseconds: end) - receivedAt, lifetimeSource: source)
    guard token.isValid(at: now) else { throw .expired }
    // No token outlives its own claims, whatever the file says.
    if let start = claims.issuedAt, let end = claims.expiresAt,
      token.deadline - receivedAt > end - start + StoredToken.tolerance
    {
      throw .damaged
    }
    self.init(token, key: key)
  }

  private static func values(in text: String) throws(DiscardReason) -> [String] {
    // The last line must be complete: the part after it is empty.
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count == keys.count + 2, lines[0] == title, lines[lines.count - 1].isEmpty else { throw .damaged }
    var values: [String] = []
    for (key, line) in zip(keys, lines.dropFirst()) {
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      guard words.count == 2, words[0] == key, !words[1].isEmpty else { throw .damaged }
      values.append(String(words[1]))
    }
    return values
  }
}

extension StoredToken {
  /// Everything that determines which token a provider returns, as unambiguous text from which to compute a digest. It
  /// contains no secret: of the headers only the names, and the values that are not secret.
  ///
  /// - Returns: nil if there is no context, or if the token does not have to be stored: a token file can be read again
  ///   at no cost.
  package static func subject(of context: AuthorizationContext?, from provider: TokenProvider) -> String? {
    guard let context else { return nil }
    var parts = [context.providerID, context.scope.name, context.scope.id]
    switch provider {
    case .http(let endpoint):
      parts += ["http", endpoint.urlTemplate, endpoint.method.rawValue, endpoint.bodyTemplate ?? "-"]
      parts += fields(of: endpoint.format)
      for header in endpoint.headers {
        parts.append(header.name)
        if case .plain(let value) = header.value { parts.append(value) } else { parts.append("") }
      }
    case .command(let command):
      parts += ["command"] + fields(of: command.format) + command.arguments
    case .file: return nil
    }
    return parts.map { "\($0.utf8.count):\($0)" }.joined()
  }

  private static func fields(of format: TokenResponseFormat) -> [String] {
    [format.tokenKey, format.expirationKey ?? "", "\(format.expiration)", format.creationKey ?? ""]
  }
}
