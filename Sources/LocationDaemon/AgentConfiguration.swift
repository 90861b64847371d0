// SPDX-License-Identifier: Apache-2.0
import Authorization
import Configuration
import Daemon
import Vehicle
import HTTPMessages
import Observability
import ServiceManager
import SystemCalls

extension Daemon.Configuration {
  /// The daemon's configuration from the settings.
  ///
  /// - Throws: exit code `configuration` if a credential or secret file that they name cannot be used.
  init(_ file: SettingsFile) throws(DaemonError) {
    let settings = file.settings
    let vehicle = try VehicleAgent.Configuration(settings)
    let credentials = SettingsParts.digest(ofCredentialsOf: vehicle.tokenProvider)
    self.init(
      vehicle: vehicle, store: settings.store, settingsText: file.keptText(credentials: credentials),
      settings: SettingsStatus(hash: file.hash), metricsFile: settings.metricsFile,
      servesPositions: settings.servesPositions,
      parts: SettingsParts(file.texts, credentials: credentials),
      warnings: file.warnings.map { "\($0)" } + SecretWarnings.warnings(settings.token))
  }
}

extension VehicleAgent.Configuration {
  /// The agent's configuration from the settings, with the values that only a running daemon has (secrets, boot ID).
  ///
  /// - Throws: exit code `configuration` if a credential or secret file that they name cannot be used.
  init(_ settings: Settings) throws(DaemonError) {
    self = settings.agent
    tokenProvider = try TokenProvider(settings)
    boot = RuntimeDirectory.path == nil ? nil : StoredToken.Key.currentBootID
    if settings.token.isCached { tokenKey = StoredToken.Key(context, tokenProvider) }
  }
}

extension TokenProvider {
  /// The provider of the settings, with the values of its headers, and the client for its requests.
  ///
  /// - Throws: exit code `configuration` when a credential or secret file that they name cannot be used.
  init(_ settings: Settings) throws(DaemonError) {
    self = settings.agent.tokenProvider
    guard case .http(var endpoint) = self else { return }
    endpoint.client = settings.token.client
    endpoint.headers = []
    for header in settings.token.headers {
      endpoint.headers.append(HTTPRequest.Header(header.name, try TokenProvider.value(of: header)))
    }
    self = .http(endpoint)
  }

  private static func value(of header: Settings.Token.Header) throws(DaemonError) -> HTTPRequest.HeaderValue {
    do {
      switch header.valueSource {
      case .plain(let text): return .plain(text)
      case .credential(let name): return .secret(prefix: "", try Credentials().credential(named: name))
      case .file(let path): return .secret(prefix: "", try Credentials().secret(inFile: path))
      }
    } catch {
      throw DaemonError(
        ExitCode.configuration, "token.headers.\(header.name): \(error.message)", cause: error)
    }
  }
}
