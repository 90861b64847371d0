// SPDX-License-Identifier: Apache-2.0
package import Authorization
package import Configuration
package import EventLoop
package import HTTPMessages
import Release
package import Timekeeping

/// Requests one token as the daemon would, for `doctor` and `fleet-locationctl token`.
///
/// The token is not stored, and the request is not repeated.
package final class TokenProbe {
  /// The credentials of the request.
  package enum Identity: Sendable {
    /// The vehicle's credentials and certificate.
    case own
    /// Wrong credentials and no certificate.
    case wrongCredentials
  }

  /// The response of the provider.
  package nonisolated struct Response: Sendable {
    /// The complete response of the provider.
    package var outcome: TokenOutcome
    /// The token that the daemon would use, or why it would use none.
    package var token: Result<AccessToken, TokenFailure>
    /// Why the daemon would use no token; nil if it would use one.
    package var failure: TokenFailure? { if case .failure(let failure) = token { failure } else { nil } }
    /// The received token, even if it is invalid; nil if there is none.
    package var secret: Secret?
    /// The problems of the received token; nil if there is no token.
    package var inspection: TokenInspection?
    /// The expiration that the response states next to the token; nil if there is none that can be read.
    package var statedExpiration: Timestamp?
    /// Time from the request to the end of the response.
    package var duration: Duration

    /// Evaluates an outcome as the daemon would.
    package init(
      _ outcome: TokenOutcome, from provider: TokenProvider, for context: AuthorizationContext, at now: Moment,
      duration: Duration, buildDate: Timestamp
    ) {
      let clock = now.wall < buildDate ? nil : now.wall
      let time: Timestamp? = if case .http(let response) = outcome { response.date ?? clock } else { clock }
      self.outcome = outcome
      token = Result { () throws(TokenFailure) in
        try provider.token(from: outcome, for: context, at: now, buildDate: buildDate)
      }
      secret = try? provider.secret(in: outcome)
      inspection = secret.map { TokenInspection(of: $0, for: context, at: time) }
      statedExpiration = provider.statedExpiration(in: outcome, at: now)
      self.duration = duration
    }
  }

  /// How far this machine's clock is ahead; nil if that is unknown. Certificates are verified at the corrected time
  /// while the clock is unset.
  package var clockError: Duration?
  private let loop: EventLoop
  private let provider: TokenProvider
  private let fetcher: TokenFetcher

  /// - Throws: `DaemonError` if a credential or certificate file of the settings cannot be used.
  package convenience init(_ settings: Settings, loop: EventLoop) throws(DaemonError) {
    try self.init(settings, provider: try TokenProvider(settings), loop: loop)
  }

  /// - Returns: nil for wrong credentials if the provider is not an HTTP server, or if the settings have neither
  ///   credentials nor a client certificate.
  /// - Throws: `DaemonError` if a credential or certificate file of the settings cannot be used.
  package static func make(
    _ settings: Settings, as identity: Identity, loop: EventLoop
  ) throws(DaemonError) -> TokenProbe? {
    guard identity == .wrongCredentials else { return try TokenProbe(settings, loop: loop) }
    let provider = try TokenProvider(settings)
    guard case .http = provider else { return nil }
    let altered = provider.withWrongCredentials
    guard altered != nil || settings.token.client.clientCertificate != nil else { return nil }
    var settings = settings
    settings.token.client.clientCertificate = nil
    settings.token.client.clientKey = nil
    return try TokenProbe(settings, provider: altered ?? provider, loop: loop)
  }

  private init(_ settings: Settings, provider: TokenProvider, loop: EventLoop) throws(DaemonError) {
    self.loop = loop
    self.provider = provider
    fetcher = TokenFetcher(loop: loop, exchanges: try HTTPClients(settings, loop: loop).tokens)
  }

  /// Makes the request.
  ///
  /// - Parameter completion: called once, in a later iteration of the loop; never when this throws.
  /// - Throws: `TokenFailure` with reason `missingAuthorizationContext` if the provider is not configured for this kind
  ///   of context.
  package func ask(
    for context: AuthorizationContext, completion: @escaping (Response) -> Void
  ) throws(TokenFailure) {
    let start = loop.now
    let request = try provider.request(for: context)
      .checkingCertificates(
        at: CertificateTime.at(start, buildDate: Release.buildDate, clockError: clockError))
    fetcher.start(1, request) { [loop, provider] outcome in
      let now = loop.now
      completion(
        Response(
          outcome, from: provider, for: context, at: now, duration: now.boot - start.boot, buildDate: Release.buildDate)
      )
    }
  }

  /// Cancels the request; the completion is not called.
  package func cancel() { fetcher.cancel(1) }
}
