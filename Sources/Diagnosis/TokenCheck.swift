// SPDX-License-Identifier: Apache-2.0
package import Authorization
package import Configuration
import Vehicle
package import EventLoop
import ExternalInput
import FleetEngine
import HTTPMessages
package import LocationDaemon
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
  var title: String { "Token: \(TokenCheck.providerPhrase(settings))" }

  func run(_ report: (Finding) -> Void) {
    let warnings = SecretWarnings.warnings(settings.token)
    do {
      let response = try settings.agent.context.flatMap {
        try TokenProbe.response(
          settings, as: .own, for: $0, loop: environment.loop, clockError: environment.clockError)
      }
      if response == nil { report(TokenCheck.noResponse) }
      for finding in TokenCheck.findings(warnings, failure: response?.failure) + (response?.findings ?? []) {
        report(finding)
      }
      if response?.failure == nil { token.secret = response?.secret }
    } catch {
      for finding in TokenCheck.findings(warnings, failure: nil) { report(finding) }
      report(
        TokenCheck.finding(
          error, settings, environment, command: "fleet-locationctl doctor\(environment.settingsOption)"))
    }
  }

  /// The warnings about credentials. If the provider has rejected the request, they are failures, because
  /// they are the likely cause.
  nonisolated static func findings(_ warnings: [String], failure: TokenFailure?) -> [Finding] {
    let rejections: [TokenFailure.Reason] = [.status(400), .status(401), .status(403)]
    let isRejected = failure.map { rejections.contains($0.reason) } ?? false
    return warnings.map { warning in
      let advice = "A new credential needs a restart of the service; a file is read for each request"
      return isRejected
        ? .fail(.credentialWarning, warning, advice) : .warn(.credentialWarning, warning, advice)
    }
  }

  /// The provider has not answered, or its program cannot be killed because it waits for a device.
  static let noResponse = Finding.fail(.noToken, "no response within the deadline", "Check token.deadline")

  /// The token provider. A URL is without its query, which may be secret, and what looks like a secret in its path is
  /// masked.
  static func providerPhrase(_ settings: Settings) -> String {
    switch settings.agent.tokenProvider {
    case .http(let endpoint):
      let url = ExternalText(
        endpoint.urlTemplate.prefix { $0 != "?" }, limit: 1000, showing: settings.vehicle.names)
      return "from \(url)" + (settings.token.client.proxy.map { " through \($0)" } ?? "")
    case .command(let command): return "from the program \(command.arguments.first ?? "")"
    case .file(let file): return "from the file \(file.path)"
    }
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
    case let error as DaemonError:
      return .fail(
        error.mayAppearLater ? .settingsIncomplete : .unitCannotStart, error.message,
        "The service cannot start like this")
    case let error as TokenFailure: return .fail(.noToken, error)
    default: return .fail(.checkFailed, "\(error)", "Close other programs, and try again")
    }
  }
}

@MainActor extension TokenProbe {
  /// Makes one request and waits for the response.
  ///
  /// - Parameter clockError: how far this machine's clock is ahead; nil if it is not known.
  /// - Returns: nil if there is no response in time, or if wrong credentials are requested and the settings have none.
  /// - Throws: `DaemonError`, `TokenFailure` or `EventLoopError` if the request cannot be made.
  package static func response(
    _ settings: Settings, as identity: Identity, for context: AuthorizationContext, loop: EventLoop,
    clockError: Duration? = nil
  ) throws -> Response? {
    guard let probe = try make(settings, as: identity, loop: loop) else { return nil }
    probe.clockError = clockError
    var response: Response?
    try probe.ask(for: context) { response = $0 }
    // The request has its own deadline, and a program a grace period.
    try loop.run(until: loop.now.boot + settings.agent.tokenProvider.deadline + .seconds(5)) { response != nil }
    if response == nil { probe.cancel() }
    return response
  }
}
