// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages
package import Timekeeping

/// A token as it is kept for the next run of the program: what is written, and whether that run may use it.
///
/// Its times are of the elapsed clock, which means nothing after a reboot: they are valid in the boot that is named beside
/// them, and in no other.
package struct KeptToken: Equatable, Sendable {
  /// What a kept token belongs to.
  package struct Key: Equatable, Sendable {
    /// A digest of `subject(of:from:)`.
    package let subject: String
    /// The kernel's name of this boot.
    package let boot: String

    /// Both are one word, as hexadecimal is.
    package init(subject: String, boot: String) {
      self.subject = subject
      self.boot = boot
    }
  }

  /// Why a kept token is of no use.
  package enum Unfitness: String, Error, Sendable {
    /// Not what this program writes, or not all of it.
    case damaged
    /// Of a boot that is over.
    case otherBoot
    /// For another vehicle, or from a provider that is asked in another way.
    case otherSettings
    case expired

    /// Ends a sentence.
    package var explanation: String {
      switch self {
      case .damaged: "it is damaged, or was written by another program or release"
      case .otherBoot: "it was stored before the last reboot"
      case .otherSettings: "it is for another vehicle, or the settings of the token provider have changed"
      case .expired: "it has expired"
      }
    }
  }

  /// Clocks differ.
  private static let tolerance = Duration.seconds(600)
  private static let title = "fleet-locationd token 1"
  private static let keys = ["boot", "subject", "received", "ends", "lifetime", "token"]

  /// The token with its end, which counts only in the boot that `key` names.
  package let token: AccessToken
  /// What it was kept under: boot, vehicle and provider.
  package let key: Key

  package init(_ token: AccessToken, key: Key) {
    self.token = token
    self.key = key
  }

  /// What is written: lines of a key and a value.
  package var text: Secret {
    let values = [
      key.boot, key.subject, "\(token.receivedAt.nanoseconds)", "\(token.deadline.nanoseconds)",
      token.lifetimeSource.rawValue, token.secret.reveal(),
    ]
    let lines = zip(KeptToken.keys, values).map { "\($0) \($1)\n" }
    return Secret("\(KeptToken.title)\n\(lines.joined())")
  }

  /// Reads what an earlier run has written.
  ///
  /// - Parameters:
  ///   - context: whom the token is to be for; its claims are looked at again.
  ///   - key: of this run.
  /// - Throws: why it is of no use now.
  package init(
    _ text: Secret, for context: AuthorizationContext?, key: Key, at now: BootInstant
  ) throws(Unfitness) {
    let values = try KeptToken.values(in: text.reveal())
    guard let received = Int64(values[2]), let end = Int64(values[3]), 0 <= received, received < end,
      let source = AccessToken.LifetimeSource(rawValue: values[4])
    else { throw .damaged }
    let receivedAt = BootInstant(nanoseconds: received)
    // An arrival that is yet to come is of another boot, whatever it says of itself.
    guard values[0] == key.boot, receivedAt <= now else { throw .otherBoot }
    guard values[1] == key.subject, let context else { throw .otherSettings }
    let secret = Secret(values[5])
    guard let claims = try? TokenClaims(of: secret) else { throw .damaged }
    guard (try? claims.check(for: context)) != nil else { throw .otherSettings }
    let token = AccessToken(
      secret: secret, context: context, receivedAt: receivedAt,
      lifetime: BootInstant(nanoseconds: end) - receivedAt, lifetimeSource: source)
    guard token.isValid(at: now) else { throw .expired }
    // Whatever stands beside it, no token outlives its own claims.
    if let start = claims.issuedAt, let end = claims.expiresAt,
      token.deadline - receivedAt > end - start + KeptToken.tolerance
    {
      throw .damaged
    }
    self.init(token, key: key)
  }

  private static func values(in text: String) throws(Unfitness) -> [String] {
    // The last line has to be whole: what follows it is empty.
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

extension KeptToken {
  /// All that decides which token is given, in one unambiguous text, to make a digest of. Nothing secret has a part in it: of
  /// headers only the names and what is written openly.
  ///
  /// - Returns: nil when there is nobody to keep a token for, or no need: a file can be read again at no cost.
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
