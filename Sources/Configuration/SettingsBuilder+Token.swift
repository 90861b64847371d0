// SPDX-License-Identifier: Apache-2.0

extension SettingsBuilder {
  mutating func token() -> Settings.Token? {
    let kind = reader.read(SettingKeys.provider)
    if let kind { checkOwners(kind) }
    let provider: Settings.Token.Provider? =
      switch kind {
      case .http: httpProvider().map { .http($0) }
      case .command: commandProvider().map { .command($0) }
      case .file: path(SettingKeys.tokenFile).map { .file($0) }
      case nil: nil
      }
    let preset = reader.read(SettingKeys.response)
    let tokenKey = reader.read(SettingKeys.tokenKey)
    let expirationKey = reader.read(SettingKeys.expirationKey)
    let (format, creationKey) = (reader.read(SettingKeys.expirationFormat), reader.read(SettingKeys.creationKey))
    let deadline = reader.read(SettingKeys.tokenDeadline)
    let isCached = reader.read(SettingKeys.tokenCache)
    if let format { checkExpiration(format, preset) }
    guard let provider, let tokenKey, let format, let deadline, let isCached else { return nil }
    var token = Settings.Token(
      provider: provider, tokenKey: tokenKey, expirationKey: expirationKey, expirationFormat: format,
      creationKey: creationKey, deadline: deadline, isCached: isCached)
    if let preset { apply(preset, to: &token) }
    return token
  }

  /// What is written wins over what the preset says.
  private func apply(_ preset: ResponsePreset, to token: inout Settings.Token) {
    if !reader.isWritten(SettingKeys.tokenKey) { token.tokenKey = preset.tokenKey }
    if !reader.isWritten(SettingKeys.expirationFormat) { token.expirationFormat = .epochMilliseconds }
    if !reader.isWritten(SettingKeys.expirationKey) { token.expirationKey = preset.expirationKey }
    if !reader.isWritten(SettingKeys.creationKey) { token.creationKey = preset.creationKey }
  }

  /// Notes every key that belongs to another provider.
  private mutating func checkOwners(_ kind: TokenProvider) {
    let provider = SettingKeys.provider
    for key in SettingKeys.all where key.section == .token && reader.isWritten(key) {
      guard let owner = key.tokenProvider, owner != kind else { continue }
      let message = "belongs to provider = \"\(owner.rawValue)\"; the provider is \"\(kind.rawValue)\""
      // A later file that changes the provider need not, and cannot, take away the keys of the old one.
      if reader.isWritten(provider), reader.position(of: key).file != reader.position(of: provider).file {
        reader.warning(about: key, "is left out: it \(message)")
      } else {
        reader.problem(with: key, message)
      }
    }
  }

  private mutating func httpProvider() -> Settings.Token.HTTP? {
    let (url, method, body) = (
      reader.read(SettingKeys.url), reader.read(SettingKeys.method), reader.read(SettingKeys.body)
    )
    let headers = reader.read(SettingKeys.headers) ?? []
    let (caFile, proxy) = (pemFile(SettingKeys.tokenCAFile), reader.read(SettingKeys.tokenProxy))
    let (certificate, key) = (pemFile(SettingKeys.clientCertificate), pemFile(SettingKeys.clientKey))
    if body != nil, method == .get {
      reader.problem(with: SettingKeys.body, "is sent with method = \"POST\" only; the method is \"GET\"")
    }
    if certificate != nil, !reader.isWritten(SettingKeys.clientKey) {
      reader.problem(with: SettingKeys.clientCertificate, "needs `client_key`, the private key of the certificate")
    }
    if key != nil, !reader.isWritten(SettingKeys.clientCertificate) {
      reader.problem(with: SettingKeys.clientKey, "needs `client_certificate`, the certificate of the key")
    }
    guard let url, let method else { return nil }
    return Settings.Token.HTTP(
      url: url, method: method, body: body, headers: headers.map(resolved), caFile: caFile,
      clientCertificate: certificate, clientKey: key, proxy: proxy)
  }

  /// The program has to be there: else nobody would find out before the first token is wanted.
  private mutating func commandProvider() -> [String]? {
    guard let command = reader.read(SettingKeys.command), let program = command.first else { return nil }
    do throws(ConfigurationEnvironment.FileProblem) {
      _ = try environment.readFile(program, 1)
    } catch {
      switch error {
      // One that may be executed need not be readable, and what the daemon's user may do is not known here.
      case .tooLarge, .refused: break
      case .missing, .directory, .notRegular:
        reader.problem(with: SettingKeys.command, "\(program.printable) \(error.explanation); a program is expected")
        return nil
      }
    }
    return command
  }

  private mutating func checkExpiration(_ format: Settings.Token.ExpirationFormat, _ preset: ResponsePreset?) {
    switch format {
    case .epochSeconds, .epochMilliseconds, .seconds, .rfc3339:
      guard !reader.isWritten(SettingKeys.expirationKey), preset == nil else { return }
      reader.problem(
        with: SettingKeys.expirationFormat,
        "\"\(format.rawValue)\" needs `expiration_key`, the key of the answer that holds the expiration")
    case .jwt:
      if reader.isWritten(SettingKeys.expirationKey) {
        reader.warning(about: SettingKeys.expirationKey, "is not read with expiration_format = \"jwt\"")
      }
    case .auto: break
    }
  }

  private func resolved(_ header: Settings.Token.Header) -> Settings.Token.Header {
    guard case .file(let path) = header.value else { return header }
    return Settings.Token.Header(name: header.name, value: .file(path.relativePath(in: directory)))
  }
}
