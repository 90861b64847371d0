// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import Expectations
import Testing

@testable import ControlTool

@MainActor struct InstanceCommandsTests {
  @Test("on a box that has only instances, a command without --instance names them")
  func onlyInstances() {
    expectEqual(Instance.advice(among: ["bus", "van"]), "the instances are: bus, van; name one, as in --instance bus")
    expectNil(Instance.advice(among: []))
  }

  private static let van = InstalledService(settings: "/etc/fleet-locationd/van.toml")

  private func addressed(_ text: String) -> String { Instance.addressed(text, Self.van) }

  @Test(
    "the commands and the unit in a text are those of the instance",
    arguments: [
      ("until fleet-locationctl resume", "until fleet-locationctl resume --instance van"),
      ("until \"fleet-locationctl resume\"", "until \"fleet-locationctl resume --instance van\""),
      ("fleet-locationctl reload --confirm 10min", "fleet-locationctl reload --instance van --confirm 10min"),
      ("then fleet-locationctl online, or offline", "then fleet-locationctl online --instance van, or offline"),
      ("fleet-locationctl doctor --token", "fleet-locationctl doctor --instance van --token"),
      ("sudo fleet-locationctl modem enable, or", "sudo fleet-locationctl modem enable --instance van, or"),
      ("a\nfleet-locationctl status\nb", "a\nfleet-locationctl status --instance van\nb"),
      ("journalctl -u fleet-locationd shows it", "journalctl -u fleet-locationd@van.service shows it"),
      ("With systemctl edit fleet-locationd add", "With systemctl edit fleet-locationd@van.service add"),
      ("(systemctl cat fleet-locationd), or", "(systemctl cat fleet-locationd@van.service), or"),
    ])
  func commands(text: String, expected: String) {
    expectEqual(addressed(text), expected)
    expectEqual(addressed(expected), expected)
    expectEqual(Instance.addressed(text, InstalledService(settings: "/etc/fleet-locationd/fleet-locationd.toml")), text)
    expectEqual(Instance.addressed(text, nil), text)
  }

  @Test(
    "commands without the option, other units and other words stay as they are",
    arguments: [
      "fleet-locationctl fixes --verdict FILE", "fleet-locationctl modem", "the program fleet-locationctl",
      "fleet-locationctl  resume", "systemctl stop fleet-locationd.service", "systemctl stop fleet-locationd@bus",
      "journalctl -u ModemManager", "install fleet-locationd", "", " ",
      "sudo fleet-locationctl token --config /etc/fleet-locationd/van.toml; if",
    ])
  func others(text: String) { expectEqual(addressed(text), text) }

  @Test("the commands of status, doctor and pause are those of the instance")
  func outputs() throws {
    let status = try StatusScreenTests.status([
      "isPaused": true, "duty": "OFFLINE",
      "state": [
        "cause": "paused", "label": "paused", "detail": ", fleet-locationctl resume ends it", "level": "warning",
        "advice": "fleet-locationctl explain says what it waits for",
      ],
      "events": [
        [
          "name": "paused", "level": "notice", "sentence": "until fleet-locationctl resume", "age": 60, "times": 1,
        ] as [String: Any]
      ],
    ])
    let rows = StatusRows(status).rewording { addressed($0) }
    let lines = StatusScreen.lines(of: rows, width: nil, capabilities: .plain).map(\.text)
    for end in [
      "paused, fleet-locationctl resume --instance van ends it", "until fleet-locationctl resume --instance van",
      "fleet-locationctl explain --instance van says what it waits for",
      "off duty, fleet-locationctl online --instance van ends it",
    ] {
      expect(lines.contains { $0.hasSuffix(end) }, "\(end)\n\(lines.joined(separator: "\n"))")
    }
    let finding = Finding.fail(.settingsMistake, "see fleet-locationctl check", "Then: fleet-locationctl reload")
    expectEqual(
      Doctor.Part.finding(finding).rewording { addressed($0) },
      .finding(
        .fail(
          .settingsMistake, "see fleet-locationctl check --instance van",
          "Then: fleet-locationctl reload --instance van")))
    expectEqual(
      Doctor.Part.summary("1 failed", cause: "fleet-locationctl status").rewording { addressed($0) },
      .summary("1 failed", cause: "fleet-locationctl status --instance van"))
    expect(addressed(PauseCommand.confirmation).hasSuffix("\"fleet-locationctl resume --instance van\""))
    expect(addressed(OfflineCommand.confirmation).hasSuffix("fleet-locationctl status --instance van"))
  }
}
