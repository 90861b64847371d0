// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages
package import Timekeeping

/// A token in memory: the secret, its authorization context, and its expiry on the elapsed clock.
package struct AccessToken: Equatable, Sendable {
  /// What the lifetime was derived from, in order of preference.
  package enum LifetimeSource: String, Sendable {
    /// Seconds stated by the provider.
    case relative
    /// Expiration minus the response's `Date`.
    case responseDate
    /// Expiration minus the creation time in the response.
    case creation
    /// Expiration minus this machine's clock, which is past the build date.
    case wallClock
    /// The claims `exp` minus `iat`.
    case claims
  }

  /// The token as it is sent after `Bearer `.
  package let secret: Secret
  /// The context that it was requested for. It is used for no other.
  package let context: AuthorizationContext
  /// When the response had arrived.
  package let receivedAt: BootInstant
  /// The token's expiry: it is not used at or after this.
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

  /// Whether it may still be sent.
  package func isValid(at now: BootInstant) -> Bool { now < deadline }

  /// The window in which to request the next token: from 20 % to 10 % of the lifetime before expiry, at most ten and
  /// five minutes.
  package var prefetch: (first: BootInstant, last: BootInstant) {
    let margin = min((deadline - receivedAt) / 5, .seconds(600))
    return (deadline - margin, deadline - margin / 2)
  }
}
