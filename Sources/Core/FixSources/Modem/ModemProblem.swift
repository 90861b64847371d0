// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
import Timekeeping

/// Why there are no positions from a modem.
package struct ModemProblem: ReportedProblem, Equatable, Sendable {
  package let sentence: Sentence
  package let advice: String?

  init(_ sentence: Sentence, _ advice: String) {
    self.sentence = sentence
    self.advice = advice
  }

  /// - Parameter wanted: the configured modem, or any.
  static func noModem(_ wanted: ModemSelection, others: Int) -> ModemProblem {
    if let key = wanted.key, others > 0 {
      return ModemProblem(
        "ModemManager has no modem with the \(key) of the settings", "check source.\(key); mmcli -L lists the modems")
    }
    return ModemProblem(
      "ModemManager has no modem", "check its plug and its power; after a start it takes half a minute")
  }

  /// ModemManager is not running.
  package static let noModemManager = ModemProblem(
    "ModemManager is not running", "install or start it: apt install modemmanager, systemctl status ModemManager")

  /// The modem's receiver is used by another program.
  static func unmanaged(_ modem: Modem) -> ModemProblem {
    let port = modem.receiverPorts.first.map { "device = \"/dev/\($0)\"" } ?? "its port for NMEA as device"
    return ModemProblem(
      "another program has enabled gps-unmanaged of \(modem.name)",
      "read its sentences with type = \"serial\" and \(port), or from the gpsd that reads them; or disable it: "
        + "sudo mmcli -m \(modem.number) --location-disable-gps-unmanaged")
  }

  /// The modem has no interface for positions.
  static func withoutLocation(_ modem: Modem) -> ModemProblem {
    switch modem.state {
    case .failed(.noSIM):
      ModemProblem(
        "\(modem.name) has no SIM, and ModemManager before 1.24 reports no positions without one",
        "insert one, or read the modem's port for NMEA with type = \"serial\"")
    case .failed(.badSIM):
      ModemProblem("ModemManager cannot use the SIM of \(modem.name)", "try another; see mmcli -m \(modem.number)")
    case .failed(.other):
      ModemProblem(
        "ModemManager cannot use \(modem.name)",
        "see mmcli -m \(modem.number) and journalctl -u ModemManager")
    case .locked:
      ModemProblem(
        "\(modem.name) is locked: without the PIN of its SIM there are no positions",
        "enter it: sudo mmcli -m \(modem.number) --pin=…, or gsm.pin of NetworkManager")
    case .starting:
      ModemProblem("\(modem.name) is being set up by ModemManager", "wait half a minute")
    case .disabled, .enabled:
      ModemProblem(
        "ModemManager offers no positions of \(modem.name)",
        "read the modem's port for NMEA with type = \"serial\", if it has one")
    }
  }

  /// The modem has an interface for positions, but no receiver.
  static func withoutReceiver(_ modem: Modem, _ location: Modem.Location) -> ModemProblem {
    guard location.offered.contains(.unmanaged) else {
      return ModemProblem(
        "\(modem.name) has no receiver that ModemManager knows",
        "see mmcli -m \(modem.number) --location-status; use another source")
    }
    let port = modem.receiverPorts.first.map { "device = \"/dev/\($0)\"" } ?? "its port for NMEA as device"
    return ModemProblem(
      "ModemManager can only switch the receiver of \(modem.name) on, not read it",
      "switch it on with sudo mmcli -m \(modem.number) --location-enable-gps-unmanaged, and read it with type = \"serial\" and \(port)"
    )
  }

  /// The receiver is off, and polkit does not permit this user to enable it.
  package static func mayNotEnable(_ modem: Modem) -> ModemProblem {
    ModemProblem(
      "the receiver of \(modem.name) is off, and this user may not switch it on",
      "switch it on: sudo fleet-locationctl modem enable")
  }

  /// ModemManager failed to enable the receiver.
  static func cannotEnable(_ modem: Modem) -> ModemProblem {
    ModemProblem(
      "ModemManager cannot switch the receiver of \(modem.name) on",
      "see why: sudo fleet-locationctl modem enable, journalctl -u ModemManager")
  }

  /// polkit does not permit this user to read positions.
  package static let mayNotRead = ModemProblem(
    "ModemManager does not let this user read positions",
    "grant it org.freedesktop.ModemManager1.Location with polkit, as /usr/share/polkit-1/rules.d/fleet-locationd.rules does"
  )

  /// ModemManager cannot do this in the modem's state.
  package static func wrongState(_ modem: Modem) -> ModemProblem {
    ModemProblem(
      "\(modem.name) is not enabled",
      "enable it: sudo mmcli -m \(modem.number) --enable; NetworkManager does this when it connects")
  }

  /// The modem repeats its last position.
  static func frozen(_ modem: Modem, for time: Duration) -> ModemProblem {
    ModemProblem(
      "the receiver of \(modem.name) has frozen: ModemManager has repeated the same sentences for \(time.wholeSeconds) s",
      "if this persists: sudo mmcli -m \(modem.number) --reset, or power-cycle it")
  }

  /// The receiver is on, but silent.
  package static func silent(_ modem: Modem, for time: Duration) -> ModemProblem {
    ModemProblem(
      "\(modem.name) has sent no sentence for \(time.wholeSeconds) s",
      "check its GNSS antenna; see mmcli -m \(modem.number) --location-get")
  }
}
