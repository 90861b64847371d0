// SPDX-License-Identifier: Apache-2.0
package import Authorization
package import Configuration
package import EventLoop
import HTTPClient
package import HTTPMessages
import Release
package import Timekeeping

/// Asks the provider of some settings for one token, as the daemon would, for whoever wants to look at it.
///
/// Nothing is kept, and nothing is asked twice.
package final class TokenInquiry {
  /// Who asks.
  package enum Identity: Sendable {
    /// This box, with its credentials and its certificate.
    case own
    /// Somebody with wrong credentials and no certificate.
    case stranger
  }

  /// What came of it.
  package nonisolated struct Answer: Sendable {
    /// What the provider answered, whole.
    package var outcome: TokenOutcome
    /// The token that the daemon would use, or why it would not.
    package var verdict: Result<AccessToken, TokenFailure>
    /// The token that came, whatever it is worth; nil when none did.
    package var secret: Secret?
    /// What is wrong with the token that came; nil when none did.
    package var inspection: TokenInspection?
    /// When the token ends by what the answer tells beside it; nil when it tells nothing that can be read.
    package var toldExpiration: Timestamp?
    /// When the answer had arrived.
    package var arrivedAt: Moment
    /// From asking to the end of the answer.
    package var took: Duration

    /// Makes of an outcome what the daemon would.
    package init(
      _ outcome: TokenOutcome, from provider: TokenProvider, for context: AuthorizationContext, at now: Moment,
      took: Duration, buildDate: Timestamp
    ) {
      let clock = now.wall < buildDate ? nil : now.wall
      let time: Timestamp? = if case .http(let answer) = outcome { answer.date ?? clock } else { clock }
      self.outcome = outcome
      verdict = Result { () throws(TokenFailure) in
        try provider.token(from: outcome, for: context, at: now, buildDate: buildDate)
      }
      secret = try? provider.secret(in: outcome)
      inspection = secret.map { TokenInspection(of: $0, for: context, at: time) }
      toldExpiration = provider.toldExpiration(in: outcome, at: now)
      arrivedAt = now
      self.took = took
    }
  }

  private let loop: EventLoop
  private let provider: TokenProvider
  private let fetcher: TokenFetcher

  /// - Throws: `DaemonError` when a credential or certificate file that the settings name cannot be used.
  package convenience init(_ settings: Settings, loop: EventLoop) throws(DaemonError) {
    try self.init(settings, provider: try TokenProvider(settings), loop: loop)
  }

  /// - Returns: nil for a stranger where nothing would tell one from this box.
  /// - Throws: `DaemonError` when a credential or certificate file that the settings name cannot be used.
  package static func make(
    _ settings: Settings, as identity: Identity, loop: EventLoop
  ) throws(DaemonError) -> TokenInquiry? {
    guard identity == .stranger else { return try TokenInquiry(settings, loop: loop) }
    let provider = try TokenProvider(settings)
    guard case .http = provider else { return nil }
    let stranger = provider.withWrongCredentials
    guard stranger != nil || settings.token.client.clientCertificate != nil else { return nil }
    var settings = settings
    settings.token.client.clientCertificate = nil
    settings.token.client.clientKey = nil
    return try TokenInquiry(settings, provider: stranger ?? provider, loop: loop)
  }

  private init(_ settings: Settings, provider: TokenProvider, loop: EventLoop) throws(DaemonError) {
    self.loop = loop
    self.provider = provider
    fetcher = TokenFetcher(loop: loop, exchanges: try HTTPClients(settings, loop: loop).tokens)
  }

  /// Asks once.
  ///
  /// - Parameter completion: called once, in a later turn; never when this throws.
  /// - Throws: `TokenFailure` with reason `missingAuthorizationContext` when the provider is not set up for such a context.
  package func ask(
    for context: AuthorizationContext, completion: @escaping (Answer) -> Void
  ) throws(TokenFailure) {
    let start = loop.now
    let request = try provider.request(for: context)
      .judgingCertificates(at: CertificateTime.at(start, buildDate: Release.buildDate))
    fetcher.start(1, request) { [loop, provider] outcome in
      let now = loop.now
      completion(
        Answer(
          outcome, from: provider, for: context, at: now, took: now.boot - start.boot, buildDate: Release.buildDate))
    }
  }

  /// Ends what is under way; nobody is told.
  package func cancel() { fetcher.cancel(1) }
}
