// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import HTTPMessages
package import Timekeeping

/// Who gives tokens, and how: what is decided here is the same for all of them.
package enum TokenProvider: Equatable, Sendable {
  /// A URL that is asked.
  case http(TokenEndpoint)
  /// A program that is run.
  case command(TokenCommand)
  /// A file that somebody else keeps up to date.
  case file(TokenFile)

  /// What to do for one token.
  ///
  /// - Throws: `TokenFailure` with reason `missingAuthorizationContext` when there is nobody to ask a token for.
  package func request(for context: AuthorizationContext?) throws(TokenFailure) -> TokenRequest {
    guard let context else {
      throw TokenFailure(
        .missingAuthorizationContext, "no vehicle to ask a token for: set vehicle.provider_id and vehicle.vehicle_id")
    }
    switch self {
    case .http(let endpoint): return .http(try endpoint.request(for: context))
    case .command(let command): return .command(try command.invocation(for: context))
    case .file(let file): return .file(path: file.path)
    }
  }

  /// Reads what came of a request.
  ///
  /// - Parameters:
  ///   - now: when it came.
  ///   - buildDate: a wall clock before it is not believed.
  /// - Throws: `TokenFailure` that says what came instead of a token.
  package func token(
    from outcome: TokenOutcome, for context: AuthorizationContext, at now: Moment, buildDate: Timestamp
  ) throws(TokenFailure) -> AccessToken {
    let (secret, json, answer) = try find(in: outcome)
    return try format.token(secret, beside: json, from: answer, for: context, at: now, buildDate: buildDate)
  }

  /// The token that came, whoever it is for and whatever it is worth: to be inspected, not to be used.
  ///
  /// - Throws: `TokenFailure` when none came.
  package func secret(in outcome: TokenOutcome) throws(TokenFailure) -> Secret { try find(in: outcome).0 }

  /// When the token ends by what the answer tells beside it, whatever the token's own `exp` says; nil when it tells nothing.
  package func toldExpiration(in outcome: TokenOutcome, at now: Moment) -> Timestamp? {
    guard case (_, let json?, let answer)? = try? find(in: outcome) else { return nil }
    return format.toldExpiration(json, answer, wall: now.wall)
  }

  /// The same provider, asked by a stranger: with something else in place of each secret of its headers.
  ///
  /// - Returns: nil when there is no secret to replace.
  package var withWrongCredentials: TokenProvider? {
    guard case .http(var endpoint) = self else { return nil }
    var isChanged = false
    for index in endpoint.headers.indices {
      guard case .secret(let prefix, let secret) = endpoint.headers[index].value else { continue }
      // The scheme stays, as in `Bearer`: it is who asks that is to be refused, not how.
      let words = secret.reveal().split(separator: " ", maxSplits: 1)
      let scheme = words.count > 1 ? words.first.map { "\($0) " } ?? "" : ""
      endpoint.headers[index].value = .secret(prefix: prefix + scheme, Secret("wrong-on-purpose"))
      isChanged = true
    }
    return isChanged ? .http(endpoint) : nil
  }

  private func find(
    in outcome: TokenOutcome
  ) throws(TokenFailure) -> (Secret, beside: JSONValue?, from: TokenResponseFormat.Answer) {
    let answer: TokenResponseFormat.Answer
    switch (self, outcome) {
    case (.http, .http(.response(let response))): answer = try TokenResponseFormat.Answer(response)
    case (.http(let endpoint), .http(.failure(let failure))):
      throw TokenFailure(failure, deadline: endpoint.deadline)
    case (.command(let command), .command(let outcome)): answer = try command.answer(outcome)
    case (.file(let file), .file(let outcome)): return try file.secret(in: outcome)
    default:
      throw TokenFailure(.missingData, "the answer is from another kind of token provider than was asked")
    }
    let (secret, json) = try format.secret(in: answer)
    return (secret, json, answer)
  }

  /// How an answer is read.
  package var format: TokenResponseFormat {
    switch self {
    case .http(let endpoint): endpoint.format
    case .command(let command): command.format
    case .file(let file): file.format
    }
  }

  /// The time within which a request must have ended.
  package var deadline: Duration {
    switch self {
    case .http(let endpoint): endpoint.deadline
    case .command(let command): command.deadline
    case .file: TokenRequest.fileDeadline
    }
  }

  /// The wait after a failure. What is cheap to ask again is asked again soon: a file, and a provider that the network does not
  /// let through to. A party that answers nonsense is left alone for longer. One that refuses connections or says that it is in
  /// trouble is asked again soon at first; the longer that lasts, the more of the fleet is without a token, and after four
  /// minutes each vehicle waits for one to two minutes.
  ///
  /// - Parameter time: since the first of the failures before it.
  func backoff(after failure: TokenFailure, failingFor time: Duration) -> Backoff.Bounds {
    if case .file = self { return .seconds(2, cap: 10) }
    switch failure.reason {
    case .transport(.refused), .status(500...):
      return .atLeastHalf(.seconds(2), cap: min(max(time / 2, .seconds(10)), .seconds(120)))
    case .transport: return .seconds(2, cap: 10)
    case .program: return .seconds(2, cap: 60)
    default: return .seconds(2, cap: 300)
    }
  }
}

/// One request for a token, whole: what the core decides and a shell carries out.
package enum TokenRequest: Equatable, Sendable {
  case http(HTTPRequest)
  case command(TokenCommand.Invocation)
  /// Read the file at this path.
  case file(path: String)

  /// The same request, which judges certificates at `time`; nil: by the machine's clock.
  package func judgingCertificates(at time: Timestamp?) -> TokenRequest {
    guard case .http(var request) = self else { return self }
    request.certificateTime = time
    return .http(request)
  }

  /// The time within which it must have ended.
  package var deadline: Duration {
    switch self {
    case .http(let request): request.deadline
    case .command(let invocation): invocation.deadline
    case .file: TokenRequest.fileDeadline
    }
  }

  fileprivate static let fileDeadline = Duration.seconds(5)
}

/// How a request for a token ended.
package enum TokenOutcome: Equatable, Sendable {
  case http(HTTPOutcome)
  case command(TokenCommand.Outcome)
  case file(TokenFile.Outcome)

  /// The wait that the provider itself asks for.
  package var pushback: Duration? {
    guard case .http(.response(let response)) = self else { return nil }
    return response.header("retry-after").flatMap { RetryAfter.delay($0, date: response.header("date")) }
  }

  /// What a program has said beside its answer, fit for the journal.
  package var remarks: [ExternalText] {
    guard case .command(let outcome) = self else { return [] }
    return outcome.remarks
  }
}
