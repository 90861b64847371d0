// SPDX-License-Identifier: Apache-2.0
import Expectations
import Reporting
import Delivery
import Positioning
import Authorization
import Vehicle
import FleetEngine
import HTTPMessages
import SimulatedDrives
import Testing
import Timekeeping

@testable import Configuration

struct SettingsFileTests {
  let machine = TestMachine()

  @Test("the minimal settings get the documented defaults")
  func defaults() throws {
    let settings = try machine.settings(for: minimal())
    expectEqual(
      settings.vehicle, FleetEngineVehicle(service: .deliveries, providerID: "my-project", vehicleID: "truck-17"))
    expectEqual(settings.sources[0].kind, .serial(SerialSettings(device: "/dev/gps0", baud: 9600)))
    expectEqual(settings.sources[0].silenceTimeout, .seconds(10))
    try expectEqual(tokenEndpoint(settings).method, .get)
    try expectEqual(tokenEndpoint(settings).format, TokenResponseFormat(tokenKey: "token", expiration: .automatic))
    expectEqual(settings.token.headers, [])
    expectNil(settings.token.client.keepAliveIdle)
    expectEqual(settings.fleetEngine.client.keepAliveIdle, .seconds(65))
    expectEqual(settings.fleetEngine.endpoint, "https://fleetengine.googleapis.com")
    expectEqual(settings.agent.delivery.endpoint.positionField, .supplemental)
    expectEqual(settings.agent.reporting.interval, .seconds(10))
    expectEqual(settings.agent.reporting.heartbeat, .seconds(50))
    expectEqual(settings.agent.delivery.maxAge, .seconds(7 * 86_400))
    expect(abs(settings.agent.filter.maxSpeed - 250 / 3.6) < 1e-9)
    expectEqual(settings.logLevel, .info)
    expect(!settings.agent.logsPositions)
  }

  @Test("the shipped sample settings are valid, and add only `response` and `deviation` to the minimal ones")
  func sample() throws {
    let path = packageRoot + "/config/fleet-locationd.toml"
    let file = try SettingsFile.load(path: path, environment: .system)
    expectEqual(file.warnings, [])
    expectEqual(file.settings.sources[0].kind, .serial(SerialSettings(device: "/dev/ttyUSB0", baud: 9600)))
    try expectEqual(tokenEndpoint(file.settings).format.expiration, .epochMilliseconds)
    // The sample's other values are the defaults, so it documents them, and removing a line has no effect. `deviation`
    // is an exception: most fleets want positions at corners, but an upgrade must not cause the cost of more updates.
    let least = try machine.settings(
      for: """
        vehicle = { provider_id = "my-project", vehicle_id = "truck-17" }
        source = { type = "serial", device = "/dev/ttyUSB0", baud = 9600 }
        [token]
        url = "https://tokens.example.com/token/delivery_driver/{vehicle_id}"
        response = "lmfs"
        [reporting]
        deviation = "5 m"
        """)
    expectEqual(file.settings, least)
  }

  @Test("each key is declared once, and is in the reference")
  func keys() {
    let paths = SettingSection.allSettings.map { "\($0.section).\($0.name) \($0.selectorValue ?? "")" }
    expectEqual(Set(paths).count, paths.count)
    for key in SettingSection.allSettings { expect(SettingsReference.markdown().contains("| `\(key.name)`")) }
  }

  @Test("all mistakes are reported at once, in the order of the lines, with their positions")
  func allProblems() {
    let text = """
      [vehicle]
      provider_id = "a/b"
      vehicl_id = "x"
      [source]
      type = "serial"
      device = 3
      [reportng]
      interval = "10s"
      [log]
      level = "inf"
      """
    expectEqual(
      machine.messages(for: text),
      [
        "/etc/f/f.toml: token.url: is missing; a URL is expected (https; http to a loopback address; placeholders "
          + "{provider_id}, {vehicle_id}, {scope} and {id} after the host)",
        "/etc/f/f.toml:1:2: vehicle.vehicle_id: is missing; a string or table is expected (at most 64 characters, none of "
          + "/ : ? , #; or { file = \"…\" }, { credential = \"…\" }, { hostname = true }, { environment = \"…\" })",
        "/etc/f/f.toml:2:15: vehicle.provider_id: contains \"/\"; an ID has none of / : ? , #",
        "/etc/f/f.toml:3:1: vehicle.vehicl_id: is not a setting; did you mean `vehicle_id`?",
        "/etc/f/f.toml:6:10: source.device: is a whole number; the path of a device in quotes is expected",
        "/etc/f/f.toml:7:2: reportng: is not a section; did you mean [reporting]?",
        "/etc/f/f.toml:10:9: log.level: \"inf\" is not allowed; allowed: \"error\", \"warning\", \"notice\", \"info\", "
          + "\"debug\"; did you mean \"info\"?",
      ])
  }

  @Test("a file in conf.d whose name does not end in .toml is ignored with a warning; a backup file without a warning")
  func ignoredFiles() throws {
    let file = try machine.adding(
      minimal(),
      ["10.conf": "[log]", "20.toml": "#", "20.toml~": "", "30.toml.dpkg-old": "", ".40.swp": "", "notes~": ""]
    ).load()
    expectEqual(
      file.warnings.map(\.description),
      [
        "/etc/f/conf.d/10.conf: is ignored: only files whose name ends in .toml are read"
      ])
    expectEqual(file.files, ["/etc/f/f.toml", "/etc/f/conf.d/20.toml"])
  }

  @Test("an empty file of conf.d or f.toml.d, which a power cut may leave, is named in a warning")
  func emptyFiles() throws {
    var machine = machine.adding(minimal(), ["10.toml": "", "20.toml": "# nothing yet\n", "30.toml": "\n"])
    machine.files["/etc/f/f.toml.d/40.toml"] = []
    machine.files["/etc/f/f.toml.d/50.toml"] = [UInt8](repeating: 0, count: 4096)
    let message = "is empty, perhaps because of a power cut; write it again, or delete it"
    try expectEqual(
      machine.load().warnings.map(\.description),
      ["conf.d/10.toml", "f.toml.d/40.toml", "f.toml.d/50.toml"].map { "/etc/f/\($0): \(message)" })
  }

  @Test("files in f.d, which is named after the settings file f.toml but lacks the .toml, are ignored with a warning")
  func misnamedDirectory() throws {
    var machine = machine.adding(minimal(), ["10.toml.txt": ""])
    machine.files["/etc/f/f.d/10.toml"] = Array("[vehicle]\nvehicle_id = \"another\"".utf8)
    let file = try machine.load()
    expectEqual(
      file.warnings.map(\.description),
      [
        "/etc/f/conf.d/10.toml.txt: is ignored: only files whose name ends in .toml are read",
        "/etc/f/f.d/10.toml: is ignored: the directories that are read are /etc/f/conf.d and /etc/f/f.toml.d",
      ])
    expectEqual(file.files, ["/etc/f/f.toml"])
  }

  @Test("keys of later files replace those of earlier ones; sections and headers are merged")
  func merging() throws {
    let settings = try machine.settings(
      for: minimal(
        vehicle: "vehicle_id = { hostname = true }",
        token: "url = \"https://t.example.com\"\nheaders = { Accept = \"a\", X-Box = \"1\" }"),
      with: [
        "20-b.toml": "[vehicle]\nvehicle_id = \"second\"\n[token.headers]\nX-Box = \"3\"",
        "10-a.toml":
          "[vehicle]\nvehicle_id = \"first\"\n[token]\nheaders = { X-Box = \"2\" }\n[log]\nlevel = \"debug\"",
        ".hidden.toml": "[nonsense",
        "notes.txt": "[nonsense",
      ])
    expectEqual(settings.vehicle.vehicleID, "second")
    expectEqual(settings.token.headers.map(\.name), ["Accept", "X-Box"])
    expectEqual(settings.token.headers.map(\.valueSource), [.plain("a"), .plain("3")])
    expectEqual(settings.logLevel, .debug)
  }

  @Test("an instance's settings override the shared ones; those of another instance are not read")
  func ownDirectory() throws {
    var machine = machine.adding(minimal(), ["z.toml": "[vehicle]\nvehicle_id = \"shared\"\n[log]\nlevel = \"debug\""])
    machine.files["/etc/f/f.toml.d/a.toml"] = Array("[vehicle]\nvehicle_id = \"own\"".utf8)
    machine.files["/etc/f/g.toml.d/a.toml"] = Array("[nonsense".utf8)
    let file = try machine.load()
    expectEqual(file.settings.vehicle.vehicleID, "own")
    expectEqual(file.settings.logLevel, .debug)
    expectEqual(file.files, ["/etc/f/f.toml", "/etc/f/conf.d/z.toml", "/etc/f/f.toml.d/a.toml"])
  }

  @Test("a problem in a later file is reported with the name of that file")
  func laterFile() {
    expectEqual(
      machine.messages(for: minimal(), with: ["x.toml": "[log]\npositions = 1"]),
      [
        "/etc/f/conf.d/x.toml:2:13: log.positions: is a whole number; true or false, without quotes, is expected"
      ])
  }

  @Test(
    "with pace = 0 or time = keep the filter uses the recorded times; otherwise the source has the pace that is set",
    arguments: [
      ("", false, 1.0), ("pace = 20", false, 20), ("pace = 0", true, 1), ("pace = 0\ntime = \"shift\"", true, 1),
      ("pace = 20\ntime = \"keep\"", true, 1),
    ])
  func replayTimes(keys: String, areRecorded: Bool, pace: Double) throws {
    let file = try machine.adding(minimal(), ["x.toml": "[source]\ntype = \"replay\"\nfile = \"-\"\n\(keys)"]).load()
    expectEqual(file.settings.agent.filter.usesRecordedTimes, areRecorded)
    expectEqual(file.settings.sources.map(\.kind.pace), [pace])
  }

  @Test("a later file that changes the type of source discards the old keys, with a warning")
  func changedType() throws {
    let file = try machine.adding(
      minimal(), ["x.toml": "[source]\ntype = \"replay\"\nfile = \"-\"\npace = 0"]
    ).load()
    expectEqual(file.settings.sources[0].kind, .replay(ReplaySettings(file: "-", pace: 0)))
    expect(file.settings.agent.filter.usesRecordedTimes)
    expectEqual(file.warnings.map(\.key), ["source.device"])
    expectEqual(file.files, ["/etc/f/f.toml", "/etc/f/conf.d/x.toml"])
    // In one file both keys would be a mistake.
    try expectEqual(machine.adding(file.keptText).load().settings.sources, file.settings.sources)
  }

  @Test(
    "a key of an earlier file that cannot be combined with one of a later file is ignored, with a warning",
    arguments: [
      (
        "type = \"gpsd\"\naddress = \"localhost:2947\"",
        "type = \"nmea-tcp\"\nlisten = \"127.0.0.1:1\"\nconnections = 2", "tcp listen 127.0.0.1:1", ["source.address"]
      ),
      (
        "type = \"nmea-tcp\"\nlisten = \"10.0.0.1:1\"\nallow = [\"10.0.0.2\"]\nconnections = 2", "address = \"r:1\"",
        "tcp r:1", ["source.allow", "source.connections", "source.listen"]
      ),
      (
        "type = \"serial\"\ndevice = \"/sys/devices/x\"", "type = \"modemmanager\"\nimei = \"123456789012345\"",
        "ModemManager, modem …2345", ["source.device"]
      ),
      (
        "type = \"modemmanager\"\nimei = \"123456789012345\"", "device = \"/sys/devices/x\"",
        "ModemManager, modem /sys/devices/x", ["source.imei"]
      ),
    ])
  func exclusiveKeys(_ main: String, _ later: String, name: String, ignored: [String]) throws {
    let file = try machine.adding(minimal(source: main), ["x.toml": "[source]\n\(later)"]).load()
    expectEqual(file.settings.sources.map(\.kind.name), [name])
    expectEqual(file.warnings.compactMap(\.key).sorted(), ignored)
    try expectEqual(machine.adding(file.keptText).load().settings.sources, file.settings.sources)
  }

  @Test("settings with a link in conf.d whose file is missing are not mistaken: the file may appear later")
  func danglingLink() throws {
    var machine = machine.adding(minimal(), ["x.toml": "[log]"])
    machine.problems["/etc/f/conf.d/x.toml"] = .missing
    let error = #expect(throws: ConfigurationError.self) { try machine.load() }
    expectEqual(error?.mayAppearLater, true)
    expectEqual(
      error?.diagnostics.map(\.description),
      ["/etc/f/conf.d/x.toml: does not exist: it is a link to a file that is missing"])
  }

  @Test(
    "a relative path of the metrics file starts at the runtime directory, or without one at that of the settings file")
  func metricsFile() throws {
    var machine = machine
    let text = minimal() + "\n[metrics]\ntextfile = \"a.prom\"\n"
    try expectEqual(machine.settings(for: text).metricsFile, "/etc/f/a.prom")
    machine.variables["RUNTIME_DIRECTORY"] = "/run/fleet-locationd-van:/run/other"
    try expectEqual(machine.settings(for: text).metricsFile, "/run/fleet-locationd-van/a.prom")
    try expectEqual(
      machine.settings(for: text.replacing("a.prom", with: "/srv/a.prom")).metricsFile, "/srv/a.prom")
  }

  @Test("a command that does not use the vehicle's ID needs neither its credential nor its variable")
  func withoutVehicleID() throws {
    for source in ["environment", "credential", "file"] {
      let machine = machine.adding(minimal(vehicle: "vehicle_id = { \(source) = \"v\" }"), [:])
      #expect(throws: ConfigurationError.self) { try machine.load() }
      try expectEqual(machine.load(needsVehicleID: false).settings.vehicle.providerID, "my-project")
    }
  }

  @Test("for a command that uses one section, mistakes in the values of the others are no obstacle")
  func onlySection() throws {
    var machine = machine.adding(
      minimal(
        vehicle: "vehicle_id = { credential = \"v\" }", source: "type = \"modemmanager\"",
        token: "url = \"https://t\"\nca_file = \"/missing.pem\"\nclient_key = \"/denied.pem\"",
        rest: "[filter]\nmax_speed = \"200 km/h\"\n"), [:])
    machine.problems["/denied.pem"] = .permissionDenied
    #expect(throws: ConfigurationError.self) { try machine.load() }
    guard case .modemManager? = try machine.load(using: .source).settings.sources.first?.kind else {
      Issue.record("not modemmanager")
      return
    }
    try expectEqual(machine.load(using: .filter).settings.agent.filter.maxSpeed, 200 / 3.6)
    let text = minimal(source: "type = \"modemmanager\"\nx = 1", rest: "[filter]\nmax_speed = 1\n[fliter]\n")
    for (section, keys) in [
      (SettingSection.source, ["source.x", "fliter"]), (.filter, ["filter.max_speed", "fliter"]),
    ] {
      let error = try #require(throws: ConfigurationError.self) {
        try machine.adding(text, [:]).load(using: section)
      }
      expectEqual(error.diagnostics.map(\.key), keys)
    }
  }

  @Test("relative paths start at the directory of the main file")
  func relativePaths() throws {
    let settings = try machine.with(pem: ["/ca.pem"]).settings(
      for: minimal(
        source: "type = \"simulated\"\nroute = \"r.gpx\"", token: "url = \"https://t\"\nca_file = \"/ca.pem\""))
    guard case .simulated(let simulated) = settings.sources[0].kind else {
      Issue.record("not simulated")
      return
    }
    expectEqual(simulated.route, "/etc/f/r.gpx")
    expect(simulated.drive.seed == 1 && simulated.drive.loops && simulated.drive.noise == 2)
    // No speed is set: the route's timestamps apply, or 50 km/h if it has none.
    expect(simulated.drive == SimulationSettings() && simulated.drive.speed == nil)
    expectEqual(settings.token.client.caFile, "/ca.pem")
  }

  @Test(
    "a settings file that cannot be read is reported with its path and the cause",
    arguments: [
      (ConfigurationEnvironment.FileProblem.missing, "does not exist"), (.directory, "is a directory"),
      (.tooLarge, "is too large"), (.notRegular, "is not a regular file"),
      (.permissionDenied, "cannot be read: Permission denied; the user of the service"),
      (.systemError("Input/output error"), "cannot be read: Input/output error; the user of the service"),
    ])
  func unreadable(_ problem: ConfigurationEnvironment.FileProblem, _ part: String) throws {
    var machine = machine
    machine.problems["/etc/f/f.toml"] = problem
    let error = try #require(throws: ConfigurationError.self) { try machine.load() }
    expectEqual(error.isPermissionDenied, (problem == .permissionDenied))
    expect(error.message.hasPrefix("/etc/f/f.toml: \(part)"))
  }

  @Test("an unreadable directory is named in the message; directories inside it are not, as they may not exist")
  func closedDirectory() throws {
    var machine = machine.adding(minimal())
    machine.problems["/etc/f/conf.d"] = .permissionDenied
    let own = try #require(throws: ConfigurationError.self) { try machine.load() }
    expect(own.message.contains("/etc/f/conf.d: ") && own.message.contains("chmod 755 /etc/f/conf.d"))
    machine.problems["/etc/f"] = .permissionDenied
    machine.problems["/etc/f/f.toml.d"] = .permissionDenied
    let closed = try #require(throws: ConfigurationError.self) { try machine.load() }
    expectEqual(closed.diagnostics.count, 1)
    expect(closed.message.hasPrefix("/etc/f: ") && closed.message.hasSuffix("chmod 755 /etc/f"), "\(closed.message)")
  }

  @Test("files that are empty, not UTF-8 or not TOML are reported, all at once and with their lines")
  func notText() {
    expectEqual(machine.messages(for: " \n\t\n").first?.contains("is empty"), true)
    var machine = machine.adding(minimal(), ["a.toml": "[x\n"])
    machine.files["/etc/f/conf.d/b.toml"] = [0x61, 0x0A, 0xFF, 0xFE]
    let error = #expect(throws: ConfigurationError.self) { try machine.load() }
    expectEqual(error?.diagnostics.map(\.position.description), ["/etc/f/conf.d/b.toml:2", "/etc/f/conf.d/a.toml:1:3"])
  }

  @Test("in the real file system a missing file, a directory, a device and a file that is too large are distinguished")
  func realFiles() throws {
    let system = ConfigurationEnvironment.system
    #expect(throws: ConfigurationEnvironment.FileProblem.missing) { try system.readFile("/nonexistent/x", 10) }
    #expect(throws: ConfigurationEnvironment.FileProblem.directory) { try system.readFile("/etc", 10) }
    #expect(throws: ConfigurationEnvironment.FileProblem.notRegular) { try system.readFile("/dev/null", 10) }
    #expect(throws: ConfigurationEnvironment.FileProblem.tooLarge) { try system.readFile(#filePath, 10) }
    try expectEqual(system.listDirectory("/nonexistent/conf.d"), [])
    #expect(throws: ConfigurationEnvironment.FileProblem.systemError("Not a directory")) {
      try system.listDirectory(#filePath)
    }
    #expect(throws: ConfigurationEnvironment.FileProblem.missing) { try system.readFile(#filePath + "/x", 10) }
    expect(try system.listDirectory(packageRoot).contains("Package.swift"))
    expectEqual(system.hostname()?.isEmpty, false)
    expect(system.variable("PATH") != nil && system.variable("NO_SUCH_VARIABLE") == nil)
  }
}

/// The directory of Package.swift.
let packageRoot: String = {
  let parts = #filePath.split(separator: "/")
  return "/" + parts.dropLast(3).joined(separator: "/")
}()
