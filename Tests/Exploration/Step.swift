// SPDX-License-Identifier: Apache-2.0

/// What can happen next to a daemon: the alphabet of the exploration.
enum Step: String, CaseIterable {
  /// A second passes, and the receiver has a fix.
  case fix
  /// A second passes, and it has none.
  case silence
  /// Time passes until the daemon has something to do.
  case deadline
  /// Fleet Engine takes the update.
  case accepted
  /// It has a fault: 503.
  case unavailable
  /// The token does not permit this: 403.
  case denied
  /// The request is rejected: 400.
  case invalid
  /// Nothing comes until the request's deadline.
  case lost
  /// The token provider gives a token.
  case token
  /// It is not there.
  case noToken
  case networkDown, networkUp
  case pause, resume
  /// The same settings are read once more.
  case reload
  /// Power goes, and the program runs again twenty seconds later.
  case powerCut
}
