// SPDX-License-Identifier: Apache-2.0
import Authorization
package import LocationDaemon
import Timekeeping

extension TokenProbe.Response {
  /// Whether the vehicle gets a token, and its problems.
  package var findings: [Finding] {
    guard let inspection else { return failures }
    let findings = [.pass("received a token in \(durationText)")] + inspection.problems.map(\.finding)
    // If Fleet Engine would reject it, its problems have been reported.
    guard inspection.rejection == nil else { return findings }
    return findings + failures
      + (shortLifetimeFinding.map { [$0] } ?? lifetimeText.map { [.pass("it is valid for \($0)")] } ?? [])
  }

  /// Why the daemon would use no token; empty if it would use one.
  var failures: [Finding] { failure.map { [.fail(.noToken, $0)] } ?? [] }

  /// From the request to the response, such as `12 ms`.
  var durationText: String { "\(max(duration.nanoseconds, 0) / 1_000_000) ms" }

  /// A finding that the short lifetime of the token causes many requests; nil if it is long enough, or there is no
  /// token.
  var shortLifetimeFinding: Finding? {
    guard let token = try? token.get(), let lifetimeText, token.deadline - token.receivedAt < .seconds(120) else {
      return nil
    }
    return .warn(
      .tokenShortLived,
      "it is valid for \(lifetimeText) only: the daemon requests a token about as often, and has none whenever a "
        + "request for one fails",
      "Let the provider sign tokens that live for an hour, and return none that is about to expire")
  }

  /// How long the daemon would use the token, and how this was determined; nil without a token.
  var lifetimeText: String? {
    guard let token = try? token.get() else { return nil }
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

extension TokenInspection.Problem {
  var finding: Finding { isFatal ? .fail(.tokenDefect, self) : .warn(.tokenDefect, self) }
}
