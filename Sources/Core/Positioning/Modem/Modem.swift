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
    /// The receiver is on, and its sentences come out of a port of the modem, for a program other than ModemManager.
    package static let unmanaged = LocationSources(rawValue: 1 << 4)
    /// Those that positions are read from.
    package static let positions: LocationSources = [.raw, .nmea]
  }

  /// What the interface Location says.
  package struct Location: Equatable, Sendable {
    /// What the modem can (Capabilities).
    package var offered: LocationSources
    /// What is switched on (Enabled).
    package var enabled: LocationSources
    /// Whether positions are sent to every user of the machine as signals (SignalsLocation).
    package var isSignalled: Bool

    package init(offered: LocationSources, enabled: LocationSources = [], isSignalled: Bool = false) {
      self.offered = offered
      self.enabled = enabled
      self.isSignalled = isSignalled
    }
  }

  /// What a modem does (MMModemState), as far as it makes a difference for positions.
  package enum State: Equatable, Sendable {
    case failed(Failure)
    /// It is being looked at after it was plugged in.
    case starting
    /// Its SIM wants a PIN or a PUK.
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

  /// Why ModemManager gave a modem up (MMModemStateFailedReason).
  package enum Failure: Equatable, Sendable {
    case noSIM
    case badSIM
    case other

    fileprivate init(_ number: UInt32) {
      self = number == 2 ? .noSIM : number == 3 ? .badSIM : .other
    }
  }

  /// Of its object, as in `/org/freedesktop/ModemManager1/Modem/0`. It changes when the modem is plugged in again.
  package var path: String
  /// Where it is plugged in, as in `/sys/devices/platform/…/usb1/1-1`.
  package var device = ""
  /// Its IMEI, MEID or ESN.
  package var imei = ""
  /// Who made it.
  package var maker = ""
  /// What it is.
  package var model = ""
  /// What it does.
  package var state = State.starting
  /// The ports that its receiver's sentences come out of, as in `ttyUSB1`.
  package var receiverPorts: [String] = []
  /// Nil when ModemManager offers no positions of it, or not yet.
  package var location: Location?

  package init(path: String) {
    self.path = path
  }

  /// As `mmcli -m` takes it.
  package var number: String { String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]) }

  /// As in `modem 0, QUALCOMM EC25`. What the modem says of itself is left out where it is no plain text, for every local
  /// user reads it (STATUS=).
  package var name: String {
    let words = [maker, model].map { Modem.plain($0) }.filter { !$0.isEmpty }.joined(separator: " ")
    return "modem \(Modem.plain(number))\(words.isEmpty ? "" : ", ")\(words)"
  }

  private static func plain(_ text: String) -> String {
    text.unicodeScalars.count <= 48 && ExternalText(text).description == text ? text : ""
  }
}
