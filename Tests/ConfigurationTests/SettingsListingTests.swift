// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import Configuration

struct SettingsListingTests {
  private func listing(_ machine: TestMachine) throws -> [String] {
    let file = try machine.load()
    return SettingsListing.text(of: file, path: "/etc/f/f.toml", environment: machine.environment)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  @Test(
    "each value is listed with the place that sets it and those that it overrides; unset ones are marked as defaults")
  func places() throws {
    let lines = try listing(
      TestMachine().adding(
        minimal(rest: "[reporting]\ninterval = \"5s\""),
        [
          "10-b.toml": "[vehicle]\nvehicle_id = \"truck-18\"\n[reporting]\ninterval = \"20s\"",
          "9-a.toml": "[reporting]\ninterval = \"30s\"",
        ]))
    expectEqual(
      lines.prefix(6),
      [
        "# A key of a later file replaces the same key of an earlier one:", "#   /etc/f/f.toml",
        "#   /etc/f/conf.d/10-b.toml", "#   /etc/f/conf.d/9-a.toml", "", "[vehicle]",
      ])
    expect(lines.contains("provider_id = \"my-project\"  # /etc/f/f.toml:2:15"))
    expect(lines.contains("vehicle_id = \"truck-18\"  # /etc/f/conf.d/10-b.toml:2:14, replaces /etc/f/f.toml:3:14"))
    expect(
      lines.contains(
        "interval = \"30s\"  # /etc/f/conf.d/9-a.toml:2:12, replaces /etc/f/f.toml:10:12, "
          + "replaces /etc/f/conf.d/10-b.toml:4:12"))
    expect(lines.contains("heartbeat = \"50s\"  # not set: the default"))
    expect(lines.contains("device = \"/dev/gps0\"  # /etc/f/f.toml:6:10"))
    expect(lines.contains("service = \"deliveries\"  # not set: the default"))
    // Keys of other services, types of source and token providers are not listed.
    for other in ["report_state", "route", "command"] { expect(!lines.contains { $0.hasPrefix(other) }) }
  }

  @Test("the printed settings are read back as the same settings, if nothing was masked")
  func isTOML() throws {
    var machine = TestMachine()
    machine.hostname = "truck-19"
    machine = machine.adding(
      minimal(
        vehicle: "vehicle_id = { hostname = true }",
        token: "url = \"https://t.example.com/{vehicle_id}\"\nresponse = \"lmfs\"\nheaders = { Accept = \"a\" }",
        rest: "[filter]\nmax_speed = \"90 mph\""))
    let lines = try listing(machine)
    expect(lines.contains("vehicle_id = { \"hostname\" = true }  # /etc/f/f.toml:3:14, which is \"truck-19\""))
    // The preset `response = "lmfs"` sets this value.
    expect(lines.contains("expiration_key = \"expiration_timestamp_ms\"  # not set: derived"))
    let before = try machine.load().settings
    machine = machine.adding(lines.joined(separator: "\n"))
    try expectEqual(machine.load().settings, before)
  }

  @Test("secrets in the settings of the token provider are masked, and the vehicle's ID is not")
  func secrets() throws {
    let token =
      "url = \"https://t.example.com/{vehicle_id}?key=AIzaSyD-9tSrke72PouQMnMX\"\n"
      + "headers = { X-Box = \"3f9a7c2e51d84b06\", Authorization = { credential = \"token-provider\" } }"
    let text = try listing(TestMachine().adding(minimal(token: token))).joined(separator: "\n")
    for secret in ["AIzaSyD", "MnMX", "3f9a7c2e"] { expect(!text.contains(secret)) }
    expect(text.contains("https://t.example.com/{vehicle_id}?key=<redacted>"))
    expect(text.contains("\"Authorization\" = { \"credential\" = \"token-provider\" }"))
    expect(text.contains("truck-17"))
  }

  @Test("an argument of the token provider's command is masked if the one before it says that it is a secret")
  func secretArgument() throws {
    let command = #"["/usr/local/bin/get-token", "{vehicle_id}", "--password", "$it's hunter2", "--verbose", "van"]"#
    var machine = TestMachine().adding(minimal(token: "provider = \"command\"\ncommand = \(command)"))
    machine.files["/usr/local/bin/get-token"] = []
    let lines = try listing(machine)
    let line = try #require(lines.first { $0.hasPrefix("command = ") })
    let shown = command.replacing("$it's hunter2", with: "<redacted>")
    expectEqual(line.split(separator: "  # ").first, "command = \(shown)")
  }

  @Test("if several files set headers, the place of each header is listed")
  func headers() throws {
    var machine = TestMachine().adding(
      minimal(token: "url = \"https://t.example.com/{vehicle_id}\"\nheaders = { X-A = \"1\", X-B = \"2\" }"),
      ["10.toml": "[token]\nheaders = { X-C = \"3\" }"])
    let alone = try listing(TestMachine().adding(minimal(token: "url = \"https://t\"\nheaders = { X-A = \"1\" }")))
    expect(alone.contains { $0.hasPrefix("headers = ") && $0.hasSuffix("}  # /etc/f/f.toml:9:11") })
    machine.files["/etc/f/f.toml.d/20.toml"] = Array("[token]\nheaders.X-B = \"4\"".utf8)
    let lines = try listing(machine)
    let places = try #require(lines.first { $0.hasPrefix("headers = ") }).split(separator: "  # ").last
    expectEqual(
      places.map(String.init),
      "X-A: /etc/f/f.toml:9:19, X-B: /etc/f/f.toml.d/20.toml:2:15, replaces /etc/f/f.toml:9:30, "
        + "X-C: /etc/f/conf.d/10.toml:2:19")
  }

  @Test("each of several sources has its own lines")
  func sources() throws {
    let text = try listing(
      TestMachine().adding(
        minimal().replacing("[source]", with: "[[source]]")
          + "\n[[source]]\ntype = \"gpsd\"\n"
      )
    ).joined(separator: "\n")
    expect(text.contains("[[source]]\ntype = \"serial\"  # /etc/f/f.toml:5:8\n"))
    expect(text.contains("[[source]]\ntype = \"gpsd\"  # /etc/f/f.toml:"))
  }

  @Test(
    "a probable mistake causes a warning",
    arguments: [
      (minimal(token: "url = \"https://t.example.com\""), "token.url: does not name the vehicle"),
      (minimal(vehicle: "vehicle_id = { hostname = true }"), "host name, \"localhost\", which looks like the default"),
      (minimal(source: "type = \"replay\"\nfile = \"/no/such.nmea\""), "/no/such.nmea does not exist"),
      (minimal(vehicle: "vehicle_id = \"truck\\u200B17\""), "vehicle_id: has the invisible character U+200B"),
      (minimal(vehicle: "vehicle_id = \"'truck-17'\""), "vehicle_id: is in quotes that are part of it"),
      (minimal(vehicle: "vehicle_id = \"VEHICLE_ID=truck-17\""), "vehicle_id: contains \"=\""),
      (minimal(vehicle: "vehicle_id = \"$VEHICLE_ID\""), "vehicle_id: begins with \"$\", which is not replaced"),
      (minimal().replacing("my-project", with: "my\u{A0}project"), "provider_id: has the invisible character U+00A0"),
      (minimal().replacing("my-project", with: "415104041262"), "provider_id: looks like a project's number"),
      (minimal().replacing("my-project", with: "My Project"), "provider_id: looks like a project's name"),
      (minimal().replacing("my-project", with: "My-Project"), "provider_id: looks like a project's name"),
    ])
  func suspicious(text: String, words: String) throws {
    var machine = TestMachine()
    machine.hostname = "localhost"
    let warnings = try machine.adding(text).load().warnings.map(\.description)
    expect(warnings.count == 1 && warnings[0].contains(words), "\(warnings)")
  }

  @Test(
    "correct settings cause no warning",
    arguments: [
      minimal(), minimal(vehicle: "vehicle_id = \"localhost\""),
      minimal().replacing("my-project", with: "fleet-415104"),
      minimal(token: "url = \"https://t.example.com\"\nmethod = \"POST\"\nbody = '{\"v\":\"{vehicle_id}\"}'"),
      minimal(source: "type = \"replay\"\nfile = \"/etc/f/f.toml\""),
      minimal(source: "type = \"replay\"\nfile = \"-\""),
    ])
  func unsuspicious(text: String) throws {
    try expectEqual(TestMachine().adding(text).load().warnings, [])
  }

  @Test("a file in conf.d that changes the vehicle or a server causes a warning; one that repeats the value does not")
  func warnings() throws {
    let machine = TestMachine().adding(
      minimal(rest: "[fleet_engine]\nendpoint = \"https://a.example\"\n[reporting]\ninterval = \"5s\""),
      [
        "a.toml": "[vehicle]\nprovider_id = \"my-project\"\nvehicle_id = \"truck-18\"\n[reporting]\ninterval = \"6s\"",
        "b.toml": "[fleet_engine]\nendpoint = \"https://b.example\"\ntransport = \"http1\"",
      ])
    try expectEqual(
      machine.load().warnings.map(\.description),
      [
        "/etc/f/conf.d/a.toml:3:14: vehicle.vehicle_id: replaces the value of /etc/f/f.toml:3:14; "
          + "remove one of the two (fleet-locationctl settings shows what is in force)",
        "/etc/f/conf.d/b.toml:2:12: fleet_engine.endpoint: replaces the value of /etc/f/f.toml:10:12; "
          + "remove one of the two (fleet-locationctl settings shows what is in force)",
      ])
    // A file in the directory of one instance is meant to replace the vehicle.
    var own = TestMachine().adding(minimal())
    own.files["/etc/f/f.toml.d/own.toml"] = Array("[vehicle]\nvehicle_id = \"truck-18\"".utf8)
    try expectEqual(own.load().warnings, [])
  }
}
