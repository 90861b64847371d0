// SPDX-License-Identifier: Apache-2.0

/// What the driver has chosen: whether positions are sent (no pause), and whether new trips are accepted (on duty).
/// Both are stored. Also holds what is deferred until the end of a pause, and whether Fleet Engine has accepted
/// OFFLINE.
struct DutyState: Equatable, Sendable {
  /// Nil while positions are sent.
  private(set) var pause: PauseRecord?
  /// Nil while on duty.
  private(set) var offDuty: DutyRecord?
  private var isTokenFileChanged = false
  /// OFFLINE was accepted, but a position with ONLINE may still arrive after it.
  private(set) var isOfflineAcceptedEarly = false

  /// Whether the vehicle is to be OFFLINE.
  var isOffline: Bool { pause != nil || offDuty != nil }

  // MARK: - The pause

  /// - Returns: the pause that begins; nil if there is a pause already, which continues unchanged.
  mutating func pause(_ record: PauseRecord) -> PauseRecord? {
    guard pause == nil else { return nil }
    var record = record
    if let offDuty, offDuty.isOfflineAccepted {
      record.offlineVehicle = record.offlineVehicle ?? offDuty.vehicle
    } else {
      isOfflineAcceptedEarly = false
    }
    pause = record
    isTokenFileChanged = false
    return record
  }

  /// The token file has changed.
  ///
  /// - Parameter isTokenNeeded: whether OFFLINE is still pending, which needs a token during a pause.
  /// - Returns: whether to read the file now; otherwise it is read at the end of the pause.
  mutating func admitTokenFileChange(isTokenNeeded: Bool = false) -> Bool {
    guard pause != nil, !isTokenNeeded else { return true }
    isTokenFileChanged = true
    return false
  }

  /// - Returns: the pause that ends, and whether the token file changed during it; nil if there was none.
  mutating func resume() -> (pause: PauseRecord, isTokenFileChanged: Bool)? {
    guard let ended = pause else { return nil }
    pause = nil
    return (ended, isTokenFileChanged)
  }

  // MARK: - The duty

  /// The driver goes off duty.
  ///
  /// - Returns: the new record; nil if the driver is off duty already, and the record is unchanged.
  mutating func goOffline(_ record: DutyRecord) -> DutyRecord? {
    var record = record
    if let offDuty {
      // A record that could not be read is replaced by the driver's new choice.
      guard offDuty.vehicle == nil, record.vehicle != nil else { return nil }
      record.isOfflineAccepted = offDuty.isOfflineAccepted
    } else if let pause {
      if let vehicle = record.vehicle, pause.offlineVehicle == vehicle { record.isOfflineAccepted = true }
    } else {
      isOfflineAcceptedEarly = false
    }
    offDuty = record
    return record
  }

  /// - Returns: the record of the time off duty, which ends; nil if the driver is on duty already.
  mutating func goOnline() -> DutyRecord? {
    defer { offDuty = nil }
    return offDuty
  }

  // MARK: - OFFLINE

  /// Whether OFFLINE is not yet final for this vehicle: it was not accepted, or a position with ONLINE may still arrive
  /// after it. False on duty without a pause.
  ///
  /// - Parameter vehicle: as in ``PauseRecord/offlineVehicle``.
  func isOfflinePending(for vehicle: String) -> Bool {
    if let pause { return pause.offlineVehicle != vehicle }
    return offDuty.map { !$0.isOfflineAccepted || ($0.vehicle ?? vehicle) != vehicle } ?? false
  }

  /// Fleet Engine has accepted OFFLINE for this vehicle.
  ///
  /// - Parameter isEarly: whether a position with ONLINE may still arrive after it.
  /// - Returns: whether it is final, so that the records have changed and must be stored; false on duty without a
  ///   pause, and if OFFLINE has to be sent again.
  mutating func acceptedOffline(of vehicle: String, isEarly: Bool) -> Bool {
    guard isOfflinePending(for: vehicle) else { return false }
    isOfflineAcceptedEarly = isEarly
    guard !isEarly else { return false }
    pause?.offlineVehicle = vehicle
    offDuty?.isOfflineAccepted = true
    return true
  }

  /// The settings name another vehicle, which has no position in flight, and whose driver has chosen nothing yet.
  ///
  /// - Returns: whether the previous driver was off duty.
  mutating func vehicleChanged() -> Bool {
    isOfflineAcceptedEarly = false
    return goOnline() != nil
  }
}
