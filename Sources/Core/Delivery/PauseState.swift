// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Whether there is a pause, what is deferred until the end of a pause, and whether Fleet Engine has accepted
/// OFFLINE.
struct PauseState: Equatable, Sendable {
  private enum State: Equatable {
    case on
    case off(PauseRecord, isTokenFileChanged: Bool)
  }

  private var state = State.on
  /// OFFLINE was accepted, but a position may still arrive after it, which would set the vehicle to ONLINE again.
  private(set) var isAcceptedEarly = false

  /// Nil while on duty.
  var pause: PauseRecord? { if case .off(let record, _) = state { record } else { nil } }

  /// - Returns: false if there is a pause already, which continues unchanged.
  mutating func pause(_ record: PauseRecord) -> Bool {
    guard state == .on else { return false }
    state = .off(record, isTokenFileChanged: false)
    isAcceptedEarly = false
    return true
  }

  /// The token file has changed.
  ///
  /// - Parameter isNeeded: whether OFFLINE is still pending, which needs a token during a pause.
  /// - Returns: whether to read the file now; otherwise it is read at the end of the pause.
  mutating func tokenFileChanged(isNeeded: Bool = false) -> Bool {
    guard case .off(let record, _) = state, !isNeeded else { return true }
    state = .off(record, isTokenFileChanged: true)
    return false
  }

  /// - Returns: the pause that ends, and whether the token file changed during it; nil if there was none.
  mutating func resume() -> (pause: PauseRecord, isTokenFileChanged: Bool)? {
    guard case .off(let record, let isTokenFileChanged) = state else { return nil }
    state = .on
    return (record, isTokenFileChanged)
  }

  // MARK: - OFFLINE

  /// Whether OFFLINE is pending for this vehicle in this pause. False on duty.
  ///
  /// - Parameter vehicle: as in ``PauseRecord/offline``.
  func isOfflinePending(for vehicle: String) -> Bool { pause.map { $0.offline != vehicle } ?? false }

  /// Fleet Engine has accepted OFFLINE for this vehicle.
  ///
  /// - Parameter isEarly: whether a position may still arrive after it.
  /// - Returns: what to store about the pause from now on; nil on duty, and if OFFLINE has to be sent again.
  mutating func acceptedOffline(of vehicle: String, isEarly: Bool) -> PauseRecord? {
    guard case .off(var record, let isTokenFileChanged) = state else { return nil }
    isAcceptedEarly = isEarly
    guard !isEarly else { return nil }
    record.offline = vehicle
    state = .off(record, isTokenFileChanged: isTokenFileChanged)
    return record
  }

  /// The settings name another vehicle, which has no position in flight.
  mutating func vehicleChanged() {
    isAcceptedEarly = false
  }
}
