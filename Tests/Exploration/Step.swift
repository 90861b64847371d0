// SPDX-License-Identifier: Apache-2.0

/// The possible next steps of a daemon: the alphabet of the exploration.
enum Step: String, CaseIterable {
  /// A second passes, and the receiver has a fix.
  case fix
  /// A second passes, and the receiver has no fix.
  case silence
  /// Time passes until the daemon's next deadline.
  case deadline
  /// Fleet Engine accepts the update.
  case accepted
  /// Fleet Engine has a fault: 503.
  case unavailable
  /// The token does not permit the update: 403.
  case denied
  /// Fleet Engine rejects the update: 400.
  case invalid
  /// There is no response until the request's deadline.
  case lost
  /// The token provider issues a token.
  case token
  /// The provider is unreachable.
  case noToken
  case networkDown, networkUp
  case pause, resume
  /// The same settings are reloaded.
  case reload
  /// The power fails, and the daemon runs again twenty seconds later.
  case powerCut
}
