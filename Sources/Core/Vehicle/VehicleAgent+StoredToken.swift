// SPDX-License-Identifier: Apache-2.0
import Authorization
import HTTPMessages
import Timekeeping

/// The token is stored for the next run, so that an upgrade of a fleet does not cause a burst of token requests.
extension VehicleAgent {
  mutating func restoreToken(_ text: Secret, at now: Moment, _ effects: inout [Effect]) {
    guard let key = configuration.tokenKey else { return effects.append(.removeStoredToken) }
    do throws(StoredToken.DiscardReason) {
      let stored = try StoredToken(text, for: configuration.context, key: key, at: now.boot)
      apply(tokens.handle(.restored(stored.token), at: now), at: now, &effects)
    } catch {
      effects.append(.event(.tokenNotRestored(error.explanation, reason: error.rawValue)))
      effects.append(.removeStoredToken)
    }
  }

  func storeToken(_ token: AccessToken, _ effects: inout [Effect]) {
    guard let key = configuration.tokenKey else { return }
    effects.append(.storeToken(StoredToken(token, key: key).text))
  }

  /// The settings changed: a token that is stored under another key is removed.
  func updateStoredToken(from before: Configuration, at now: BootInstant, _ effects: inout [Effect]) {
    guard configuration.tokenKey != before.tokenKey else { return }
    if before.tokenKey != nil { effects.append(.removeStoredToken) }
    // Whether another provider would have issued this token is unknown.
    guard configuration.tokenProvider == before.tokenProvider, let token = tokens.token(at: now) else { return }
    storeToken(token, &effects)
  }
}
