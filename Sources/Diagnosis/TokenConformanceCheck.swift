// SPDX-License-Identifier: Apache-2.0
import Authorization
package import Configuration
import Vehicle
import HTTPMessages
import LocationDaemon

/// Makes two requests with the vehicle's credentials, and one with wrong ones.
package struct TokenConformanceCheck: Check {
  private let settings: Settings
  private let environment: Doctor.Environment

  package init(_ settings: Settings, in environment: Doctor.Environment) {
    self.settings = settings
    self.environment = environment
  }

  package let subject = Doctor.Subject.token
  package var title: String { "Token provider: \(TokenCheck.providerPhrase(settings))" }

  package func run(_ report: (Finding) -> Void) {
    do {
      let ask = { (identity: TokenProbe.Identity, context: AuthorizationContext) in
        try TokenProbe.response(
          settings, as: identity, for: context, loop: environment.loop, clockError: environment.clockError)
      }
      guard let context = settings.agent.context,
        let first = try ask(.own, context)
      else { return report(TokenCheck.noResponse) }
      var conformance = TokenConformance(
        settings.agent.tokenProvider, hasCertificate: settings.token.client.clientCertificate != nil, for: context,
        first: first)
      if first.secret != nil {
        conformance.second = try ask(.own, context)
        conformance.withWrongCredentials = try ask(.wrongCredentials, context)
      }
      for finding in conformance.findings { report(finding) }
    } catch {
      report(
        TokenCheck.finding(
          error, settings, environment, command: "fleet-locationctl doctor\(environment.settingsOption) --token",
          isRequired: true))
    }
  }
}
