// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages
package import Timekeeping

/// A token in memory: the secret, its authorization context, and its expiry on the clock of elapsed time.
package struct AccessToken: Equatable, Sendable {
  /// What the lifetime was derived from, in order of preference.
  package enum LifetimeSource: String, Sendable {
    /// Seconds stated by the provider.
    case relative
    /// Expiration minus the response's `Date`.
    case responseDate
    /// Expiration minus the creation time in the response.
    case creation
    /// Expiration minus this machine's clock; used only if that clock is past the build date.
    case wallClock
    /// The claims `exp` minus `iat`.
    case claims
  }

  /// The token as it is sent after `Bearer `.
  package let secret: Secret
  /// The context that it was requested for. It is used for no other context.
  package let context: AuthorizationContext
  /// When the response was completely received.
  package let receivedAt: BootInstant
  /// The token's expiry: it is not used at or after this time.
  package let deadline: BootInstant
  /// What the lifetime was derived from.
  package let lifetimeSource: LifetimeSource

  /// - Parameter lifetime: more than zero.
  package init(
    secret: Secret, context: AuthorizationContext, receivedAt: BootInstant, lifetime: Duration,
    lifetimeSource: LifetimeSource
  ) {
    self.secret = secret
    self.context = context
    self.receivedAt = receivedAt
    self.deadline = receivedAt + lifetime
    self.lifetimeSource = lifetimeSource
  }

  /// Whether the token may still be sent.
  package func isValid(at now: BootInstant) -> Bool { now < deadline }

  /// The window in which to request the next token: it opens 20 % of the lifetime before expiry, at most ten minutes,
  /// and closes 10 % before expiry, at most five minutes.
  package var prefetchWindow: (first: BootInstant, last: BootInstant) {
    let margin = min((deadline - receivedAt) / 5, .seconds(600))
    return (deadline - margin, deadline - margin / 2)
  }
}
