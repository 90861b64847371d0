// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import HTTPMessages
import JSON
package import Timekeeping

/// Where tokens come from. The rest of the daemon treats all kinds the same.
package enum TokenProvider: Equatable, Sendable {
  /// An HTTP request.
  case http(TokenEndpoint)
  /// A program.
  case command(TokenCommand)
  /// A file that another program keeps up to date.
  case file(TokenFile)

  /// The request for one token.
  ///
  /// - Throws: `TokenFailure` with reason `missingAuthorizationContext` if there is no context to request a token for.
  package func request(for context: AuthorizationContext?) throws(TokenFailure) -> TokenRequest {
    guard let context else {
      throw TokenFailure(
        .missingAuthorizationContext, "there is no vehicle to request a token for")
    }
    switch self {
    case .http(let endpoint): return .http(try endpoint.request(for: context))
    case .command(let command): return .command(try command.invocation(for: context))
    case .file(let file): return .file(path: file.path)
    }
  }

  /// Parses the outcome of a request.
  ///
  /// - Parameters:
  ///   - now: when it ended.
  ///   - buildDate: the wall clock is ignored if it is before this.
  /// - Throws: `TokenFailure` that says what arrived instead of a token.
  package func token(
    from outcome: TokenOutcome, for context: AuthorizationContext, at now: Moment, buildDate: Timestamp
  ) throws(TokenFailure) -> AccessToken {
    do throws(TokenFailure) {
      let (secret, json, response) = try findToken(in: outcome)
      return try format.token(secret, json: json, from: response, for: context, at: now, buildDate: buildDate)
    } catch {
      throw addingAddress(to: error, for: context)
    }
  }

  /// Adds the requested address to a failure that a wrong URL may explain.
  private func addingAddress(to failure: TokenFailure, for context: AuthorizationContext) -> TokenFailure {
    guard case .http(let endpoint) = self, failure.reason.mayBeDueToURL, let address = endpoint.address(for: context)
    else { return failure }
    return TokenFailure(failure.reason, "\(failure.sentence) (\(address))")
  }

  /// The token that arrived, not validated: for inspection only.
  ///
  /// - Throws: `TokenFailure` if none arrived.
  package func secret(in outcome: TokenOutcome) throws(TokenFailure) -> Secret { try findToken(in: outcome).0 }

  /// The expiration that the response states next to the token, whatever the token's own `exp` says; nil if it states
  /// none.
  package func statedExpiration(in outcome: TokenOutcome, at now: Moment) -> Timestamp? {
    guard case (_, let json?, let response)? = try? findToken(in: outcome) else { return nil }
    return format.statedExpiration(json, response, wall: now.wall)
  }

  /// The same provider with wrong credentials: each secret in its headers is replaced.
  ///
  /// - Returns: nil if there is no secret to replace.
  package var withWrongCredentials: TokenProvider? {
    guard case .http(var endpoint) = self else { return nil }
    var isChanged = false
    for index in endpoint.headers.indices {
      guard case .secret(let prefix, let secret) = endpoint.headers[index].value else { continue }
      // The scheme, such as `Bearer`, is kept: the credentials must be rejected, not the form.
      let words = secret.reveal().split(separator: " ", maxSplits: 1)
      let scheme = words.count > 1 ? words.first.map { "\($0) " } ?? "" : ""
      endpoint.headers[index].value = .secret(prefix: prefix + scheme, Secret("wrong-on-purpose"))
      isChanged = true
    }
    return isChanged ? .http(endpoint) : nil
  }

  private func findToken(
    in outcome: TokenOutcome
  ) throws(TokenFailure) -> (Secret, json: JSONValue?, response: TokenResponseFormat.Response) {
    let response: TokenResponseFormat.Response
    switch (self, outcome) {
    case (.http, .http(.response(let http))): response = try TokenResponseFormat.Response(http)
    case (.http, .http(.failure(let failure))): throw TokenFailure(failure)
    case (.command(let command), .command(let outcome)): response = try command.response(outcome)
    case (.file(let file), .file(let outcome)): return try file.secret(in: outcome)
    default:
      throw TokenFailure(.missingData, "the response is from another kind of token provider than was asked")
    }
    let (secret, json) = try format.secret(in: response)
    return (secret, json, response)
  }

  /// The format of the response.
  package var format: TokenResponseFormat {
    switch self {
    case .http(let endpoint): endpoint.format
    case .command(let command): command.format
    case .file(let file): file.format
    }
  }

  /// The timeout of a request.
  package var deadline: Duration {
    switch self {
    case .http(let endpoint): endpoint.deadline
    case .command(let command): command.deadline
    case .file: TokenRequest.fileDeadline
    }
  }

  /// The base and cap of the wait after a failure. Retries that cost little come soon: for a file, or for a provider
  /// that the network does not reach. After an invalid response the wait is longer. After a refused connection or a
  /// server error the first retries come soon; the longer the failures last, the larger the part of the fleet without a
  /// token, so after four minutes each vehicle waits one to two minutes.
  ///
  /// - Parameter time: the time since the first of the consecutive failures.
  func backoff(after failure: TokenFailure, failingFor time: Duration) -> Backoff.Bounds {
    if case .file = self { return .seconds(2, cap: 10) }
    switch failure.reason {
    case .transport(.refused), .status(500...):
      return .equalJitter(.seconds(2), cap: min(max(time / 2, .seconds(10)), .seconds(120)))
    case .transport(let kind) where !kind.isUnusableResponse: return .seconds(2, cap: 10)
    case .program: return .seconds(2, cap: 60)
    default: return .seconds(2, cap: 300)
    }
  }
}

/// One complete request for a token: the core decides on it, and the shell performs it.
package enum TokenRequest: Equatable, Sendable {
  case http(HTTPRequest)
  case command(TokenCommand.Invocation)
  /// Read the file at this path.
  case file(path: String)

  /// The same request, with certificates verified at `time`; nil: by the machine's clock.
  package func checkingCertificates(at time: Timestamp?) -> TokenRequest {
    guard case .http(var request) = self else { return self }
    request.certificateTime = time
    return .http(request)
  }

  /// The same request on a new connection to the provider, if the request uses a connection at all.
  func onNewConnection(_ isNew: Bool) -> TokenRequest {
    guard case .http(var request) = self else { return self }
    request.usesNewConnection = isNew
    return .http(request)
  }

  /// The timeout of the request.
  package var deadline: Duration {
    switch self {
    case .http(let request): request.deadline
    case .command(let invocation): invocation.deadline
    case .file: TokenRequest.fileDeadline
    }
  }

  fileprivate static let fileDeadline = Duration.seconds(5)
}

/// The result of a request for a token.
package enum TokenOutcome: Equatable, Sendable {
  case http(HTTPOutcome)
  case command(TokenCommand.Outcome)
  case file(TokenFile.Outcome)

  /// The wait that the provider asks for (`Retry-After`).
  package var pushback: Duration? {
    guard case .http(.response(let response)) = self else { return nil }
    return response.header("retry-after").flatMap { RetryAfter.delay($0, date: response.header("date")) }
  }

  /// What a token command wrote to standard error, safe for the journal.
  package var errorLines: [ExternalText] {
    guard case .command(let outcome) = self else { return [] }
    return outcome.errorLines
  }
}
