// SPDX-License-Identifier: Apache-2.0
import Authorization
package import LocationDaemon
import Timekeeping

/// Findings about one response of a token provider.
package enum TokenFindings {
  /// Allowed difference between `exp` and the expiration in the response.
  static let tolerance = Duration.seconds(5)

  /// Whether the vehicle gets a token, and its problems.
  package static func findings(_ response: TokenProbe.Response) -> [Finding] {
    let time = "\(max(response.duration.nanoseconds, 0) / 1_000_000) ms"
    guard let inspection = response.inspection else { return [failure(response)] }
    var findings = [Finding.pass("received a token in \(time)")] + inspection.problems.map(finding)
    switch response.token {
    case .success(let token):
      if inspection.refusal == nil {
        findings.append(shortLife(of: token) ?? .pass("it is valid for \(lifetime(of: token))"))
      }
    case .failure(let failure):
      // Problems of the token itself have been reported.
      if inspection.refusal == nil { findings.append(.fail(.noToken, failure)) }
    }
    return findings
  }

  /// Why no token was received.
  static func failure(_ response: TokenProbe.Response) -> Finding {
    guard case .failure(let failure) = response.token else {
      return .fail(.noToken, "no token received", "Check the provider's response")
    }
    return .fail(.noToken, failure)
  }

  static func finding(_ problem: TokenInspection.Problem) -> Finding {
    problem.isFatal ? .fail(.tokenDefect, problem) : .warn(.tokenDefect, problem)
  }

  /// That a token makes for many requests; nil if it lives long enough.
  static func shortLife(of token: AccessToken) -> Finding? {
    guard token.deadline - token.receivedAt < minLifetime else { return nil }
    return .warn(
      .tokenShortLived,
      "it is valid for \(lifetime(of: token)) only: the daemon requests a token about as often, and has none whenever "
        + "a request for one fails",
      "Let the provider sign tokens that live for an hour, and return none that is about to expire")
  }

  /// Less than this is almost always a mistake of the provider.
  private static let minLifetime = Duration.seconds(120)

  /// How long the daemon would use it, and how this was determined.
  static func lifetime(of token: AccessToken) -> String {
    let source =
      switch token.lifetimeSource {
      case .relative: "the seconds in the response"
      case .responseDate: "its expiration minus the response's Date"
      case .creation: "its expiration minus its creation"
      case .wallClock: "its expiration minus this machine's clock"
      case .claims: "`exp` minus `iat`"
      }
    return "\((token.deadline - token.receivedAt).humanReadable) (\(source))"
  }
}
