// SPDX-License-Identifier: Apache-2.0
import Authorization
import HTTPMessages
import Timekeeping

/// A token outlives the process, so that a fleet that is upgraded at once does not ask its token provider at once.
extension VehicleAgent {
  mutating func restore(_ text: Secret, at now: Moment, _ effects: inout [Effect]) {
    guard let key = configuration.tokenKey else { return effects.append(.forgetToken) }
    do throws(KeptToken.Unfitness) {
      let kept = try KeptToken(text, for: configuration.context, key: key, at: now.boot)
      apply(tokens.handle(.restored(kept.token), at: now), at: now, &effects)
    } catch {
      effects.append(.event(.tokenNotRestored(error.explanation, reason: error.rawValue)))
      effects.append(.forgetToken)
    }
  }

  func keep(_ token: AccessToken, _ effects: inout [Effect]) {
    guard let key = configuration.tokenKey else { return }
    effects.append(.keepToken(KeptToken(token, key: key).text))
  }

  /// New settings are in force: what was kept under another key is not theirs.
  func keepToken(from before: Configuration, at now: BootInstant, _ effects: inout [Effect]) {
    guard configuration.tokenKey != before.tokenKey else { return }
    if before.tokenKey != nil { effects.append(.forgetToken) }
    // Of another provider's token nobody knows whether this one would have given it.
    guard configuration.tokenProvider == before.tokenProvider, let token = tokens.token(at: now) else { return }
    keep(token, &effects)
  }
}
