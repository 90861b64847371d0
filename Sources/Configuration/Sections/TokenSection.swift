// SPDX-License-Identifier: Apache-2.0
import Authorization
import ExternalInput
import HTTPMessages

/// The values of all `[token]` keys as they are read; `provider` is the token provider made from them.
struct TokenSection {
  enum ProviderKind: String, CaseIterable, Sendable {
    case http
    case command
    case file
  }

  var kind = ProviderKind.http
  /// Its format and deadline apply to every kind of provider.
  var endpoint = TokenEndpoint(urlTemplate: "", format: TokenResponseFormat())
  var arguments: [String] = []
  var path = ""
  var preset: ResponsePreset?
  var token = Settings.Token()

  static let keys: [Setting<TokenSection>] = [
    Setting(
      "provider", \.kind, .choice,
      "Where tokens come from: `http` requests them from a URL, `command` runs a program, `file` reads a file that another program keeps up to date."
    ),
    Setting(
      "url", \.endpoint.urlTemplate, .urlTemplate, isRequired: true, for: "http",
      "URL that returns a token. IDs that replace placeholders are percent-encoded. Redirects are not followed."),
    Setting(
      "method", \.endpoint.method, .choice(of: [.get, .post], \.rawValue), for: "http", "HTTP method of the request."),
    Setting(
      "body", \.endpoint.bodyTemplate, .template, for: "http",
      "Body of a POST. IDs that replace placeholders are escaped as in JSON strings, without quotes."),
    Setting(
      "headers", \.token.headers, .headers, for: "http",
      "Headers of the request. A `credential` is a systemd credential of the service (`LoadCredential=`)."),
    Setting(
      "command", \.arguments, .commandTemplate, isRequired: true, for: "command",
      "The program's absolute path and its arguments, run without a shell. Its environment has `PROVIDER_ID`, `VEHICLE_ID` and `TOKEN_SCOPE`; it must print one JSON object and exit with status 0. Its standard error goes to the journal."
    ),
    Setting(
      "file", \.path, .path, isRequired: true, for: "file",
      "File that contains only the token, or JSON with the token; it is read again when it changes. Only its owner and group may have access (mode 0640 or stricter)."
    ),
    Setting(
      "response", \.preset, .choice, isDestinationNeutral: true,
      "Format of the response, as in Google's sample backend for Last Mile Fleet Solution (`lmfs`) or for on-demand rides (`rides-stub`). It sets the defaults of the next four keys."
    ),
    Setting(
      "token_key", \.endpoint.format.tokenKey, .dottedKey, isDestinationNeutral: true,
      "Key of the token in the JSON response."),
    Setting(
      "expiration_key", \.endpoint.format.expirationKey, .dottedKey, isDestinationNeutral: true,
      "Key of the expiration in the response. Default: the token's own `exp` claim."),
    Setting(
      "expiration_format", \.endpoint.format.expiration, .choice, isDestinationNeutral: true,
      "Format of the expiration: seconds or milliseconds since 1970, seconds from now (`seconds`), a date as in RFC 3339, or the token's own `exp` claim (`jwt`). `auto` recognizes it."
    ),
    Setting(
      "creation_key", \.endpoint.format.creationKey, .dottedKey, isDestinationNeutral: true,
      "Key of the time of creation in the response, in the same format. With it the lifetime is known even if the machine's clock is wrong."
    ),
    Setting(
      "deadline", \.endpoint.deadline, .duration(.seconds(1)...(.seconds(60))), isDestinationNeutral: true,
      "Request timeout. A program that runs longer is terminated. Opening a connection (name lookup, TCP and TLS) may take at most 10 s of it."
    ),
    Setting(
      "cache", \.token.isCached, .boolean, isDestinationNeutral: true,
      "Whether the token is cached for a restart, in memory that only the service can read (`$RUNTIME_DIRECTORY`), never across a reboot. Then upgrading a whole fleet causes no burst of requests to the provider. Without effect for `provider = \"file\"`."
    ),
    Setting(
      "ca_file", \.token.client.caFile, .certificateFile, for: "http",
      "PEM file of the certificate authorities to trust. Default: those of the system."),
    Setting(
      "client_certificate", \.token.client.clientCertificate, .certificateFile, for: "http",
      "PEM file of the client certificate for the provider (mutual TLS)."),
    Setting(
      "client_key", \.token.client.clientKey, .keyFile, for: "http",
      "PEM file of the client certificate's private key, not encrypted."
    ),
    Setting(
      "proxy", \.token.client.proxy, .proxy, for: "http",
      "Proxy for the connection to the provider, as in `\"http://proxy.example.com:3128\"`; without a port, 1080, or 443 with https. Default: no proxy; environment variables such as `https_proxy` are ignored."
    ),
  ]

  /// The provider that the settings name; the values of its headers are still missing.
  var provider: TokenProvider {
    switch kind {
    case .http: .http(endpoint)
    case .command:
      .command(TokenCommand(arguments: arguments, format: endpoint.format, deadline: endpoint.deadline))
    case .file: .file(TokenFile(path: path, format: endpoint.format))
    }
  }
}

/// Response formats of Google's sample backends, as defaults of four keys.
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
  /// Reads the token provider.
  mutating func readToken() -> TokenSection {
    var draft = TokenSection()
    read(TokenSection.keys.filter { $0.name == SettingSection.token.selector }, of: .token, into: &draft)
    let isKindValid = isValid(\TokenSection.kind)
    if isKindValid { reportKeysOfOtherChoices(in: .token, of: draft.kind.rawValue) }
    let keys = TokenSection.keys.filter { key in
      key.name != SettingSection.token.selector
        && (key.selectorValue == nil || isKindValid && key.selectorValue == draft.kind.rawValue)
    }
    read(keys, of: .token, into: &draft)
    if draft.kind == .http, isKindValid { checkRequest(draft) }
    checkExpiration(draft)
    if let format = draft.preset?.format { apply(format, to: &draft) }
    return draft
  }

  private mutating func checkRequest(_ draft: TokenSection) {
    if draft.endpoint.bodyTemplate != nil, draft.endpoint.method == .get, isValid(\TokenSection.endpoint.method) {
      problem(
        with: \TokenSection.endpoint.bodyTemplate, "is sent with method = \"POST\" only; the method is \"GET\"")
    }
    let templates = [draft.endpoint.urlTemplate, draft.endpoint.bodyTemplate ?? ""]
    if isValid(\TokenSection.endpoint.urlTemplate), !draft.endpoint.urlTemplate.isEmpty,
      !templates.contains(where: { $0.contains(text: "{vehicle_id}") || $0.contains(text: "{id}") })
    {
      warning(
        about: \TokenSection.endpoint.urlTemplate,
        "does not name the vehicle ({vehicle_id}), nor does the body; that is right only if the provider knows the "
          + "vehicle by the credential of this machine")
    }
    let (certificate, key) = (\TokenSection.token.client.clientCertificate, \TokenSection.token.client.clientKey)
    if isWritten(certificate), !isWritten(key) {
      problem(with: certificate, "needs `client_key`, the private key of the certificate")
    }
    if isWritten(key), !isWritten(certificate) {
      problem(with: key, "needs `client_certificate`, the certificate of the key")
    }
  }

  private mutating func checkExpiration(_ draft: TokenSection) {
    let (format, key) = (\TokenSection.endpoint.format.expiration, \TokenSection.endpoint.format.expirationKey)
    guard isValid(format) else { return }
    let expiration = draft.endpoint.format.expiration
    switch expiration {
    case .epochSeconds, .epochMilliseconds, .relativeSeconds, .rfc3339:
      guard !isWritten(key), draft.preset == nil else { return }
      problem(
        with: format,
        "\"\(expiration.rawValue)\" needs `expiration_key`, the key of the response that holds the expiration")
    case .jwt:
      if isWritten(key) { warning(about: key, "is not read with expiration_format = \"jwt\"") }
    case .automatic: break
    }
  }

  /// Sets the preset's values, except for keys that the settings files set.
  private func apply(_ preset: TokenResponseFormat, to draft: inout TokenSection) {
    func apply<Value>(_ property: WritableKeyPath<TokenResponseFormat, Value>) {
      let format: WritableKeyPath<TokenSection, TokenResponseFormat> = \.endpoint.format
      let target = format.appending(path: property)
      if !isWritten(target) { draft[keyPath: target] = preset[keyPath: property] }
    }
    apply(\.tokenKey)
    apply(\.expirationKey)
    apply(\.expiration)
    apply(\.creationKey)
  }
}
