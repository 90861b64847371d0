// SPDX-License-Identifier: Apache-2.0
package import Authorization
package import Configuration
package import EventLoop
import HTTPClient
import HTTPMessages
import Release
package import Timekeeping

/// Asks the provider of some settings for one token, as the daemon would, for whoever wants to look at it.
///
/// It belongs to the loop's thread. Nothing is kept, and nothing is asked twice.
package final class TokenInquiry {
  /// What came of it.
  package struct Answer: Sendable {
    package var outcome: TokenOutcome
    /// The token that the daemon would use, or why it would not.
    package var verdict: Result<AccessToken, TokenFailure>
    /// What is wrong with the token that came; nil when none did.
    package var inspection: TokenInspection?
    package var arrivedAt: Moment
  }

  private let loop: EventLoop
  private let provider: TokenProvider
  private let fetcher: TokenFetcher

  /// - Throws: `DaemonError` when a credential or certificate file that the settings name cannot be used.
  package init(_ settings: Settings, loop: EventLoop) throws(DaemonError) {
    self.loop = loop
    provider = try TokenProvider(settings.token)
    fetcher = TokenFetcher(loop: loop, exchanges: try HTTPClients(settings, loop: loop).tokens)
  }

  /// Asks once.
  ///
  /// - Parameter completion: called once, in a later turn; never when this throws.
  /// - Throws: `TokenFailure` with reason `missingAuthorizationContext` when the provider is not set up for such a context.
  package func ask(
    for context: AuthorizationContext, completion: @escaping (Answer) -> Void
  ) throws(TokenFailure) {
    let request = try provider.request(for: context)
    fetcher.start(1, request, certificateTime: loop.now.wall < Release.buildDate ? Release.buildDate : nil) {
      [loop, provider] outcome in
      let now = loop.now
      let time: Timestamp?
      if case .http(let answer) = outcome, let date = answer.date {
        time = date
      } else {
        time = now.wall < Release.buildDate ? nil : now.wall
      }
      let verdict = Result { () throws(TokenFailure) in
        try provider.token(from: outcome, for: context, at: now, buildDate: Release.buildDate)
      }
      let secret = try? provider.secret(in: outcome)
      completion(
        Answer(
          outcome: outcome, verdict: verdict,
          inspection: secret.map { TokenInspection(of: $0, for: context, at: time) }, arrivedAt: now))
    }
  }

  /// Ends what is under way; nobody is told.
  package func cancel() { fetcher.cancel(1) }
}
