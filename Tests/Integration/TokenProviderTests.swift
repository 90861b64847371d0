// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// Tokens from commands, files and URLs, and a machine whose clock is wrong.
struct TokenProviderTests {
  /// A test bench whose token does not come from a URL.
  private func bench(_ provider: String, _ keys: [String: String]) throws -> TestBench {
    let bench = try TestBench()
    for key in ["url", "expiration_key", "expiration_format"] { bench.settings["token.\(key)"] = nil }
    bench.settings["token.provider"] = "\"\(provider)\""
    for (key, value) in keys { bench.settings["token.\(key)"] = value }
    return bench
  }

  /// - Returns: what the emulator's token provider responds.
  private func tokenResponse(_ bench: TestBench) throws -> String {
    try Loopback.request("GET", "/token/delivery_driver/truck-17", port: try #require(bench.emulator).port)
  }

  /// - Returns: the token itself.
  private func token(_ bench: TestBench) throws -> String {
    let json = try JSONSerialization.jsonObject(with: Data(try tokenResponse(bench).utf8)) as? [String: Any]
    return try #require(json?["token"] as? String)
  }

  @Test(
    "a token command gets the vehicle ID in its arguments and environment, and its standard error is logged")
  func command() throws {
    let bench = try bench("command", ["response": "\"lmfs\""])
    try bench.directory.write(try tokenResponse(bench), to: "answer")
    let script =
      "#!/bin/sh\necho \"for $1 $VEHICLE_ID $PROVIDER_ID $TOKEN_SCOPE\" >&2\ncat \(bench.directory("answer"))\n"
    let program = try bench.directory.write(script, to: "get-token", mode: 0o700)
    bench.settings["token.command"] = "[\"\(program)\", \"{vehicle_id}\"]"
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    expect(daemon.logs("The token command says: for truck-17 truck-17 my-project delivery-vehicle"))
    expect(daemon.logs("Token obtained, valid for 60 min") || daemon.logs("Token obtained, valid for 59 min"))
  }

  struct Fault: CustomTestStringConvertible {
    let testDescription: String
    let script: String
    let says: String
  }

  @Test(
    "the cause of a token command's failure is reported, and positions are delivered once the command works",
    arguments: [
      Fault(testDescription: "exit code", script: "echo no licence >&2; exit 4", says: "exit code 4"),
      Fault(testDescription: "hangs", script: "sleep 60", says: "longer than 1 s"),
      Fault(testDescription: "signal", script: "kill -9 $$", says: "signal 9"),
      Fault(testDescription: "no end of output", script: "yes", says: "more than 65536 bytes"),
      Fault(testDescription: "nothing", script: "true", says: "empty body"),
      Fault(testDescription: "no JSON", script: "echo sorry", says: "not a JSON object"),
      Fault(testDescription: "not executable", script: "", says: "Permission denied"),
    ])
  func failing(_ fault: Fault) throws {
    let bench = try bench("command", ["response": "\"lmfs\"", "deadline": "\"1s\""])
    try bench.directory.write(try tokenResponse(bench), to: "answer")
    let program = try bench.directory.write(
      "#!/bin/sh\n\(fault.script)\n", to: "get-token", mode: fault.script.isEmpty ? 0o600 : 0o700)
    bench.settings["token.command"] = "[\"\(program)\"]"
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("the status says so") {
      daemon.statuses.contains { $0.hasPrefix("No token") && $0.contains(program) && $0.contains(fault.says) }
    }
    // The output of the command is only in the journal.
    if fault.script.contains("no licence") {
      expect(daemon.logs("exit code 4: no licence") && !daemon.statuses.contains { $0.contains("no licence") })
    }
    // A running program cannot be overwritten: it is replaced.
    try bench.directory.write("#!/bin/sh\ncat \(bench.directory("answer"))\n", to: "new", mode: 0o700)
    expectEqual(rename(bench.directory("new"), program), 0)
    try bench.wait("an update", within: .seconds(40)) { bench.emulator?.accepted.count == 1 }
  }

  @Test("a token command that does not exist is reported by --check as a mistake in the settings, with its path")
  func missing() throws {
    let bench = try bench("command", ["command": "[\"/nonexistent/get-token\"]"])
    bench.settings.source("serial", ["device": "\"/dev/null\""])
    let check = try ChildProcess("fleet-locationd", ["--config", try bench.writeSettings(), "--check"])
    try expectEqual(check.finish(), 78)
    expect(check.errors.text.contains("token.command: /nonexistent/get-token does not exist"))
  }

  @Test("on SIGTERM, the daemon kills a hung token command instead of waiting for it")
  func stopping() throws {
    let bench = try bench("command", ["deadline": "\"60s\""])
    let mark = bench.directory("mark")
    let program = try bench.directory.write("#!/bin/sh\necho $$ > \(mark)\nsleep 600\n", to: "get-token", mode: 0o700)
    bench.settings["token.command"] = "[\"\(program)\"]"
    bench.settings["reporting.stop_timeout"] = "\"1s\""
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    var child: pid_t?
    try bench.wait("the program runs") {
      child = (try? String(contentsOfFile: mark, encoding: .utf8)).flatMap { pid_t($0.dropLast()) }
      return child != nil
    }
    daemon.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(within: .seconds(5)), 0)
    let id = try #require(child)
    try bench.wait("the program is gone") {
      guard let status = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8) else { return true }
      return status.contains(") Z ")
    }
  }

  @Test("a token file is read as soon as it appears, and read again after it was incomplete")
  func file() throws {
    let bench = try bench("file", [:])
    let path = bench.directory("token")
    bench.settings["token.file"] = "\"\(path)\""
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("the missing file is reported") {
      daemon.shows("No token") && daemon.shows("\(path): there is no such file")
    }
    let token = try token(bench)
    try bench.directory.write(String(token.prefix(200)), to: "token")
    try bench.wait("half of it is refused") { daemon.shows("contains no complete token") }
    try bench.directory.write(token + "\n", to: "token")
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
  }

  @Test("a token file is read again at once when it or its symbolic link is replaced, even if the new one is JSON")
  func renewed() throws {
    let bench = try bench("file", ["response": "\"lmfs\""])
    let path = bench.directory("link")
    try bench.directory.write(try token(bench), to: "first")
    symlink(bench.directory("first"), path)
    bench.settings["token.file"] = "\"\(path)\""
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    func obtained() -> Int { daemon.log.count { $0.contains("Token obtained") || $0.contains("Token renewed") } }
    expectEqual(obtained(), 1)
    // The emulator's tokens change once a second: wait for a different one.
    try bench.watch(for: .milliseconds(1100))
    try bench.directory.write(try token(bench), to: "new")
    rename(bench.directory("new"), bench.directory("first"))
    try bench.wait("the renamed one is taken") { obtained() == 2 }
    try bench.watch(for: .milliseconds(1100))
    try bench.directory.write(try tokenResponse(bench), to: "second")
    symlink(bench.directory("second"), bench.directory("other"))
    rename(bench.directory("other"), path)
    try bench.wait("the one behind the new link is taken") { obtained() == 3 }
    expect(!daemon.logs("No token"))
  }

  @Test("while every user may read a token file, it is rejected, and the message has the command that corrects it")
  func exposed() throws {
    let bench = try bench("file", [:])
    let path = try bench.directory.write(try token(bench), to: "token", mode: 0o644)
    bench.settings["token.file"] = "\"\(path)\""
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("it is refused") { daemon.shows("correct it with: chmod 0640 \(path)") }
    expectEqual(bench.emulator?.updates.isEmpty, true)
    chmod(path, 0o640)
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
  }

  @Test("response = rides-stub reads the tokens of Google's rides sample, and a POST has the configured body")
  func rides() throws {
    let bench = try TestBench()
    let json = try JSONSerialization.jsonObject(with: Data(try tokenResponse(bench).utf8)) as? [String: Any]
    let renamed = [
      "jwt": json?["token"], "creationTimestamp": json?["creation_timestamp_ms"],
      "expirationTimestamp": json?["expiration_timestamp_ms"],
    ]
    let text = String(
      decoding: try JSONSerialization.data(withJSONObject: renamed.compactMapValues { $0 }), as: UTF8.self)
    let provider = try CannedServer(answer: text)
    bench.otherReadables.append(provider)
    for key in ["expiration_key", "expiration_format"] { bench.settings["token.\(key)"] = nil }
    bench.settings["token.url"] = "\"http://127.0.0.1:\(provider.port)/t/{scope}/{id}\""
    bench.settings["token.response"] = "\"rides-stub\""
    bench.settings["token.method"] = "\"POST\""
    bench.settings["token.body"] = #"'{"vehicle":"{vehicle_id}"}'"#
    let receiver = try bench.receiver()
    try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    expectEqual(provider.requests.first?.hasPrefix("POST /t/delivery-vehicle/truck-17 HTTP/1.1\r\n"), true)
    expectEqual(provider.requests.first?.contains("Content-Length: 22\r\n"), true)
  }

  @Test(
    "a machine's clock is reported if it is hours or years behind, not if it is right; updates are sent in any case",
    arguments: [("378691200", "behind"), ("7200", "behind"), ("0", "")])
  func clock(offset: String, words: String) throws {
    let bench = try TestBench(emulator: ["--clock-offset", offset])
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver, environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    if words.isEmpty {
      try bench.wait("the response to it has been read") { daemon.shows("Online") }
      expect(!daemon.logs("The clock of this machine is"))
    } else {
      try bench.wait("the status says so") {
        daemon.statuses.contains {
          $0.contains("this machine's clock is") && $0.contains("\(words), according to Fleet Engine")
        }
      }
      expect(daemon.log.contains { $0.contains("warning: The clock of this machine is") && $0.contains(words) })
      let control = try ChildProcess(
        "fleet-locationctl", ["status", "--socket", bench.directory("control.sock")])
      try expectEqual(control.finish(), 0)
      expect(control.output.text.contains("this machine's clock is") && control.output.text.contains(words))
    }
  }
}
