// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// Settings that cannot be used: the exit status, and the message.
struct SettingsFaultTests {
  /// Runs the daemon until it exits.
  ///
  /// - Returns: the daemon's standard error.
  private func refusal(
    of bench: TestBench, settings: String? = nil, user: uid_t? = nil, status: Int32 = 78
  ) throws -> String {
    let path = try settings ?? bench.writeSettings()
    let process = try ChildProcess("fleet-locationd", ["--config", path], user: user)
    try expectEqual(process.finish(), status)
    expectEqual(process.output.text, "")
    return process.errors.text
  }

  @Test("a missing settings file is reported with its path and the remedy")
  func missing() throws {
    let bench = try TestBench(emulator: nil)
    let path = bench.directory("nowhere.toml")
    let text = try refusal(of: bench, settings: path)
    expect(text.contains("error: \(path): "))
    expect(text.contains("fleet-locationd --example-settings"))
  }

  @Test("a dangling link in place of the settings file is reported with its path")
  func dangling() throws {
    let bench = try TestBench(emulator: nil)
    let path = bench.directory("link.toml")
    symlink("/nonexistent", path)
    expect(try refusal(of: bench, settings: path).contains("error: \(path): "))
  }

  @Test("a directory in place of the settings file is reported")
  func directory() throws {
    let bench = try TestBench(emulator: nil)
    let text = try refusal(of: bench, settings: bench.directory.path)
    expect(text.contains(bench.directory.path) && text.contains("directory"))
  }

  @Test("settings that the daemon's user may not read are reported")
  func unreadable() throws {
    let bench = try TestBench(emulator: nil)
    let path = try bench.writeSettings()
    chmod(path, 0)
    chmod(bench.directory.path, 0o755)
    let text = try refusal(of: bench, settings: path, user: getuid() == 0 ? 65_534 : nil)
    expect(text.contains("error: \(path): "))
    expect(text.contains("ermission denied"))
    expect(text.contains("the user of the service must be able to read it"))
  }

  @Test("an unknown key is reported with file, line, column and the nearest key; all mistakes are reported at once")
  func unknownKey() throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    bench.settings["reporting.intervall"] = "\"5s\""
    bench.settings["filter.max_speed"] = "\"fast\""
    let path = bench.directory("fleet-locationd.toml")
    let text = try refusal(of: bench)
    let lines = text.split(separator: "\n")
    expectEqual(lines.count, 2)
    expect(lines.allSatisfy { $0.hasPrefix("error: \(path):") && $0.contains(/:[0-9]+:[0-9]+:/) })
    expect(text.contains("intervall") && text.contains("`interval`"))
    expect(text.contains("filter.max_speed"))
  }

  @Test("an interval shorter than Fleet Engine accepts is rejected, unless the endpoint is on loopback")
  func interval() throws {
    let bench = try TestBench(emulator: nil)
    bench.settings["fleet_engine.endpoint"] = nil
    expect(try refusal(of: bench).contains("reporting.interval: is under 5s"))
  }

  @Test(
    "a missing route or recording is reported with its key, and the exit status 69 lets systemd try again",
    arguments: [
      ("simulated", "route"), ("replay", "file"),
    ])
  func noFile(type: String, key: String) throws {
    let bench = try TestBench(emulator: nil)
    let path = bench.directory("not-there")
    bench.settings.source(type, [key: "\"\(path)\""])
    let text = try refusal(of: bench, status: 69)
    expect(text.contains("source.\(key): \(path): "))
  }

  @Test("a directory in place of a recording is reported")
  func recordingIsDirectory() throws {
    let bench = try TestBench(emulator: nil)
    bench.settings.source("replay", ["file": "\"\(bench.directory.path)\""])
    let text = try refusal(of: bench)
    expect(text.contains("source.file: \(bench.directory.path) is a directory; name a file"))
  }

  @Test("a missing ca_file is reported")
  func authority() throws {
    let bench = try TestBench(emulator: nil)
    let path = bench.directory("ca.pem")
    bench.settings["fleet_engine.ca_file"] = "\"\(path)\""
    bench.settings["fleet_engine.endpoint"] = "\"https://localhost:9\""
    bench.settings["reporting.interval"] = "\"10s\""
    _ = try bench.receiver(isPluggedIn: false)
    expect(try refusal(of: bench).contains("fleet_engine.ca_file: \(path) does not exist; a PEM file is expected"))
  }

  @Test("a secret file that others can read is rejected, with the command that corrects it")
  func exposedSecret() throws {
    let bench = try TestBench(emulator: nil)
    let secret = try bench.directory.write("Bearer hush-hush\n", to: "secret", mode: 0o644)
    bench.settings["token.headers"] = "{ Authorization = { file = \"\(secret)\" } }"
    _ = try bench.receiver(isPluggedIn: false)
    let text = try refusal(of: bench)
    expect(text.contains("token.headers.Authorization: \(secret): "))
    expect(text.contains("chmod 600 \(secret)"))
    expect(!text.contains("hush-hush"))
  }

  @Test("a credential that systemd did not provide is reported, with the line to add to the unit")
  func missingCredential() throws {
    let bench = try TestBench(emulator: nil)
    bench.settings["token.headers"] = "{ Authorization = { credential = \"token-provider\" } }"
    _ = try bench.receiver(isPluggedIn: false)
    let text = try refusal(of: bench)
    expect(text.contains("LoadCredential=token-provider:"))
  }

  @Test(
    "--check reads the route of a simulated drive, and reports its mistakes",
    arguments: [
      ("<gpx/>", "has no track"), ("<gpx><wpt lat=\"91\" lon=\"0\"/></gpx>", "lat=\"91\""), ("", "no element found"),
      (#"{"type":"Point","coordinates":[0,0]}"#, "no line of two points"),
    ])
  func route(text: String, words: String) throws {
    let bench = try TestBench(emulator: nil)
    bench.settings.source("simulated", ["route": "\"\(try bench.directory.write(text, to: "route"))\""])
    let check = try ChildProcess("fleet-locationd", ["--check", "--config", try bench.writeSettings()])
    try expectEqual(check.finish(), 78)
    expect(check.errors.text.contains("source.route: ") && check.errors.text.contains(words), "\(check.errors.text)")
  }
}
