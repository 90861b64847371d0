// SPDX-License-Identifier: Apache-2.0

/// Injected faults: how they begin, apply and end.
extension FleetService {
  /// Ends the faults whose duration has elapsed, and publishes that.
  ///
  /// - Returns: steady milliseconds when the next one ends.
  package func endFaults(at now: ServerTime) -> Int64? {
    for fault in faults.removeExpired(at: now) {
      let what =
        fault.commandName.isEmpty
        ? "fault for \(fault.target.rawValue) requests: \(fault.summary)" : fault.commandName
      publish(.faults(faults.faults), fault.vehicle ?? "", "\(Self.logPrefix(fault.vehicle))\(what), over", at: now)
    }
    return faults.nextEnd
  }

  /// Returns the fault that applies to a request, and counts its use.
  func consumeFault(
    _ target: Fault.Target, vehicle: String, features: Set<Fault.Feature> = [], at now: ServerTime
  ) -> Fault? {
    guard let fault = faults.consume(target, vehicle: vehicle, features: features, at: now) else { return nil }
    if fault.times != nil { publish(.faults(faults.faults), "", "", at: now) }
    return fault
  }

  /// Adds a fault of `/debug/faults`.
  func add(_ fault: Fault, at now: ServerTime) {
    faults.add(fault)
    publish(
      .faults(faults.faults), fault.vehicle ?? "",
      "\(Self.logPrefix(fault.vehicle))fault for \(fault.target.rawValue) requests: \(fault.summary)", at: now)
  }

  func clearFaults(at now: ServerTime) {
    faults.clear()
    publish(.faults([]), "", "faults cleared", at: now)
  }

  /// Performs the command of a button of the live map.
  ///
  /// - Throws: `APIError`, NOT_FOUND, for a vehicle that has made no request.
  package func perform(_ command: MapCommand, at now: ServerTime) throws(APIError) {
    if let vehicle = command.vehicle, VehicleService.all.allSatisfy({ statistics[$0.key(vehicle)] == nil }) {
      throw APIError(
        .notFound, "Vehicle \(UpdateLine.plain(vehicle)) has made no request yet.", reason: "VEHICLE_NOT_FOUND")
    }
    let prefix = Self.logPrefix(command.vehicle)
    switch command.name {
    case .clear: clearFaults(at: now)
    case .revoke, .expire:
      verifier.revoke(
        command.name == .expire ? .expired : .revoked, until: issuer.lastSerial, vehicle: command.vehicle, at: now)
      let effect = command.name == .expire ? "count as expired" : "are revoked"
      publish(
        .fault, command.vehicle ?? "", "\(prefix)\(command.name.rawValue): all tokens issued so far \(effect)", at: now)
    case .tunnel, .slow, .unavailable, .throttled, .tokensDown:
      guard let fault = command.fault(at: now), let duration = command.duration else { return }
      faults.add(fault)
      publish(
        .faults(faults.faults), command.vehicle ?? "",
        "\(prefix)\(fault.commandName) for \(duration) s: \(fault.summary)", at: now)
    }
  }

  /// The beginning of a log line about a fault.
  private static func logPrefix(_ vehicle: String?) -> String {
    vehicle.map { "\(UpdateLine.plain($0))  " } ?? ""
  }
}
