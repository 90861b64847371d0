// SPDX-License-Identifier: Apache-2.0
import Authorization
package import LocationDaemon
import Timekeeping

/// What to make of one answer of a token provider.
package enum TokenFindings {
  /// A token that is as good as its provider says ends so close to what the answer tells.
  static let tolerance = Duration.seconds(5)

  /// For a person who wants to know whether the vehicle gets its token.
  package static func findings(_ answer: TokenInquiry.Answer) -> [Finding] {
    let time = "\(max(answer.took.nanoseconds, 0) / 1_000_000) ms"
    guard let inspection = answer.inspection else { return [failure(answer)] }
    var findings = [Finding.pass("a token came in \(time)")] + inspection.problems.map(\.finding)
    switch answer.verdict {
    case .success(let token):
      if inspection.refusal == nil { findings.append(.pass("it is good for \(words(token))")) }
    case .failure(let failure):
      // What is wrong with the token itself has been told.
      if inspection.refusal == nil { findings.append(.fail(failure.message, failure.advice)) }
    }
    return findings
  }

  /// Why no token came.
  static func failure(_ answer: TokenInquiry.Answer) -> Finding {
    guard case .failure(let failure) = answer.verdict else {
      return .fail("no token came", "Look at what the provider answers")
    }
    return .fail(failure.message, failure.advice)
  }

  /// How long the daemon would use it, and how that is known.
  static func words(_ token: AccessToken) -> String {
    let source =
      switch token.lifetimeSource {
      case .relative: "the seconds that the answer tells"
      case .responseDate: "its end less the answer's Date"
      case .creation: "its end less its creation"
      case .wallClock: "its end less this machine's clock"
      case .claims: "`exp` less `iat`"
      }
    return "\((token.deadline - token.receivedAt).spoken) (\(source))"
  }
}
