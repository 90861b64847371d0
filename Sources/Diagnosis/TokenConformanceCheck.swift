// SPDX-License-Identifier: Apache-2.0
import Authorization
package import Configuration
import Delivery
import EventLoop
import HTTPMessages
import LocationDaemon

/// A token provider, asked twice as this box and once as a stranger.
package struct TokenConformanceCheck: Check {
  private let settings: Settings
  private let surroundings: Doctor.Surroundings

  package init(_ settings: Settings, in surroundings: Doctor.Surroundings) {
    self.settings = settings
    self.surroundings = surroundings
  }

  package var title: String { "Token provider: \(TokenCheck.provider(settings))" }

  package func run(_ report: (Finding) -> Void) {
    do {
      guard let context = settings.agent.context,
        let first = try TokenCheck.ask(settings, as: .own, in: surroundings)
      else { return report(.fail("it has not answered in time", "Check token.deadline")) }
      var conformance = TokenConformance(
        settings.agent.tokenProvider, hasCertificate: settings.token.client.clientCertificate != nil, for: context,
        first: first)
      if first.secret != nil {
        conformance.second = try TokenCheck.ask(settings, as: .own, in: surroundings)
        conformance.stranger = try TokenCheck.ask(settings, as: .stranger, in: surroundings)
      }
      for finding in conformance.findings { report(finding) }
    } catch {
      report(
        TokenCheck.finding(
          error, settings, surroundings, command: "fleet-locationctl doctor --token", isRequired: true))
    }
  }
}
