// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages
package import Timekeeping

/// A token in the cache: the secret, for whom, and until when on this machine's elapsed clock.
package struct AccessToken: Equatable, Sendable {
  /// Where the lifetime was read, best first (the order in which they are tried).
  package enum LifetimeSource: String, Sendable {
    /// The provider told seconds.
    case relative
    /// The expiration less the answer's own `Date`.
    case responseDate
    /// The expiration less the time of creation in the answer.
    case creation
    /// The expiration less this machine's clock, which is past the build date.
    case wallClock
    /// The claims `exp` less `iat`.
    case claims
  }

  /// The token as it is sent after `Bearer `.
  package let secret: Secret
  /// What it was asked for: it serves nothing else.
  package let context: AuthorizationContext
  /// When its answer had arrived.
  package let receivedAt: BootInstant
  /// The end of its life: it is not used at or after this.
  package let deadline: BootInstant
  /// What its lifetime was read from.
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

  /// Between which times a successor is first asked for: 20 to 10 % of the life before its end, at most ten and five minutes.
  package var prefetch: (first: BootInstant, last: BootInstant) {
    let margin = min((deadline - receivedAt) / 5, .seconds(600))
    return (deadline - margin, deadline - margin / 2)
  }
}
