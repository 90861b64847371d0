// SPDX-License-Identifier: Apache-2.0

/// Whether the driver is on duty, and what must wait until the end of a pause.
struct Duty: Equatable, Sendable {
  private enum State: Equatable {
    case on
    case off(PauseNote, isTokenRenewed: Bool)
  }

  private var state = State.on

  /// Nil while on duty.
  var pause: PauseNote? { if case .off(let note, _) = state { note } else { nil } }

  /// - Returns: false when there is a pause already, which goes on as it was.
  mutating func pause(_ note: PauseNote) -> Bool {
    guard state == .on else { return false }
    state = .off(note, isTokenRenewed: false)
    return true
  }

  /// The token's file has changed.
  ///
  /// - Returns: whether it is to be read now; during a pause it is read at its end.
  mutating func tokenRenewed() -> Bool {
    guard case .off(let note, _) = state else { return true }
    state = .off(note, isTokenRenewed: true)
    return false
  }

  /// - Returns: the pause that ends, and whether the token's file has changed during it; nil when there was none.
  mutating func resume() -> (pause: PauseNote, isTokenRenewed: Bool)? {
    guard case .off(let note, let isTokenRenewed) = state else { return nil }
    state = .on
    return (note, isTokenRenewed)
  }
}
