// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import Expectations
import Foundation
import Observability
import Release
import Testing

@testable import ControlTool

/// A daemon and a tool of different releases, as after an upgrade until the daemon is restarted.
struct DaemonClientTests {
  @Test("unknown keys of a later release's status are ignored")
  func later() throws {
    let answer = try StatusScreenTests.status([
      "weather": ["rain"], "explanation": ["reason": "notDue", "sentence": "x", "cause": ["kind": 1]],
    ])
    expect(answer.vehicle == "truck-17" && answer.explanation == Explanation("notDue", "x"))
  }

  @Test(
    "a directory of RUNTIME_DIRECTORY is the daemon's if its name says so, or its socket: not that of any other service",
    arguments: [
      (nil, nil), ("/run/driver-app", nil), ("/run/daemon", "/run/daemon"),
      ("/run/driver-app:/run/fleet-locationd-van", "/run/fleet-locationd-van"),
    ] as [(String?, String?)])
  func runtimeDirectory(variable: String?, directory: String?) {
    expectEqual(DaemonClient.runtimeDirectory(in: variable) { $0 == "/run/daemon/control.sock" }, directory)
  }

  @Test(
    "a file of /etc/fleet-locationd is that of the installed service, also if its path is relative or has links",
    arguments: [
      ("fleet-locationd.toml", "/etc/fleet-locationd/fleet-locationd.toml"),
      ("./van.toml", "/etc/fleet-locationd/van.toml"),
      ("/data/fleet/van.toml", "/etc/fleet-locationd/van.toml"), ("conf.d/a.toml", "conf.d/a.toml"),
      ("/home/trial.toml", "/home/trial.toml"), ("/nonexistent/a.toml", "/nonexistent/a.toml"),
    ])
  func settingsPath(given: String, path: String) {
    // The working directory is /etc/fleet-locationd, a link to /data/fleet.
    let directories = [
      ".": "/data/fleet", "/data/fleet": "/data/fleet", "/etc/fleet-locationd": "/data/fleet", "/home": "/home",
      "conf.d": "/data/fleet/conf.d",
    ]
    expectEqual(InstalledService.settingsPath(given) { directories[$0] }, path)
  }

  @Test(
    "the error about an unreadable response names both releases if they differ",
    arguments: [
      (#"{"version":"9.9","isOnline":"yes"}"#, true), (#"{"version":"\#(Release.version)","isOnline":"yes"}"#, false),
      (#"{"error":"unknown command"}"#, false), (#"{"version":9}"#, false), ("<html>", false), ("", false),
    ])
  func unreadable(text: String, isOfOther: Bool) {
    let message = DaemonClient.decodingError(of: Array(text.utf8))
    expect(message.contains("release 9.9") == isOfOther && message.contains(Release.version) == isOfOther)
    expect(message.contains("cannot"))
  }
}
