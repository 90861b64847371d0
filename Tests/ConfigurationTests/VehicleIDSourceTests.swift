// SPDX-License-Identifier: Apache-2.0
import Expectations
import FleetEngine
import Testing

@testable import Configuration

struct VehicleIDSourceTests {
  var machine = TestMachine()

  init() {
    machine.files = [
      "/etc/id": Array(" van-3\n".utf8), "/etc/f/id": Array("van-4".utf8), "/run/c/vehicle": Array("van-5\n".utf8),
      "/etc/marked": Array("\u{FEFF}van-9\r\n".utf8), "/etc/empty": Array("\n".utf8), "/etc/latin1": [0xE4],
    ]
    machine.variables = ["CREDENTIALS_DIRECTORY": "/run/c", "VEHICLE": "van-6", "BAD": "a/b"]
    machine.hostname = "van-7"
  }

  @Test(
    "the ID is read from the configured place",
    arguments: [
      ("\"van-2\"", "van-2"), ("{ file = \"/etc/id\" }", "van-3"), ("{ file = \"id\" }", "van-4"),
      ("{ file = \"/etc/marked\" }", "van-9"),
      ("{ credential = \"vehicle\" }", "van-5"), ("{ environment = \"VEHICLE\" }", "van-6"),
      ("{ hostname = true }", "van-7"), ("\"Lieferwagen Süd\"", "Lieferwagen Süd"),
    ])
  func found(_ value: String, _ id: String) throws {
    try expectEqual(machine.settings(for: minimal(vehicle: "vehicle_id = \(value)")).vehicle.vehicleID, id)
  }

  @Test(
    "a missing or invalid ID is reported with its origin",
    arguments: [
      ("\"*\"", "means every vehicle"), ("\"\"", "is empty"), ("\"a:b\"", "contains \":\""),
      ("\"a\\u0000b\"", "control character"), ("\"..\"", "is not possible in a URL"),
      ("\" a\"", "begins or ends with a space"),
      ("\"\(String(repeating: "x", count: 65))\"", "has 65 characters; an ID has at most 64"),
      ("{ file = \"/etc/none\" }", "the file /etc/none does not exist"),
      ("{ file = \"/etc/empty\" }", "the file /etc/empty is empty"),
      ("{ file = \"/etc/latin1\" }", "is not UTF-8"),
      ("{ credential = \"other\" }", "the credential other does not exist"),
      ("{ credential = \"a/b\" }", "is not the name of a credential"),
      ("{ credential = \"Bearer x\" }", "contains a secret"), ("{ file = \"Bearer x\" }", "contains a secret"),
      ("{ environment = \"NONE\" }", "NONE is not set"),
      ("{ environment = \"BAD\" }", "the ID in the environment variable BAD contains \"/\""),
      ("{ hostname = false }", "hostname can only be true"), ("{ host = true }", "did you mean `hostname`?"),
      ("{}", "needs exactly one of file, credential, hostname, environment"),
      ("{ file = \"a\", hostname = true }", "needs exactly one of"), ("17", "is a whole number; a string in quotes"),
    ])
  func refused(_ value: String, _ part: String) {
    let messages = machine.messages(for: minimal(vehicle: "vehicle_id = \(value)"))
    expectEqual(messages.count, 1)
    expectEqual(messages.first?.hasPrefix("/etc/f/f.toml:3:"), true)
    expectEqual(messages.first?.contains(part), true, "\(messages)")
  }

  @Test("if systemd passes no credentials, the message names the LoadCredential= line to add")
  func noCredentials() {
    var machine = machine
    machine.variables = [:]
    let messages = machine.messages(for: minimal(vehicle: "vehicle_id = { credential = \"vehicle\" }"))
    expectEqual(messages.first?.contains("add LoadCredential=vehicle:"), true)
  }
}
