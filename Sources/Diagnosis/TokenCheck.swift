// SPDX-License-Identifier: Apache-2.0
import Authorization
import Configuration
import Delivery
import EventLoop
import FleetEngine
import HTTPMessages
import LocationDaemon
import SystemCalls
import Timekeeping

/// A token that one check has got and a later one uses.
final class TokenInHand {
  /// Nil until one came that the daemon would use.
  var secret: Secret?
}

/// The token: asked for once, as the daemon would, and looked at.
struct TokenCheck: Check {
  let settings: Settings
  let surroundings: Doctor.Surroundings
  let token: TokenInHand

  var title: String { "Token: \(TokenCheck.provider(settings))" }

  func run(_ report: (Finding) -> Void) {
    do {
      guard let answer = try TokenCheck.ask(settings, as: .own, in: surroundings) else { return }
      for finding in TokenFindings.findings(answer) { report(finding) }
      if case .success = answer.verdict { token.secret = answer.secret }
    } catch {
      report(TokenCheck.finding(error, settings, surroundings, command: "fleet-locationctl doctor"))
    }
  }

  /// Who gives tokens, without what may be secret in a URL.
  static func provider(_ settings: Settings) -> String {
    switch settings.agent.tokenProvider {
    case .http(let endpoint):
      let url = endpoint.urlTemplate.prefix { $0 != "?" }
      return "from \(url)" + (settings.token.client.proxy.map { " through \($0)" } ?? "")
    case .command(let command): return "from the program \(command.arguments.first ?? "")"
    case .file(let file): return "from the file \(file.path)"
    }
  }

  /// Asks once and waits for the answer.
  ///
  /// - Returns: nil for a stranger where nothing would tell one from this box.
  /// - Throws: `DaemonError`, `TokenFailure` or `EventLoopError` when it cannot be asked.
  static func ask(
    _ settings: Settings, as identity: TokenInquiry.Identity, in surroundings: Doctor.Surroundings
  ) throws -> TokenInquiry.Answer? {
    let loop = surroundings.loop
    guard let inquiry = try TokenInquiry.make(settings, as: identity, loop: loop),
      let context = settings.agent.context
    else { return nil }
    var answer: TokenInquiry.Answer?
    try inquiry.ask(for: context) { answer = $0 }
    // Requests have their own deadline, and programs a time to end in.
    try loop.turn(until: loop.now.boot + settings.agent.tokenProvider.deadline + .seconds(5)) { answer != nil }
    if answer == nil { inquiry.cancel() }
    return answer
  }

  /// Why it could not be asked.
  ///
  /// - Parameter isRequired: whether nothing was looked at when it could not; else it may work for the service all the same.
  static func finding(
    _ error: any Error, _ settings: Settings, _ surroundings: Doctor.Surroundings, command: String,
    isRequired: Bool = false
  ) -> Finding {
    switch error {
    case let error as DaemonError where ServiceCredentials.isOutOfReach(error, settings):
      let advice = ServiceCredentials.advice(
        settings, command: command, user: surroundings.serviceUser?.name ?? "fleet-locationd",
        current: surroundings.currentUser)
      let sentence = "it is not asked for: \(error.message)"
      return isRequired ? .fail(sentence, advice) : .warn(sentence, advice)
    case let error as DaemonError: return .fail(error.message, "The service cannot start like this")
    case let error as TokenFailure: return .fail(error.message, error.advice)
    default: return .fail("\(error)", "Close other programs, and try again")
    }
  }
}
