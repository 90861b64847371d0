// SPDX-License-Identifier: Apache-2.0

/// Selects the modem, and decides what has to be done to read its positions.
package struct ModemSelection: Equatable, Sendable {
  /// The next step.
  package enum Step: Equatable, Sendable {
    /// Its positions can be read.
    case read(Modem)
    /// These sources must be enabled in addition to those already enabled.
    case enable(Modem, Modem.LocationSources)
    /// Wait until something changes.
    case wait(ModemProblem)
  }

  /// The sysfs path of the device, or the object path; nil for any.
  package var device: String?
  /// Its IMEI; nil for any.
  package var imei: String?

  package init(device: String? = nil, imei: String? = nil) {
    self.device = device
    self.imei = imei
  }

  /// The setting that names the modem.
  var key: String? { device != nil ? "device" : imei != nil ? "imei" : nil }

  /// The next step.
  ///
  /// - Parameters:
  ///   - modems: all modems of ModemManager.
  ///   - path: the path of the modem in use, which is preferred as long as it can be read.
  package func step(among modems: [Modem], keeping path: String? = nil) -> Step {
    let matching = modems.filter(matches)
    guard !matching.isEmpty else { return .wait(.noModem(self, others: modems.count)) }
    // The modem in use comes first, the others follow in ModemManager's order.
    let ordered = matching.sorted { one, other in
      (one.path != path ? 1 : 0, one.number.utf8.count, one.number) < (
        other.path != path ? 1 : 0, other.number.utf8.count, other.number
      )
    }
    let steps = ordered.map(ModemSelection.step(with:))
    let best =
      steps.first { if case .read = $0 { true } else { false } }
      ?? steps.first { if case .enable = $0 { true } else { false } }
    return best ?? steps[0]
  }

  private func matches(_ modem: Modem) -> Bool {
    if let device, modem.device != device, modem.path != device { return false }
    if let imei, modem.imei != imei { return false }
    return true
  }

  private static func step(with modem: Modem) -> Step {
    guard let location = modem.location else { return .wait(.withoutLocation(modem)) }
    let offered = location.offered.intersection(.positions)
    guard !offered.isEmpty else { return .wait(.withoutReceiver(modem, location)) }
    let needed: Modem.LocationSources = offered.contains(.nmea) ? .nmea : .raw
    if location.enabled.isSuperset(of: needed) { return .read(modem) }
    // ModemManager does not support both at once, and disabling gps-unmanaged would take the receiver from the program
    // that uses it.
    guard !location.enabled.contains(.unmanaged) else { return .wait(.unmanaged(modem)) }
    return .enable(modem, offered)
  }
}
