// SPDX-License-Identifier: Apache-2.0
import Authorization
import Configuration
import Expectations
import Vehicle
import FileTesting
import Foundation
import Observability
import Testing
import Timekeeping

@testable import Daemon
@testable import LocationDaemon

struct SettingsLoaderTests {
  private let directory: TemporaryDirectory
  private let secret: String
  private var keptPath: String { directory("kept-settings.toml") }

  private static let good = """
    [vehicle]
    provider_id = "p"
    vehicle_id = "truck-17"
    [source]
    type = "serial"
    device = "/dev/gps0"
    [token]
    url = "https://tokens.example.com/{vehicle_id}"
    headers = { Authorization = { file = "SECRET" } }
    """
  private static let mistake = "\n[reporting]\ninterval = 3\n"

  init() throws {
    directory = try TemporaryDirectory()
    secret = try directory.write("Bearer s3cret", to: "secret")
  }

  private func loader(_ text: String) -> SettingsLoader {
    let bytes = Array(text.replacing("SECRET", with: secret).utf8)
    let directory = directory.path
    return SettingsLoader(
      path: "/etc/f/f.toml",
      environment: ConfigurationEnvironment(
        readFile: { path, _ throws(ConfigurationEnvironment.FileProblem) in
          guard path == "/etc/f/f.toml" else { throw .missing }
          return bytes
        },
        listDirectory: { _ throws(ConfigurationEnvironment.FileProblem) in [] },
        variable: { $0 == "STATE_DIRECTORY" ? directory : nil }, hostname: { nil }))
  }

  /// The outcome of a start of the daemon.
  private enum Start {
    case use(SettingsFile, mistake: String?)
    case waiting(String)
    case failed(String)

    var settings: SettingsFile? { if case .use(let settings, _) = self { settings } else { nil } }
    var mistake: String? { if case .use(_, let mistake) = self { mistake } else { nil } }
    var failure: String? { if case .failed(let message) = self { message } else { nil } }
    var missing: String? { if case .waiting(let message) = self { message } else { nil } }
  }

  /// Runs the start until settings are used, awaited or rejected.
  private func start(_ loader: SettingsLoader) throws -> Start {
    var used: SettingsFile?
    func prepare(_ file: SettingsFile) throws(DaemonError) -> SettingsOutcome {
      used = file
      return .valid(try Daemon.Configuration(file))
    }
    var daemon = Daemon(seed: 1, waitsForSettings: true, buildDate: Timestamp(seconds: 0), at: .boot)
    var input = Daemon.Input.launched
    let now = Moment(boot: .boot, wall: Timestamp(seconds: 0))
    while let effect = daemon.handle(input, at: now).first {
      switch effect {
      case .readSettings: input = .settingsRead(loader.read(prepare))
      case .readKeptSettings: input = .keptSettingsRead(loader.readKept(prepare))
      case .useSettings: return .use(try #require(used), mistake: daemon.run?.publication.settings.mistake)
      case .event(.settingsAwaited(let what)): return .waiting(what)
      case .exit(.failed(let mistakes, isMissing: false)): return .failed(mistakes)
      default: Issue.record("\(effect)")
      }
    }
    return .failed("nothing")
  }

  private func message(_ loader: SettingsLoader) throws -> String? { try start(loader).failure }

  @Test(
    "if the settings file has a mistake, the mistake is reported with its position, and the stored settings are used")
  func storedSettings() throws {
    let before = loader(Self.good)
    let first = try start(before)
    let file = try #require(first.settings)
    expectNil(first.mistake)
    expectNil(before.store(file.keptText))
    let second = try start(loader(Self.good + Self.mistake))
    let kept = try #require(second.settings)
    expectEqual(kept.settings, file.settings)
    expectEqual(kept.hash, file.hash)
    expectEqual(second.mistake?.hasPrefix("/etc/f/f.toml:11:12: reporting.interval: has no unit"), true)
    let mode = try FileManager.default.attributesOfItem(atPath: keptPath)[.posixPermissions] as? Int
    expectEqual(mode, 0o600)
    expect(try !String(contentsOfFile: keptPath, encoding: .utf8).contains("s3cret"))
  }

  @Test("unchanged settings are not stored again")
  func keptOnce() throws {
    let loader = loader(Self.good)
    let file = try loader.load()
    expectNil(loader.store(file.keptText))
    let first = try FileManager.default.attributesOfItem(atPath: keptPath)[.systemFileNumber] as? Int
    expectNil(loader.store(file.keptText))
    expect(try FileManager.default.attributesOfItem(atPath: keptPath)[.systemFileNumber] as? Int == first)
  }

  @Test(
    "stored settings that are damaged or of another vehicle are not used; the message has the mistake and this reason")
  func refused() throws {
    let broken = loader(Self.good + Self.mistake)
    let mistake =
      "/etc/f/f.toml:11:12: reporting.interval: has no unit; write the duration with one, in quotes, as in \"3s\""
    try expectEqual(message(broken), mistake)
    try Data("vehicle = 3".utf8).write(to: URL(fileURLWithPath: keptPath))
    try expectEqual(message(broken)?.hasPrefix(mistake + "\nThe kept settings are not used: they differ in "), true)
    try Data([0xFF, 0x00, 0x5B]).write(to: URL(fileURLWithPath: keptPath))
    try expectEqual(message(broken)?.hasPrefix(mistake + "\nThe kept settings cannot be read: "), true)
    let other = loader(Self.good)
    expectNil(other.store(try other.load().keptText))
    try expectEqual(
      message(loader((Self.good + Self.mistake).replacing("truck-17", with: "truck-18")))?.contains(
        "\nThe kept settings are not used: they differ in vehicle.vehicle_id (/etc/f/f.toml:3:14)"), true)
  }

  @Test(
    "the message names a FIFO, directory, link or empty file in place of the stored settings",
    arguments: ["FIFO", "directory", "symbolic link", ""])
  func noFile(kind: String) throws {
    switch kind {
    case "FIFO": expectEqual(mkfifo(keptPath, 0o600), 0)
    case "directory": try FileManager.default.createDirectory(atPath: keptPath, withIntermediateDirectories: true)
    case "symbolic link":
      try FileManager.default.createSymbolicLink(atPath: keptPath, withDestinationPath: "/dev/zero")
    default: try Data().write(to: URL(fileURLWithPath: keptPath))
    }
    let what = kind.isEmpty ? "is empty, or this user may not read it" : "is a \(kind)"
    try expectEqual(
      message(loader(Self.good + Self.mistake))?.hasSuffix(
        "\nThe kept settings cannot be read: \(keptPath) \(what); remove it, and the next settings that work are stored there"
      ), true)
    // None of these prevents a start with valid settings, and all but a directory are replaced.
    let good = loader(Self.good)
    expectNil(try message(good))
    expectEqual((good.store(try good.load().keptText) == nil), (kind != "directory"))
  }

  @Test("a start waits for a missing secret, even if the settings file has a mistake and the stored settings are used")
  func absence() throws {
    let before = loader(Self.good)
    expectNil(before.store(try before.load().keptText))
    try FileManager.default.removeItem(atPath: secret)
    for text in [Self.good, Self.good + Self.mistake] {
      let missing = try start(loader(text)).missing
      expectEqual(missing?.contains(secret), true)
      expectEqual(missing?.contains("interval"), text.contains("interval"))
    }
    // The secret is written, but its mode is not set yet.
    try Data("Bearer s3cret".utf8).write(to: URL(fileURLWithPath: secret))
    expect(try start(loader(Self.good)).missing != nil)
    expect(try message(loader((Self.good + Self.mistake).replacing("truck-17", with: "truck-18"))) != nil)
  }

  @Test("settings that cannot be stored are reported, and replace the stored ones until they can be")
  func unwritable() throws {
    let loader = loader(Self.good)
    let file = try loader.load()
    try FileManager.default.createDirectory(atPath: keptPath, withIntermediateDirectories: true)
    expectEqual(loader.store(file.keptText)?.contains("\(keptPath) cannot be written: "), true)
    try expectEqual(loader.keptSettings()?.settings, file.settings)
    expect(loader.keptParts != nil)
    // They are stored when they are read next, and then the file counts again.
    try FileManager.default.removeItem(atPath: keptPath)
    try expectEqual(loader.keptSettings()?.settings, file.settings)
    try FileManager.default.removeItem(atPath: keptPath)
    try expectNil(loader.keptSettings())
  }

  // MARK: - Settings to confirm

  private func loader(_ text: String, marker: Result<String, ConfigurationEnvironment.FileProblem>) -> SettingsLoader {
    let bytes = Array(text.replacing("SECRET", with: secret).utf8)
    return SettingsLoader(
      path: "/etc/f/f.toml",
      environment: ConfigurationEnvironment(
        readFile: { path, _ throws(ConfigurationEnvironment.FileProblem) in
          path == "/etc/f/f.toml.confirm" ? Array(try marker.get().utf8) : bytes
        },
        listDirectory: { _ throws(ConfigurationEnvironment.FileProblem) in [] }, variable: { _ in nil },
        hostname: { nil }))
  }

  @Test("a file beside the settings with the suffix .confirm requests a confirmation, and may contain the time limit")
  func marker() {
    for (marker, minutes) in [
      (.failure(.missing), nil), (.failure(.permissionDenied), 10), (.failure(.directory), 10), (.success(""), 10),
      (.success("30min\n"), 30),
    ] as [(Result<String, ConfigurationEnvironment.FileProblem>, Int64?)] {
      let found = loader(Self.good, marker: marker).confirmation
      expectEqual(found.limit, minutes.map { .seconds($0 * 60) })
      expectNil(found.warning)
    }
    let found = loader(Self.good, marker: .success("soon")).confirmation
    expectEqual(found.limit, .seconds(600))
    expectEqual(found.warning?.hasPrefix("/etc/f/f.toml.confirm: "), true)
  }

  @Test("stored settings compare equal to the files that they came from, even with a key that earlier releases lack")
  func parts() throws {
    let loader = loader(Self.good + "\n[reporting]\ncompact_updates = \"off\"\n")
    let configuration = try Daemon.Configuration(try loader.load())
    expectNil(loader.keptParts?.all)
    expectNil(loader.store(try #require(configuration.settingsText)))
    expectEqual(loader.keptParts, configuration.parts)
    expect(configuration.parts.credentials.count == 4 && configuration.parts.all.count == 32)
  }

  @Test("whether settings had no credentials, or an earlier release did not store them, is known from the stored text")
  func credentialsOfEarlierRelease() throws {
    let loader = loader(Self.good)
    let text = try loader.load().keptText
    expectNil(loader.store(text))
    expectEqual(loader.keptParts?.credentials, "-")
    expectNil(loader.store(text.replacing("# Credentials: -\n", with: "")))
    expectEqual(loader.keptParts?.credentials, SettingsParts.unknownCredentials)
  }

  @Test("changed settings are attributed to destination and proxies, sources and filter, or the token provider")
  func comparedParts() throws {
    func parts(_ change: (String) -> String) throws -> SettingsParts {
      try Daemon.Configuration(try loader(change(Self.good)).load()).parts
    }
    func change(_ old: String, _ new: String) throws -> [String] {
      let (before, after) = (try parts { $0 }, try parts { $0.replacing(old, with: new) })
      expect(before.all != after.all)
      return [
        before.destination == after.destination ? nil : "destination", before.source == after.source ? nil : "source",
        before.token == after.token ? nil : "token",
      ].compactMap { $0 }
    }
    try expectEqual(change("truck-17", "truck-18"), ["destination"])
    try expectEqual(
      change("[source]", "[fleet_engine]\nendpoint = \"https://fleet.example.com\"\n[source]"), ["destination"])
    try expectEqual(change("[source]", "[fleet_engine]\nproxy = \"http://10.0.0.1:3128\"\n[source]"), ["destination"])
    try expectEqual(change("[source]", "[fleet_engine]\ndeadline = \"9s\"\n[source]"), [])
    try expectEqual(change("/dev/gps0", "/dev/gps1"), ["source"])
    try expectEqual(change("[source]", "[filter]\nmax_speed = \"100 km/h\"\n[source]"), ["source"])
    try expectEqual(change("tokens.example.com", "tokens.example.org"), ["token"])
    try expectEqual(
      change("[token]", "[token]\nproxy = \"http://10.0.0.1:3128\""), ["destination", "token"])
  }

  @Test("a token provider over another connection counts as changed, so that it is asked for a token")
  func changedConnection() throws {
    func provider(_ text: String) throws -> TokenProvider {
      try Daemon.Configuration(try loader(text).load()).vehicle.tokenProvider
    }
    let proxied = Self.good.replacing("[token]", with: "[token]\nproxy = \"http://10.0.0.1:3128\"")
    let (before, same, other) = (try provider(Self.good), try provider(Self.good), try provider(proxied))
    expect(before == same && before != other)
  }

  @Test("a changed credential is detected by a digest, which is stored with the settings")
  func changedCredential() throws {
    let loader = loader(Self.good)
    let before = try Daemon.Configuration(try loader.load())
    _ = try directory.write("Bearer other", to: "secret")
    let after = try Daemon.Configuration(try loader.load())
    expect(before.parts.credentials != after.parts.credentials && before.parts.all == after.parts.all)
    expectEqual(before.settingsText?.contains("# Credentials: \(before.parts.credentials)\n"), true)
  }
}
