// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import FixSources
import Testing

struct ModemSelectionTests {
  private func modem(
    _ number: Int, _ state: Modem.State = .enabled, offered: Modem.LocationSources? = [.raw, .nmea],
    enabled: Modem.LocationSources = []
  ) -> Modem {
    var modem = Modem(path: "/org/freedesktop/ModemManager1/Modem/\(number)")
    (modem.device, modem.imei, modem.state) = ("/sys/devices/usb1/1-\(number)", "35400000000000\(number)", state)
    modem.location = offered.map { Modem.Location(offered: $0, enabled: enabled) }
    return modem
  }

  private func path(_ step: ModemSelection.Step) -> String? {
    switch step {
    case .read(let modem), .enable(let modem, _): modem.path
    case .wait: nil
    }
  }

  private func trouble(_ modems: [Modem], _ selection: ModemSelection = ModemSelection()) -> String? {
    if case .wait(let trouble) = selection.step(among: modems) { return trouble.withAdvice.text }
    return nil
  }

  @Test("the first modem with a receiver is used, preferably one whose receiver is on, and stays selected")
  func first() {
    let any = ModemSelection()
    expectEqual(any.step(among: [modem(10), modem(9)]), .enable(modem(9), [.raw, .nmea]))
    expectEqual(path(any.step(among: [modem(0, offered: nil), modem(1)])), modem(1).path)
    let on = modem(3, enabled: [.nmea])
    expectEqual(any.step(among: [modem(0), on]), .read(on))
    expectEqual(path(any.step(among: [modem(1, enabled: .nmea), on], keeping: on.path)), on.path)
  }

  @Test("if the settings name a modem, no other modem is used; if it is missing, the message does not contain its IMEI")
  func named() {
    let modems = [modem(0), modem(1)]
    expectEqual(path(ModemSelection(device: "/sys/devices/usb1/1-1").step(among: modems)), modem(1).path)
    expectEqual(path(ModemSelection(device: modem(1).path).step(among: modems)), modem(1).path)
    expectEqual(path(ModemSelection(imei: modem(1).imei).step(among: modems)), modem(1).path)
    let text = trouble(modems, ModemSelection(imei: "990000862471854")) ?? ""
    expect(text.contains("no modem with the imei of the settings"))
    expect(!text.contains("990000862471854"))
    expectEqual(trouble([], ModemSelection(imei: "990000862471854"))?.contains("has no modem; check its plug"), true)
  }

  @Test(
    "the reported reason for missing positions depends on the modem's state",
    arguments: [
      (Modem.State.failed(.noSIM), "has no SIM, and ModemManager before 1.24"),
      (.failed(.badSIM), "cannot use the SIM"),
      (.failed(.other), "journalctl -u ModemManager"), (.locked, "without the PIN of its SIM"),
      (.starting, "half a minute"),
      (.enabled, "offers no positions"),
    ])
  func states(state: Modem.State, words: String) {
    expectEqual(trouble([modem(0, state, offered: nil)])?.contains(words), true)
  }

  @Test("a modem without a SIM is used if its ModemManager provides positions")
  func withoutSIM() {
    expectEqual(path(ModemSelection().step(among: [modem(0, .failed(.noSIM))])), modem(0).path)
  }

  @Test(
    "a receiver that another program uses is not touched and its port is reported, unless gps-nmea is enabled too")
  func unmanaged() {
    var taken = modem(2, offered: [.raw, .nmea, .unmanaged], enabled: .unmanaged)
    taken.receiverPorts = ["ttyUSB1"]
    expectEqual(trouble([taken])?.contains("another program has enabled gps-unmanaged of modem 2"), true)
    expectEqual(trouble([taken])?.contains("device = \"/dev/ttyUSB1\""), true)
    let both = modem(2, offered: [.nmea, .unmanaged], enabled: [.nmea, .unmanaged])
    expectEqual(ModemSelection().step(among: [both]), .read(both))
    expectEqual(trouble([modem(0, offered: .unmanaged)])?.contains("can only switch the receiver"), true)
    expectEqual(trouble([modem(0, offered: Modem.LocationSources(rawValue: 1))])?.contains("no receiver"), true)
  }

  @Test("a modem's maker and model are shown only if they are short plain text")
  func words() {
    var odd = modem(0)
    (odd.manufacturer, odd.model) = ("Evil\u{1B}[2J", String(repeating: "x", count: 200))
    expectEqual(odd.name, "modem 0")
  }

  @Test(
    "ModemManager's numbers for states and failure reasons are interpreted correctly",
    arguments: [
      (Int32(-1), UInt32(2), Modem.State.failed(.noSIM)), (-1, 3, .failed(.badSIM)), (-1, 1, .failed(.other)),
      (1, 0, .starting), (2, 0, .locked), (3, 0, .disabled), (6, 0, .enabled), (11, 0, .enabled),
    ])
  func numbers(number: Int32, failure: UInt32, state: Modem.State) {
    expectEqual(Modem.State(number, failure: failure), state)
  }
}
