// SPDX-License-Identifier: Apache-2.0
import Authorization
import Configuration
import Vehicle
import EventLoop
import FleetEngine
import HTTPMessages
import LocationDaemon
import SystemCalls
import Timekeeping

/// Passes the token from the token check to the Fleet Engine check.
final class FetchedToken {
  /// Nil until a token was fetched that the daemon would use.
  var secret: Secret?
}

/// Requests one token as the daemon would, and inspects it.
struct TokenCheck: Check {
  let settings: Settings
  let environment: Doctor.Environment
  let token: FetchedToken

  var subject: Doctor.Subject { .token }
  var title: String { "Token: \(TokenCheck.provider(settings))" }

  func run(_ report: (Finding) -> Void) {
    do {
      for warning in SecretWarnings.warnings(settings.token) {
        report(.warn(.credentialWarning, warning, "A new credential needs a restart of the service"))
      }
      guard let response = try TokenCheck.ask(settings, as: .own, in: environment) else { return }
      for finding in TokenFindings.findings(response) { report(finding) }
      if case .success = response.token { token.secret = response.secret }
    } catch {
      report(TokenCheck.finding(error, settings, environment, command: "fleet-locationctl doctor"))
    }
  }

  /// The token provider, without the query of a URL, which may be secret.
  static func provider(_ settings: Settings) -> String {
    switch settings.agent.tokenProvider {
    case .http(let endpoint):
      let url = endpoint.urlTemplate.prefix { $0 != "?" }
      return "from \(url)" + (settings.token.client.proxy.map { " through \($0)" } ?? "")
    case .command(let command): return "from the program \(command.arguments.first ?? "")"
    case .file(let file): return "from the file \(file.path)"
    }
  }

  /// Makes one request and waits for the response.
  ///
  /// - Returns: nil for wrong credentials, if the settings have none.
  /// - Throws: `DaemonError`, `TokenFailure` or `EventLoopError` if the request cannot be made.
  static func ask(
    _ settings: Settings, as identity: TokenProbe.Identity, in environment: Doctor.Environment
  ) throws -> TokenProbe.Response? {
    let loop = environment.loop
    guard let probe = try TokenProbe.make(settings, as: identity, loop: loop),
      let context = settings.agent.context
    else { return nil }
    var response: TokenProbe.Response?
    try probe.ask(for: context) { response = $0 }
    // The request has its own deadline, and a program a grace period.
    try loop.run(until: loop.now.boot + settings.agent.tokenProvider.deadline + .seconds(5)) { response != nil }
    if response == nil { probe.cancel() }
    return response
  }

  /// Why the request could not be made.
  ///
  /// - Parameter isRequired: whether this is a failure; otherwise it is a warning, because it may work for the service.
  static func finding(
    _ error: any Error, _ settings: Settings, _ environment: Doctor.Environment, command: String,
    isRequired: Bool = false
  ) -> Finding {
    switch error {
    case let error as DaemonError where ServiceCredentials.isOutOfReach(error, settings):
      let advice = ServiceCredentials.advice(
        settings, command: command, user: environment.serviceUser?.name ?? "fleet-locationd",
        current: environment.currentUser)
      let sentence = "no token is requested: \(error.message)"
      return isRequired ? .fail(.notExamined, sentence, advice) : .warn(.notExamined, sentence, advice)
    case let error as DaemonError: return .fail(.unitCannotStart, error.message, "The service cannot start like this")
    case let error as TokenFailure: return .fail(.noToken, error)
    default: return .fail(.checkFailed, "\(error)", "Close other programs, and try again")
    }
  }
}
