// SPDX-License-Identifier: Apache-2.0
package import Authorization
import ExternalInput
import HTTPMessages
import JSON
package import LocationDaemon
import Timekeeping

/// Checks a token provider against every requirement of the vehicle and Fleet Engine, with one finding each.
package struct TokenConformance {
  /// The first request and its response.
  package var first: TokenProbe.Response
  /// The response to the same request again; nil if it was not made.
  package var second: TokenProbe.Response?
  /// The response to wrong credentials; nil if the settings have none.
  package var withWrongCredentials: TokenProbe.Response?

  /// Allowed difference between `exp` and the expiration in the response.
  private static let tolerance = Duration.seconds(5)

  private let provider: TokenProvider
  private let hasCertificate: Bool
  private let context: AuthorizationContext

  /// - Parameters:
  ///   - provider: the provider of the settings.
  ///   - hasCertificate: whether the vehicle presents a client certificate.
  package init(
    _ provider: TokenProvider, hasCertificate: Bool, for context: AuthorizationContext, first: TokenProbe.Response
  ) {
    self.provider = provider
    self.hasCertificate = hasCertificate
    self.context = context
    self.first = first
  }

  /// All findings; if no token was received, only the reason.
  package var findings: [Finding] {
    guard let inspection = first.inspection else { return first.failures + transport }
    return [answered] + transport + [expiration(inspection)] + [size] + aspects(inspection) + secondRequest
      + authentication
  }

  private var answered: Finding {
    let key = provider.format.tokenKey
    switch provider {
    case .http: return .pass("it answers with JSON in \(first.durationText), with the token at `\(key)`")
    case .command: return .pass("the program succeeds in \(first.durationText), with the token at `\(key)`")
    case .file: return .pass("the file has a token")
    }
  }

  // MARK: - The response

  private var response: HTTPResponse? {
    if case .http(.response(let response)) = first.outcome { response } else { nil }
  }

  private var transport: [Finding] {
    guard let response else { return [] }
    if (300..<400).contains(response.status) { return [] }
    return [contentType(response), caching(response)]
  }

  private func contentType(_ response: HTTPResponse) -> Finding {
    let type = response.header("content-type")?.prefix { $0 != ";" }.lowercased()
    guard type == "application/json" else {
      return .warn(
        .contentType,
        "the response's Content-Type is \(type.map { "\"\(ExternalText($0, limit: 60))\"" } ?? "not stated")",
        "Answer with Content-Type: application/json")
    }
    return .pass("the response's Content-Type is JSON")
  }

  /// A cached token may reach other vehicles, or be too old.
  private func caching(_ response: HTTPResponse) -> Finding {
    let words = (response.header("cache-control") ?? "").lowercased().split { $0 == "," || $0 == " " }
    if let age = response.header("age").flatMap({ Int($0) }), age > 0 {
      return .fail(.caching, "the response comes from a cache, \(age) s old", "Answer with Cache-Control: no-store")
    }
    if words.contains("no-store") { return .pass("caches may not store the response") }
    return .warn(
      .caching,
      words.isEmpty
        ? "the response has no Cache-Control, so caches may store it"
        : "the response's Cache-Control lets caches store it",
      "Answer with Cache-Control: no-store")
  }

  private func expiration(_ inspection: TokenInspection) -> Finding {
    if case .failure(let failure) = first.token, [.missingField, .unknownLifetime].contains(failure.reason) {
      return .fail(.tokenExpiration, failure)
    }
    guard let stated = first.statedExpiration else { return .pass("the expiration is read from the token's `exp`") }
    let key = provider.format.expirationKey ?? ""
    guard let seconds = inspection.claims?.value(at: "exp")?.integer else {
      return .warn(.tokenExpiration, "`\(key)` can be read, but there is no `exp` to compare it with", "Sign `exp`")
    }
    let late = stated - Timestamp(seconds: seconds)
    let distance = late < .zero ? .zero - late : late
    guard distance > TokenConformance.tolerance else { return .pass("`\(key)` can be read, and matches `exp`") }
    let advice =
      "Return the token's own expiration, and check token.expiration_format (now \(provider.format.expiration.rawValue))"
    return late > .zero
      ? .fail(
        .tokenExpiration, "`\(key)` is \(distance.humanReadable) after `exp`: the vehicle would use an expired token",
        advice)
      : .warn(
        .tokenExpiration,
        "`\(key)` is \(distance.humanReadable) before `exp`: tokens are requested more often than necessary", advice)
  }

  private var size: Finding {
    let count = first.secret?.reveal().utf8.count ?? 0
    guard count > 4096 else { return .pass("the token has \(count) bytes") }
    return .warn(
      .tokenSize,
      "the token has \(count) bytes; servers accept 8 to 16 kB of headers in total, and each update contains it",
      "Sign only the claims that Fleet Engine reads: \(ManualPage.tokenProvider)")
  }

  // MARK: - The token

  private func aspects(_ inspection: TokenInspection) -> [Finding] {
    // If it is not a token, its parts cannot be checked.
    let checked = inspection.claims == nil ? [.form] : TokenInspection.Aspect.allCases
    return checked.flatMap { aspect -> [Finding] in
      let problems = inspection.problems.filter { $0.aspect == aspect }
      return problems.isEmpty ? sentence(aspect, inspection).map { [.pass($0)] } ?? [] : problems.map(\.finding)
    }
  }

  /// The sentence of a check that has found no problem; nil if it is not reported.
  private func sentence(_ aspect: TokenInspection.Aspect, _ inspection: TokenInspection) -> String? {
    switch aspect {
    case .form: nil
    case .signature: "its header states RS256"
    case .keyID: "`kid` is present"
    case .audience: "the audience is Fleet Engine"
    case .account: "`iss` and `sub` are the same account"
    case .times:
      "its lifetime is \(inspection.lifetime?.humanReadable ?? ""), at most the allowed hour, and it is valid now"
    case .authorization: "the `authorization` claim is for \(context.scope.noun) \"\(context.scope.id)\""
    }
  }

  // MARK: - Other requests

  private var secondRequest: [Finding] {
    guard let second else { return [] }
    guard let inspection = second.inspection else {
      return [
        .fail(
          .tokenUnstable, "a second request returns no token: \(second.failure?.message ?? "")",
          "Make it answer every request the same way")
      ]
    }
    let before = (first.inspection?.problems ?? []).map(\.kind)
    if let problem = inspection.problems.first(where: { $0.isFatal && !before.contains($0.kind) }) {
      return [
        .fail(
          .tokenUnstable, "a second request returns a token with a problem: \(problem.sentence.text)",
          problem.advice?.sentenceCase ?? "Make it answer every request the same way")
      ]
    }
    return [
      .pass("a second request returns \(second.secret == first.secret ? "the same token" : "another token")")
    ]
  }

  private var authentication: [Finding] {
    guard let response = withWrongCredentials else {
      guard case .http = provider else { return [] }
      return [
        .warn(
          .providerOpen, "the settings have no credentials: anyone who can reach the URL gets a token",
          "Give each vehicle a credential or a certificate: token.headers, token.client_certificate")
      ]
    }
    if response.secret != nil {
      return [
        .fail(
          .providerOpen, "it also returns a token for wrong credentials",
          "Check the credentials before signing, and answer 401")
      ]
    }
    guard case .http(let outcome) = response.outcome else { return [] }
    switch outcome {
    case .response(let response) where [401, 403].contains(response.status):
      return [.pass("it rejects wrong credentials: HTTP \(response.status)")]
    case .response(let response):
      return [
        .warn(
          .providerStatus, "it answers wrong credentials with HTTP \(response.status)",
          "Answer with 401 or 403, so that the vehicle can report the cause")
      ]
    case .failure(let failure):
      switch failure.kind {
      case .handshakeFailed where hasCertificate, .broken where hasCertificate:
        return [.pass("it accepts no connection without the vehicle's certificate")]
      default:
        return [.warn(.checkFailed, "the request with wrong credentials failed: \(failure.message)", "Try again")]
      }
    }
  }
}
