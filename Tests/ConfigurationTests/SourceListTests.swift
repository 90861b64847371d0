// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import Configuration

/// Several sources in one file.
struct SourceListTests {
  let machine = TestMachine()

  /// The minimal settings, with these sources from line 4 on.
  private func text(_ sources: String) -> String {
    """
    [vehicle]
    provider_id = "my-project"
    vehicle_id = "truck-17"
    \(sources)
    [token]
    url = "https://t.example.com/{vehicle_id}"

    """
  }

  private let two = """
    [[source]]
    type = "serial"
    device = "/dev/gps0"
    silence_timeout = "5s"
    [[source]]
    type = "gpsd"
    """

  @Test("a modem can be selected by its USB port or its IMEI, and the selection is optional")
  func modem() throws {
    func source(_ keys: String) throws -> SourceKind? {
      try machine.settings(for: text("[source]\ntype = \"modemmanager\"\n" + keys)).sources.first?.kind
    }
    try expectEqual(source(""), .modemManager(ModemManagerSettings()))
    let named = try source("device = \"/sys/devices/usb1/1-1\"")
    expectEqual(named, .modemManager(ModemManagerSettings(device: "/sys/devices/usb1/1-1")))
    expectEqual(named?.name, "ModemManager, modem /sys/devices/usb1/1-1")
    let known = try source("imei = \"354479080000017\"")
    expectEqual(known, .modemManager(ModemManagerSettings(imei: "354479080000017")))
    expectEqual(known?.name, "ModemManager, modem …0017")
    for (keys, part) in [
      ("imei = \"12345\"", "is not an IMEI; 14 to 16 digits are expected"),
      ("device = \"ttyUSB0\"", "is not an absolute path"),
      ("device = \"/sys/a\"\nimei = \"354479080000017\"", "source.imei: selects the modem, as `device` does"),
      ("[[source]]\ntype = \"modemmanager\"", "selects the same modem as another source"),
    ] {
      let table = keys.hasPrefix("[[") ? "[[source]]" : "[source]"
      let messages = machine.messages(for: text("\(table)\ntype = \"modemmanager\"\n\(keys)"))
      expect(messages.count == 1 && messages.first?.contains(part) == true, "\(messages)")
    }
  }

  @Test("sources are read in the order of the file, each with its own keys and defaults")
  func list() throws {
    let settings = try machine.settings(for: text(two))
    expectEqual(
      settings.sources,
      [
        Settings.Source(kind: .serial(SerialSettings(device: "/dev/gps0", baud: 9600)), silenceTimeout: .seconds(5)),
        Settings.Source(kind: .gpsd(GPSDSettings()), silenceTimeout: .seconds(10)),
      ])
  }

  @Test("a single table [source] and a list of one [[source]] are equivalent")
  func one() throws {
    let keys = "type = \"serial\"\ndevice = \"/dev/gps0\""
    try expectEqual(
      machine.settings(for: text("[source]\n\(keys)")), machine.settings(for: text("[[source]]\n\(keys)")))
    expectEqual(
      machine.messages(for: text("[[source]]\n\(keys)\nbaud = 1")).first?.hasPrefix("/etc/f/f.toml:7:8: source.baud: "),
      true)
  }

  @Test("all mistakes are reported at once, with their position and the number of the source")
  func problems() {
    let sources = """
      [[source]]
      type = "serial"
      baud = 1234
      [[source]]
      type = "gpsd"
      baud = 9600
      adress = "localhost"
      [[source]]
      device = 3
      """
    let messages = machine.messages(for: text(sources))
    expectEqual(
      messages.map { $0.split(separator: ": ", maxSplits: 2).prefix(2).joined(separator: ": ") },
      [
        "/etc/f/f.toml:4:1: source[1].device",
        "/etc/f/f.toml:6:8: source[1].baud",
        "/etc/f/f.toml:9:1: source[2].baud",
        "/etc/f/f.toml:10:1: source[2].adress",
        "/etc/f/f.toml:11:1: source[3].type",
      ], "\(messages)")
    expect(messages.contains { $0.hasSuffix("source[2].adress: is not a setting; did you mean `address`?") })
    expect(
      messages.contains { $0.hasSuffix("source[2].baud: belongs to type = \"serial\"; the type is \"gpsd\"") })
  }

  @Test(
    "in a list of sources, settings that need a single source, and a device or standard input used twice, are rejected",
    arguments: [
      ("type = \"replay\"\nfile = \"a\"\npace = 0", ":13:8: source[3].pace: is 0, as fast as"),
      ("type = \"replay\"\nfile = \"a\"\ntime = \"keep\"", ":13:8: source[3].time: \"keep\" is for a recording"),
      ("type = \"serial\"\ndevice = \"/dev/gps0\"", ":12:10: source[3].device: is the device of another source"),
      (
        "type = \"replay\"\nfile = \"-\"\n[[source]]\ntype = \"replay\"\nfile = \"-\"",
        ":15:8: source[4].file: is standard input, which another source reads"
      ),
    ])
  func together(_ third: String, _ part: String) {
    let messages = machine.messages(for: text(two + "\n[[source]]\n" + third))
    expectEqual(messages.count, 1)
    expectEqual(messages.first?.contains(part), true, "\(messages)")
  }

  @Test(
    "a source that is not a table is reported",
    arguments: [
      (
        "source = 3",
        "source: is a whole number; a table is expected, which begins with the line [source], or [[source]]"
      ),
      ("source = [3]", "source: has a whole number in it; tables are expected"),
      ("source = []", "source.type: is missing"),
    ])
  func noTable(_ line: String, _ part: String) {
    let messages = machine.messages(for: line + "\n" + text(""))
    expect(messages.contains { $0.contains(part) }, "\(messages)")
  }

  @Test("more than 16 sources are rejected")
  func tooMany() {
    let sources = (0..<17).map { "[[source]]\ntype = \"serial\"\ndevice = \"/dev/gps\($0)\"" }.joined(separator: "\n")
    let messages = machine.messages(for: text(sources))
    expectEqual(messages.count, 1)
    expectEqual(messages.first?.hasSuffix("source: has 17 entries; allowed: at most 16"), true)
  }

  @Test("the sources of a later file replace those of an earlier one as a whole; two single tables are merged")
  func merging() throws {
    let other = "[[source]]\ntype = \"serial\"\ndevice = \"/dev/gps1\""
    try expectEqual(
      machine.settings(for: text(two), with: ["a.toml": other]).sources.map(\.kind),
      [
        .serial(SerialSettings(device: "/dev/gps1"))
      ])
    try expectEqual(
      machine.settings(for: text("[source]\ntype = \"gpsd\""), with: ["a.toml": two]).sources.count, 2)
    let lone = "[source]\ntype = \"serial\"\ndevice = \"/dev/gps2\""
    try expectEqual(
      machine.settings(for: text(two), with: ["a.toml": lone]).sources.map(\.kind),
      [
        .serial(SerialSettings(device: "/dev/gps2"))
      ])
    try expectEqual(
      machine.settings(for: text(lone), with: ["a.toml": "[source]\nbaud = 4800"]).sources.map(\.kind),
      [
        .serial(SerialSettings(device: "/dev/gps2", baud: 4800))
      ])
    let messages = machine.messages(for: text(lone), with: ["a.toml": two + "\nbaud = 1"])
    expectEqual(messages.first?.hasPrefix("/etc/f/conf.d/a.toml:7:1: source[2].baud: belongs to"), true, "\(messages)")
  }

  @Test("a source listed after a simulated drive causes a warning, unless the drive ends or has tunnels")
  func sourceAfterLoop() throws {
    func warnings(_ drive: String, _ sources: [String]) throws -> [String] {
      let lists = sources.map {
        $0 == "drive" ? "type = \"simulated\"\nroute = \"r.gpx\"\n\(drive)" : "type = \"gpsd\""
      }
      return try machine.adding(text(lists.map { "[[source]]\n\($0)" }.joined(separator: "\n"))).load().warnings
        .map(\.description)
    }
    let found = try warnings("", ["gpsd", "drive", "gpsd"])
    expectEqual(found.count, 1)
    expectEqual(found.first?.hasPrefix("/etc/f/f.toml:11:8: source[3].type: comes after source[2]"), true, "\(found)")
    expect(try warnings("loop = false", ["drive", "gpsd"]).isEmpty)
    expect(try warnings("tunnels = [{ from = \"1 km\", length = \"2 km\" }]", ["drive", "gpsd"]).isEmpty)
    expect(try warnings("", ["gpsd", "drive"]).isEmpty)
    expect(try warnings("", ["drive"]).isEmpty)
  }
}
