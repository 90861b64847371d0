// SPDX-License-Identifier: Apache-2.0
import Authorization
import HTTPMessages

/// The keys of all providers, before it is known which of them they make.
struct TokenDraft {
  enum Provider: String, CaseIterable, Sendable {
    case http
    case command
    case file
  }

  var kind = Provider.http
  /// How answers are read, and the time one may take, is the same for all.
  var endpoint = TokenEndpoint(urlTemplate: "", format: TokenResponseFormat())
  var arguments: [String] = []
  var path = ""
  var preset: ResponsePreset?
  var token = Settings.Token()

  static let keys: [Setting<TokenDraft>] = [
    Setting(
      "provider", \.kind, .choice,
      "Who gives tokens: a URL, a program that is run, or a file that another program keeps up to date."),
    Setting(
      "url", \.endpoint.urlTemplate, .urlTemplate, isRequired: true, for: "http",
      "Where tokens are asked for. IDs are percent-encoded where they are filled in. A redirect is not followed."),
    Setting(
      "method", \.endpoint.method, .choice(of: [.get, .post], \.rawValue), for: "http", "How the URL is asked."),
    Setting(
      "body", \.endpoint.bodyTemplate, .template, for: "http",
      "The body of a POST. IDs are filled in as JSON strings without their quotes."),
    Setting(
      "headers", \.token.headers, .headers, for: "http",
      "Headers of the request. A credential is one that systemd gives to the service (`LoadCredential=`)."),
    Setting(
      "command", \.arguments, .commandTemplate, isRequired: true, for: "command",
      "The program's absolute path and its arguments, run without a shell. `PROVIDER_ID`, `VEHICLE_ID` and `TOKEN_SCOPE` are in its environment; it prints one JSON object and ends with 0. What it writes on standard error goes to the journal."
    ),
    Setting(
      "file", \.path, .path, isRequired: true, for: "file",
      "A file that holds the token alone, or JSON with it, and is read again when it changes. Others than its owner and its group must not have access."
    ),
    Setting(
      "response", \.preset, .choice,
      "The answer is as that of Google's sample backend for last mile fleets, or for rides: sets the next four keys, each of which can still be written."
    ),
    Setting("token_key", \.endpoint.format.tokenKey, .dottedKey, "Where the token stands in the JSON answer."),
    Setting(
      "expiration_key", \.endpoint.format.expirationKey, .dottedKey,
      "Where the expiration stands in the answer. If it is not written, the token itself tells (its `exp` claim)."),
    Setting(
      "expiration_format", \.endpoint.format.expiration, .choice,
      "What the expiration is: seconds or milliseconds since 1970, seconds from now on, a date as in RFC 3339, or the token's own `exp` claim."
    ),
    Setting(
      "creation_key", \.endpoint.format.creationKey, .dottedKey,
      "Where the time of creation stands in the answer, in the same format. It helps a machine whose clock is wrong."),
    Setting(
      "deadline", \.endpoint.deadline, .duration(.seconds(1)...(.seconds(60))),
      "A request that takes longer is given up; a program that does is ended."),
    Setting(
      "cache", \.token.isCached, .boolean,
      "Whether the token is kept over a restart, in memory that only the service can read (`$RUNTIME_DIRECTORY`), and never over a reboot: a fleet that is upgraded at once does not ask the provider at once. A token in a file of its own is not kept a second time."
    ),
    Setting(
      "ca_file", \.token.client.caFile, .pemFile, for: "http",
      "PEM file of the authorities to trust, instead of the system's."),
    Setting(
      "client_certificate", \.token.client.clientCertificate, .pemFile, for: "http",
      "PEM file of the certificate to show to the provider."),
    Setting(
      "client_key", \.token.client.clientKey, .pemFile, for: "http", "PEM file of the certificate's private key."),
    Setting("proxy", \.token.client.proxy, .proxy, for: "http", "A proxy on the way to the provider."),
  ]

  /// What the core is to know of it; the headers of a URL still lack their values.
  var provider: TokenProvider {
    switch kind {
    case .http: .http(endpoint)
    case .command:
      .command(TokenCommand(arguments: arguments, format: endpoint.format, deadline: endpoint.deadline))
    case .file: .file(TokenFile(path: path, format: endpoint.format))
    }
  }
}

/// Answers of Google's sample backends, whose keys need not be written one by one.
enum ResponsePreset: String, CaseIterable, Sendable {
  /// Last Mile Fleet Solution.
  case lastMile = "lmfs"
  /// On-demand rides.
  case rides = "rides-stub"

  var format: TokenResponseFormat {
    switch self {
    case .lastMile:
      TokenResponseFormat(
        tokenKey: "token", expirationKey: "expiration_timestamp_ms", expiration: .epochMilliseconds,
        creationKey: "creation_timestamp_ms")
    case .rides:
      TokenResponseFormat(
        tokenKey: "jwt", expirationKey: "expirationTimestamp", expiration: .epochMilliseconds,
        creationKey: "creationTimestamp")
    }
  }
}

extension SettingsReader {
  /// Reads who gives tokens.
  mutating func readToken() -> TokenDraft {
    var draft = TokenDraft()
    read(TokenDraft.keys.filter { $0.name == SettingSection.token.selector }, of: .token, into: &draft)
    let isKnown = isSound(\TokenDraft.kind)
    if isKnown { checkOwners(in: .token, of: draft.kind.rawValue) }
    let keys = TokenDraft.keys.filter { key in
      key.name != SettingSection.token.selector
        && (key.owner == nil || isKnown && key.owner == draft.kind.rawValue)
    }
    read(keys, of: .token, into: &draft)
    if draft.kind == .http, isKnown { checkRequest(draft) }
    checkExpiration(draft)
    if let format = draft.preset?.format { apply(format, to: &draft) }
    return draft
  }

  private mutating func checkRequest(_ draft: TokenDraft) {
    if draft.endpoint.bodyTemplate != nil, draft.endpoint.method == .get, isSound(\TokenDraft.endpoint.method) {
      problem(
        with: \TokenDraft.endpoint.bodyTemplate, "is sent with method = \"POST\" only; the method is \"GET\"")
    }
    let (certificate, key) = (\TokenDraft.token.client.clientCertificate, \TokenDraft.token.client.clientKey)
    if isWritten(certificate), !isWritten(key) {
      problem(with: certificate, "needs `client_key`, the private key of the certificate")
    }
    if isWritten(key), !isWritten(certificate) {
      problem(with: key, "needs `client_certificate`, the certificate of the key")
    }
  }

  private mutating func checkExpiration(_ draft: TokenDraft) {
    let (format, key) = (\TokenDraft.endpoint.format.expiration, \TokenDraft.endpoint.format.expirationKey)
    guard isSound(format) else { return }
    let expiration = draft.endpoint.format.expiration
    switch expiration {
    case .epochSeconds, .epochMilliseconds, .relativeSeconds, .rfc3339:
      guard !isWritten(key), draft.preset == nil else { return }
      problem(
        with: format,
        "\"\(expiration.rawValue)\" needs `expiration_key`, the key of the answer that holds the expiration")
    case .jwt:
      if isWritten(key) { warning(about: key, "is not read with expiration_format = \"jwt\"") }
    case .automatic: break
    }
  }

  /// What is written wins over what the preset says.
  private func apply(_ preset: TokenResponseFormat, to draft: inout TokenDraft) {
    func apply<Value>(_ property: WritableKeyPath<TokenResponseFormat, Value>) {
      let format: WritableKeyPath<TokenDraft, TokenResponseFormat> = \.endpoint.format
      let target = format.appending(path: property)
      if !isWritten(target) { draft[keyPath: target] = preset[keyPath: property] }
    }
    apply(\.tokenKey)
    apply(\.expirationKey)
    apply(\.expiration)
    apply(\.creationKey)
  }
}
