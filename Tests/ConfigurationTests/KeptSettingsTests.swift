// SPDX-License-Identifier: Apache-2.0
import Delivery
import Expectations
import Reporting
import Vehicle
import FleetEngine
import Testing

@testable import Configuration

struct KeptSettingsTests {
  static let good = """
    [vehicle]
    provider_id = "my-project"
    vehicle_id = "truck-17"
    [source]
    type = "serial"
    device = "/dev/gps0"
    [token]
    url = "https://tokens.example.com/{vehicle_id}"
    headers = { Accept = "application/json", Authorization = { file = "/etc/f/key" } }
    [reporting]
    interval = "20s"
    """

  /// The stored form of valid settings.
  private func kept(_ text: String = good, _ machine: TestMachine = TestMachine()) throws -> KeptSettings {
    KeptSettings(
      path: "/var/lib/f/kept-settings.toml", bytes: Array(try machine.adding(text).load().keptText.utf8))
  }

  /// The outcome of a start with this text as the settings file: the interval of the stored settings, or the refusal.
  private func outcome(_ text: String, with extras: [String: String] = [:]) throws -> String {
    let (kept, machine) = (try kept(), TestMachine().adding(text, extras))
    do throws(KeptSettings.Refusal) {
      let file = try kept.settings(replacing: "/etc/f/f.toml", environment: machine.environment)
      return "interval \(file.settings.agent.reporting.interval)"
    } catch {
      return error.message
    }
  }

  private let used = "interval \(Duration.seconds(20))"

  @Test("settings that are stored and read again are equal")
  func roundTrip() throws {
    let texts = [
      Self.good,
      """
      # Two receivers, and every kind of value.
      [[source]]
      type = "serial"
      device = "/dev/gps \\"0\\" \\\\ \\u00e9"
      baud = "auto"
      [[source]]
      type = "gpsd"
      [vehicle]
      vehicle_id = { hostname = true }
      provider_id = "my-project"
      [token]
      provider = "command"
      command = ["/usr/bin/token", "--for", "{vehicle_id}"]
      cache = false
      [filter]
      max_hdop = 7.5
      [backlog]
      max_locations = 100
      """,
    ]
    var machine = TestMachine()
    machine.hostname = "truck-18"
    machine.files["/usr/bin/token"] = []
    for text in texts {
      let file = try machine.adding(text).load()
      let again = try machine.adding(file.keptText).load()
      expectEqual(again.settings, file.settings)
      expectEqual(again.canonicalText, file.canonicalText)
    }
  }

  @Test("kept settings whose token provider a later file has changed are used, and not with another provider again")
  func laterProvider() throws {
    let main = minimal(source: "type = \"gpsd\"")
    let later = "[token]\nprovider = \"command\"\ncommand = [\"/usr/bin/token\"]\n"
    var machine = TestMachine().adding(main, ["x.toml": later])
    machine.files["/usr/bin/token"] = []
    let file = try machine.load()
    expectEqual(file.warnings.map(\.key), ["token.url"])
    let kept = KeptSettings(path: "/var/lib/f/kept-settings.toml", bytes: Array(file.keptText.utf8))
    machine.files["/etc/f/conf.d/y.toml"] = Array("[reporting]\ninterval = 20".utf8)
    try expectEqual(kept.settings(replacing: "/etc/f/f.toml", environment: machine.environment).settings, file.settings)
    machine.files["/etc/f/conf.d/x.toml"] = Array("[log]\n".utf8)
    let refusal = #expect(throws: KeptSettings.Refusal.self) {
      try kept.settings(replacing: "/etc/f/f.toml", environment: machine.environment)
    }
    expectEqual(refusal?.message.contains("they differ in token."), true)
  }

  /// Settings with the keys that the previous release does not know.
  private static let withNewKeys =
    good.replacing("[reporting]", with: "[reporting]\ncompact_updates = \"off\"\ndeviation = \"5m\"")
    + "\n[positions]\nsocket = true\n"

  @Test("keys that the previous release does not know are stored as comments, which this release reads")
  func newKey() throws {
    let machine = TestMachine().adding(Self.withNewKeys)
    let file = try machine.load()
    expectEqual(try machine.adding(file.keptText).load().settings, try machine.adding(Self.good).load().settings)
    let again = try kept(Self.withNewKeys).settings(replacing: "/etc/f/f.toml", environment: machine.environment)
    expectEqual(again.settings, file.settings)
    expectEqual(again.canonicalText, file.canonicalText)
    expectEqual(try kept(Self.withNewKeys).texts, file.texts)
    expect(file.settings != (try machine.adding(Self.good).load().settings))
  }

  @Test("a long array is stored with one element in each line: a line has at most 200 dots")
  func longArray() throws {
    let tunnels = (0..<150).map { "{ from = \"\($0).25 km\", length = \"0.5 km\" }" }.joined(separator: ",\n")
    var machine = TestMachine().adding(
      minimal(source: "type = \"simulated\"\nroute = \"/srv/r.gpx\"\ntunnels = [\n\(tunnels)]"))
    machine.files["/srv/r.gpx"] = []
    let file = try machine.load()
    let again = try machine.adding(file.keptText).load()
    expectEqual(again.settings, file.settings)
    expectEqual(again.canonicalText, file.canonicalText)
  }

  @Test("an empty section that the previous release does not know is not stored")
  func emptyNewSection() throws {
    let text = try TestMachine().adding(Self.good + "\n[positions]\n").load().keptText
    expectEqual(text, try TestMachine().adding(Self.good).load().keptText)
  }

  @Test("each setting is known to the previous release, or stored as a comment")
  func keysOfPreviousRelease() {
    // All settings of release 0.2.0.
    let previous: [SettingSection: String] = [
      .vehicle: "provider_id vehicle_id service report_state offline_on_stop",
      .source: """
      type silence_timeout device baud address listen allow connections group interface imei route speed acceleration \
      braking cornering pace head_start loop noise seed clock_offset stops tunnels canyons file time
      """,
      .token: """
      provider url method body headers command file response token_key expiration_key expiration_format creation_key \
      deadline cache ca_file client_certificate client_key proxy
      """,
      .fleetEngine: "endpoint position_field deadline ca_file transport proxy",
      .reporting: "interval heartbeat stop_timeout drain_timeout distance heading",
      .filter: "max_accuracy max_speed min_satellites max_hdop max_age",
      .backlog: "max_locations max_age batch directory max_size commit_interval",
      .log: "level positions", .metrics: "textfile",
    ]
    for section in SettingSection.allCases {
      let known = Set((previous[section] ?? "").split(separator: " ").map(String.init))
      let names = Set(section.settings.map(\.name))
      expectEqual(names.subtracting(known), KeptSettings.newKeys[section] ?? [], "[\(section.rawValue)]")
      expectEqual(known.subtracting(names), [], "[\(section.rawValue)]")
    }
  }

  @Test("the canonical text depends on the values, not on comments, order or the split into files")
  func canonical() throws {
    let machine = TestMachine()
    let split = Self.good.replacing("[reporting]\ninterval = \"20s\"", with: "")
    let parts = machine.adding("# Hello\n" + split, ["10.toml": "[reporting]\ninterval=\"20s\" # slow\n"])
    let text = try machine.adding(Self.good).load().canonicalText
    try expectEqual(parts.load().canonicalText, text)
    expect(try machine.adding(Self.good.replacing("20s", with: "21s")).load().canonicalText != text)
    expect(!text.contains("#"))
  }

  @Test("the stored settings are used if the mistake in the new file does not concern the vehicle or a server")
  func usedAfterMistake() throws {
    let mistakes = [
      Self.good.replacing("\"20s\"", with: "20"),
      Self.good.replacing("interval", with: "intervall"),
      Self.good.replacing("[reporting]", with: "[reportng]"),
      Self.good.replacing("\"20s\"", with: "\"20s"),
      Self.good.replacing("/dev/gps0\"", with: "/dev/gps0"),
      Self.good.replacing("interval = \"20s\"", with: "interval = \"\"\"20s"),
      Self.good + "\n[log]\nlevel = True\n",
      Self.good.replacing("[source]", with: "[source]\nbaud = 9601"),
      Self.good.replacing("[token]", with: "[token]\ndeadline = 3"),
      Self.good.replacing("[token]", with: "[token]\ndeadlin = \"3s\""),
      Self.good.replacing("[token]", with: "[token]\nrespons = \"lmfs\""),
      Self.good + "\n[fleet_engine]\ntransport = \"htp2\"\n",
      Self.good + "\n[fleet_engine]\ntransprt = \"http1\"\n",
      Self.good.replacing("[reporting]", with: "[reporting"),
      Self.good + "\n[reporting\nheartbeat = \"40s\"\n[log]\nlevel = \"info\"\n",
      // The damaged line contains the word vehicle, but in a section and a key that do not matter.
      Self.good.replacing("/dev/gps0\"", with: "/dev/vehicle-token"),
      // The unknown key is in a relevant section, but the known keys are unchanged.
      Self.good + "\n[fleet_engine]\nintervall = 3\n",
      Self.good.replacing("[vehicle]", with: "[vehicle]\nvehicel_id = \"truck-18\""),
      Self.good.replacing("[token]", with: "[token]\nendpoint = \"https://other.example.com\""),
      Self.good.replacing("[token]", with: "[token]\nwhere = \"https://other.example.com\""),
      Self.good + "\n[fleet_engine.more]\nproxy = \"http://10.0.0.1\"\n",
      // The file is truncated: a power cut can leave zeros.
      "", " \n\t\r\n", "\u{0}\u{0}\u{0}",
    ]
    for text in mistakes {
      #expect(throws: ConfigurationError.self) { try TestMachine().adding(text).load() }
      try expectEqual(outcome(text), used, "\(text)")
    }
    try expectEqual(outcome(Self.good, with: ["10.toml": "[reporting]\nheartbeat = 3"]), used)
    try expectEqual(outcome(Self.good, with: ["10.toml": "[reporting\ninterval = \"30s\"\n"]), used)
    try expectEqual(outcome("\u{FEFF}" + Self.good.replacing("\"20s\"", with: "20")), used)
  }

  @Test(
    "the stored settings are not used if the new file names another vehicle, server or credential",
    arguments: [
      ("\"truck-17\"", "\"truck-17\"\nservice = \"trips\"", "vehicle.service"),
      ("\"truck-17\"", "\"truck-17\"\nreport_state = false", "vehicle.report_state"),
      ("truck-17", "truck-18", "vehicle.vehicle_id"),
      ("my-project", "other-project", "vehicle.provider_id"),
      ("tokens.example.com", "tokens.example.org", "token.url"),
      ("Accept = \"application/json\", ", "", "token.headers"),
      ("/etc/f/key", "/etc/f/other-key", "token.headers"),
      ("[token]", "[token]\nproxy = \"http://10.0.0.1:3128\"", "token.proxy"),
      (
        "[reporting]", "[fleet_engine]\nendpoint = \"https://staging.example.com\"\n[reporting]",
        "fleet_engine.endpoint"
      ),
      ("[reporting]", "[fleet_engine]\nca_file = \"/etc/f/ca.pem\"\n[reporting]", "fleet_engine.ca_file"),
      ("[reporting]", "[fleet_engine]\nproxy = \"http://10.0.0.1:3128\"\n[reporting]", "fleet_engine.proxy"),
    ])
  func otherDestination(_ old: String, _ new: String, _ key: String) throws {
    let text = Self.good.replacing(old, with: new).replacing("\"20s\"", with: "20")
    expect(try outcome(text).hasPrefix("are not used: they differ in \(key) (/etc/f/f.toml:"))
  }

  @Test(
    "the stored settings are not used if the vehicle or a server of the new file cannot be determined",
    arguments: [
      Self.good.replacing("\"https://tokens.example.com/{vehicle_id}\"", with: "https://tokens.example.org"),
      Self.good.replacing("[token]", with: "[token"),
      Self.good + "\n[fleet_engin\ndeadline = \"3s\"\nendpoint = \"https://other.example.com\"\n",
      Self.good + "\n[vehicl\nvehicle_id = \"truck-18\"\n",
      Self.good + "\n[reporting\n[\nproxy = \"http://10.0.0.1\"\n",
      Self.good + "\n[fleet_engin]\nproxy = \"http://10.0.0.1\"\n",
      Self.good + "\n[[fleet_engine]]\nendpoint = \"https://other.example.com\"\n",
      "fleet_engine = \"https://other.example.com\"\n" + Self.good,
      Self.good + "\n[server]\nhost = \"other.example.com\"\n",
      Self.good + "\n[log.more]\nproxy = \"http://10.0.0.1\"\n",
      Self.good.replacing("headers = {", with: "body = \"\"\"\n[\n\"\"\"\nprxy = http://10.0.0.1\nheaders = {"),
      Self.good + "\n[log]\nproxi = \"http://10.0.0.1\"\n",
      Self.good + "\n[log]\nproxy = http://10.0.0.1\n",
      Self.good + "\ntoken.deadline = \n",
      Self.good.replacing("[vehicle]", with: "[vehicle]\nnote = 'unterminated"),
      Self.good.replacing("interval = \"20s\"", with: "interval = \"\"\"20s\n[token.headers]\nX-Depot = \"1\"\n"),
      "vehicle: truck-17",
      "\u{0}\u{1}",
      Self.good.replacing("vehicle_id", with: "vehicel_id"),
      Self.good.replacing("/dev/gps0\"", with: "/dev/gps0\"\nproxy = http://10.0.0.1"),
    ])
  func unreadable(_ text: String) throws {
    let said = try outcome(text)
    expect(said.hasPrefix("are not used"), "\(said)")
  }

  @Test(
    "the stored settings are not used if an unknown key may be a misspelt one that decides the vehicle or a server",
    arguments: [
      // The key is one edit away from such a key, is its beginning, or differs in a third of its letters.
      ("log", "proxxy", false), ("log", "prxoy", false), ("log", "ulr", false), ("log", "pro", false),
      ("log", "url2", false), ("reporting", "endpiont", false), ("source", "vehicel", false),
      // The key is two edits away, and has four letters or more and the same first letter.
      ("log", "prxi", false), ("log", "bode", false), ("source", "fils", false), ("source", "bude", false),
      // The key has a different first letter, is two edits away with only three letters, is more than two edits away,
      // or is close only to a harmless key. `ubl` is the exception: it is one edit away from `url`.
      ("log", "rxi", true), ("log", "ubl", false), ("log", "uxx", true), ("log", "oryx", true), ("log", "bach", true),
      ("log", "levle", true), ("log", "positons", true), ("log", "colour", true), ("reporting", "intrvl", true),
      ("reporting", "heartbt", true), ("source", "devise", true), ("source", "tpye", true), ("backlog", "batsh", true),
      ("backlog", "max_location", true), ("filter", "max_acuracy", true),
    ])
  func misspelledKey(section: String, key: String, isUsed: Bool) throws {
    let written = Self.good.contains("[\(section)]\n")
    let line = "[\(section)]\n\(key) = \"x\"\n"
    let text = written ? Self.good.replacing("[\(section)]\n", with: line) : Self.good + "\n" + line
    let said = try outcome(text)
    expectEqual(said == used, isUsed, "\(said)")
  }

  @Test(
    "the stored settings are not used if the new file has an unknown section, unless it may be a misspelt harmless one",
    arguments: [
      ("lgo", true), ("lock", true), ("mtrics", true), ("sauce", true), ("reprtng", true), ("backlok", true),
      ("tokn", false), ("tkon", false), ("vehicles", false), ("vhicl", false), ("fleet", false), ("server", false),
      ("xog", true), ("xoxg", false),
    ])
  func misspelledSection(name: String, isUsed: Bool) throws {
    let text = Self.good + "\n[\(name)]\nlevel = \"info\"\n"
    let said = try outcome(text)
    expectEqual(said == used, isUsed, "\(said)")
    // With a key that may decide the vehicle or a server, the section is never harmless.
    try expectEqual(outcome(text + "endpont = \"https://other.example.com\"\n") == used, false)
  }

  @Test("the stored settings are not used if the new file is missing or not UTF-8")
  func missingFile() throws {
    let kept = try kept()
    for bytes: [UInt8]? in [nil, [0xFF, 0xFE, 0x5B, 0x00]] {
      var machine = TestMachine()
      machine.files["/etc/f/f.toml"] = bytes
      #expect(throws: KeptSettings.Refusal.self) {
        try kept.settings(replacing: "/etc/f/f.toml", environment: machine.environment)
      }
    }
  }

  @Test("the stored settings are used if a file is unreadable, unless other files name another vehicle or server")
  func denied() throws {
    let kept = try kept()
    func outcome(_ machine: TestMachine) -> String {
      do throws(KeptSettings.Refusal) {
        let file = try kept.settings(replacing: "/etc/f/f.toml", environment: machine.environment)
        return "interval \(file.settings.agent.reporting.interval)"
      } catch {
        return error.message
      }
    }
    for problem: ConfigurationEnvironment.FileProblem in [.permissionDenied, .systemError("Input/output error")] {
      var machine = TestMachine().adding(Self.good, ["10.toml": "[log]\nlevel = \"info\"\n"])
      machine.problems["/etc/f/f.toml"] = problem
      expectEqual(outcome(machine), used)
      machine.problems["/etc/f/conf.d"] = problem
      machine.problems["/etc/f/f.toml.d"] = problem
      expectEqual(outcome(machine), used)
      #expect(throws: ConfigurationError.self) { try machine.load() }
      machine.problems = ["/etc/f/conf.d": problem]
      expectEqual(outcome(machine), used)
    }
    // The readable part may name another vehicle or server.
    for text in [
      "[vehicle]\nvehicle_id = \"truck-18\"\n", "[vehicle]\nvehicel_id = \"truck-18\"\n",
      "[fleet_engine]\nendpoint = \"https://other.example.com\"\n", "[vehicl]\nvehicle_id = \"truck-18\"\n",
    ] {
      var machine = TestMachine().adding("", ["10.toml": text])
      expect(outcome(machine).hasPrefix("are not used"), "\(text)")
      machine.problems["/etc/f/f.toml"] = .permissionDenied
      expect(outcome(machine).hasPrefix("are not used"), "\(text)")
    }
    for problem: ConfigurationEnvironment.FileProblem in [.missing, .directory, .notRegular, .tooLarge] {
      var machine = TestMachine()
      machine.problems["/etc/f/f.toml"] = problem
      expect(outcome(machine).hasPrefix("are not used"))
    }
  }

  @Test("references are stored unresolved: a box with a cloned disk does not report the original vehicle's ID")
  func references() throws {
    let text = Self.good.replacing("\"truck-17\"", with: "{ hostname = true }")
    var machine = TestMachine()
    machine.hostname = "truck-17"
    let kept = try kept(text, machine)
    machine.hostname = "truck-99"
    let broken = machine.adding(text.replacing("\"20s\"", with: "20"))
    let file = try kept.settings(replacing: "/etc/f/f.toml", environment: broken.environment)
    expectEqual(file.settings.vehicle.vehicleID, "truck-99")
  }

  @Test("coordinates are not logged while stored settings are used because of a mistake, even if these enable it")
  func positions() throws {
    let text = Self.good + "\n[log]\npositions = true\n"
    let broken = TestMachine().adding(text.replacing("\"20s\"", with: "20").replacing("true", with: "false"))
    let file = try kept(text).settings(replacing: "/etc/f/f.toml", environment: broken.environment)
    expect(!file.settings.agent.logsPositions)
  }

  @Test("if a file that the stored settings name is missing, the refusal says that it may appear later")
  func keptAbsence() throws {
    let text = Self.good.replacing("\"truck-17\"", with: "{ file = \"/data/id\" }")
    var machine = TestMachine()
    machine.files["/data/id"] = Array("truck-17".utf8)
    let kept = try kept(text, machine)
    let broken = TestMachine().adding(text.replacing("\"20s\"", with: "20"))
    let refusal = #expect(throws: KeptSettings.Refusal.self) {
      try kept.settings(replacing: "/etc/f/f.toml", environment: broken.environment)
    }
    expectEqual(refusal?.mayAppearLater, true)
  }

  @Test("a truncated file of stored settings is not used")
  func damaged() throws {
    let broken = TestMachine().adding(Self.good.replacing("\"20s\"", with: "20"))
    let whole = Array(try broken.adding(Self.good).load().keptText.utf8)
    for count in stride(from: 0, to: whole.count - 1, by: 7) {
      let kept = KeptSettings(path: "/var/lib/f/kept-settings.toml", bytes: Array(whole[..<count]))
      #expect(throws: KeptSettings.Refusal.self) {
        try kept.settings(replacing: "/etc/f/f.toml", environment: broken.environment)
      }
    }
  }

  @Test("a missing or empty file or credential is marked as one that may appear later, and a mistake is not")
  func absence() throws {
    func error(_ text: String, _ machine: TestMachine = TestMachine()) -> ConfigurationError? {
      do throws(ConfigurationError) {
        _ = try machine.adding(text).load()
        return nil
      } catch {
        return error
      }
    }
    let late = Self.good.replacing("\"truck-17\"", with: "{ file = \"/run/id\" }")
    expectEqual(error(late)?.mayAppearLater, true)
    let credential = Self.good.replacing("\"truck-17\"", with: "{ credential = \"id\" }")
    expectEqual(error(credential)?.mayAppearLater, true)
    expectEqual(error(Self.good.replacing("[token]", with: "[token]\nca_file = \"ca.pem\""))?.mayAppearLater, true)
    expectEqual(error(late.replacing("\"20s\"", with: "20"))?.mayAppearLater, false)
    expectEqual(error("")?.mayAppearLater, false)
    var machine = TestMachine()
    machine.variables["CREDENTIALS_DIRECTORY"] = "/run/c"
    for (id, mayAppearLater) in [("", true), (" \n", true), ("\u{0}\u{0}", true), ("a/b", false)] {
      machine.files = ["/run/id": Array(id.utf8), "/run/c/id": Array(id.utf8)]
      expectEqual(error(late, machine)?.mayAppearLater, mayAppearLater)
      expectEqual(error(credential, machine)?.mayAppearLater, mayAppearLater)
    }
  }
}
