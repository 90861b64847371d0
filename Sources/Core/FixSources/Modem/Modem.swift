// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// A modem as ModemManager describes it on the bus (org.freedesktop.ModemManager1.Modem and .Modem.Location).
package struct Modem: Equatable, Sendable {
  /// Kinds of location, as bits (MMModemLocationSource).
  package struct LocationSources: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
      self.rawValue = rawValue
    }

    /// Latitude, longitude and time of day, as numbers.
    package static let raw = LocationSources(rawValue: 1 << 1)
    /// The receiver's sentences.
    package static let nmea = LocationSources(rawValue: 1 << 2)
    /// The receiver is on, and its sentences are available at a port of the modem, for a program other than
    /// ModemManager.
    package static let unmanaged = LocationSources(rawValue: 1 << 4)
    /// The sources with positions.
    package static let positions: LocationSources = [.raw, .nmea]
  }

  /// The interface Location.
  package struct Location: Equatable, Sendable {
    /// The supported sources (Capabilities).
    package var offered: LocationSources
    /// The enabled sources (Enabled).
    package var enabled: LocationSources
    /// Whether positions are sent to every user of the machine as signals (SignalsLocation).
    package var isSignalled: Bool

    package init(offered: LocationSources, enabled: LocationSources = [], isSignalled: Bool = false) {
      self.offered = offered
      self.enabled = enabled
      self.isSignalled = isSignalled
    }
  }

  /// The state of a modem (MMModemState), reduced to what matters for positions.
  package enum State: Equatable, Sendable {
    case failed(Failure)
    /// It is being initialized after it was plugged in.
    case starting
    /// Its SIM requires a PIN or a PUK.
    case locked
    case disabled
    /// Switched on, with or without a network.
    case enabled

    /// - Parameters:
    ///   - number: MMModemState.
    ///   - failure: MMModemStateFailedReason.
    package init(_ number: Int32, failure: UInt32) {
      self =
        switch number {
        case ..<0: .failed(Failure(failure))
        case 0, 1: .starting
        case 2: .locked
        case 3...5: .disabled
        default: .enabled
        }
    }
  }

  /// Why ModemManager considers a modem failed (MMModemStateFailedReason).
  package enum Failure: Equatable, Sendable {
    case noSIM
    case badSIM
    case other

    fileprivate init(_ number: UInt32) {
      self = number == 2 ? .noSIM : number == 3 ? .badSIM : .other
    }
  }

  /// The object path, as in `/org/freedesktop/ModemManager1/Modem/0`. It changes when the modem is plugged in again.
  package var path: String
  /// Where it is plugged in, as in `/sys/devices/platform/…/usb1/1-1`.
  package var device = ""
  /// Its IMEI, MEID or ESN.
  package var imei = ""
  /// The manufacturer.
  package var manufacturer = ""
  /// The model.
  package var model = ""
  /// The state.
  package var state = State.starting
  /// The ports with the receiver's sentences, as in `ttyUSB1`.
  package var receiverPorts: [String] = []
  /// Nil if ModemManager does not provide the modem's positions, or not yet.
  package var location: Location?

  package init(path: String) {
    self.path = path
  }

  /// The number for `mmcli -m`.
  package var number: String { String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]) }

  /// As in `modem 0, QUALCOMM EC25`. Text from the modem is omitted unless it is plain, because every local user can
  /// read it (STATUS=).
  package var name: String {
    let words = [manufacturer, model].map { Modem.plain($0) }.filter { !$0.isEmpty }.joined(separator: " ")
    return "modem \(Modem.plain(number))\(words.isEmpty ? "" : ", ")\(words)"
  }

  private static func plain(_ text: String) -> String {
    text.unicodeScalars.count <= 48 && ExternalText(text).description == text ? text : ""
  }
}
