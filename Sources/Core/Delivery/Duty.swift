// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Whether the driver is on duty, what must wait until the end of a pause, and whether Fleet Engine has accepted OFFLINE for it.
struct Duty: Equatable, Sendable {
  private enum State: Equatable {
    case on
    case off(PauseNote, isTokenRenewed: Bool)
  }

  private var state = State.on
  /// OFFLINE was accepted in this pause, and a position may arrive after it, which sets the vehicle to ONLINE again.
  private(set) var isAcceptedEarly = false

  /// Nil while on duty.
  var pause: PauseNote? { if case .off(let note, _) = state { note } else { nil } }

  /// - Returns: false when there is a pause already, which goes on as it was.
  mutating func pause(_ note: PauseNote) -> Bool {
    guard state == .on else { return false }
    state = .off(note, isTokenRenewed: false)
    isAcceptedEarly = false
    return true
  }

  /// The token's file has changed.
  ///
  /// - Parameter isNeeded: whether OFFLINE is still to be accepted, for which a token is used during a pause.
  /// - Returns: whether it is due now; otherwise it is read at the end of the pause.
  mutating func tokenRenewed(isNeeded: Bool = false) -> Bool {
    guard case .off(let note, _) = state, !isNeeded else { return true }
    state = .off(note, isTokenRenewed: true)
    return false
  }

  /// - Returns: the pause that ends, and whether the token's file has changed during it; nil when there was none.
  mutating func resume() -> (pause: PauseNote, isTokenRenewed: Bool)? {
    guard case .off(let note, let isTokenRenewed) = state else { return nil }
    state = .on
    return (note, isTokenRenewed)
  }

  // MARK: - OFFLINE

  /// Whether OFFLINE is still to be accepted for this vehicle in this pause. False on duty.
  ///
  /// - Parameter vehicle: as in ``PauseNote/offline``.
  func owesOffline(of vehicle: String) -> Bool { pause.map { $0.offline != vehicle } ?? false }

  /// Fleet Engine has accepted OFFLINE for this vehicle.
  ///
  /// - Parameter isEarly: whether a position may arrive after it.
  /// - Returns: what is kept of the pause from now on; nil on duty, and when OFFLINE has to be sent once more.
  mutating func acceptedOffline(of vehicle: String, isEarly: Bool) -> PauseNote? {
    guard case .off(var note, let isTokenRenewed) = state else { return nil }
    isAcceptedEarly = isEarly
    guard !isEarly else { return nil }
    note.offline = vehicle
    state = .off(note, isTokenRenewed: isTokenRenewed)
    return note
  }

  /// The settings name another vehicle, of which no position is under way.
  mutating func vehicleChanged() {
    isAcceptedEarly = false
  }
}
