// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// `fleet-locationctl token` and `doctor --token` against the emulator's token endpoint.
struct TokenCommandTests {
  private static let credential = "Bearer box-quux-credential"

  /// A test bench whose token provider requires a credential, with settings that name the credential's file.
  private func bench() throws -> TestBench {
    let bench = try TestBench(emulator: ["--token-authorization", Self.credential])
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let file = try bench.directory.write(Self.credential, to: "credential")
    bench.settings["token.headers"] = "{ Authorization = { file = \"\(file)\" } }"
    return bench
  }

  private func run(_ words: [String], _ bench: TestBench, user: uid_t? = nil) throws -> ChildProcess {
    let process = try ChildProcess(
      "fleet-locationctl", words + ["--config", try bench.writeSettings()], user: user)
    let sources = process.sources + bench.otherReadables
    try wait(for: "the end of \(words)", within: .seconds(20), reading: sources) { process.hasEnded }
    try process.finish()
    return process
  }

  @Test("token shows a valid token without its secret parts, and --reveal shows it in full")
  func good() throws {
    let bench = try bench()
    let shown = try run(["token"], bench)
    expectEqual(shown.exitCode, 0)
    expect(shown.output.text.contains("authorization {\"deliveryvehicleid\": \"truck-17\"}"))
    expect(shown.output.text.hasSuffix("Problems\n  none\n"))
    expect(!shown.output.text.contains("eyJ") && !shown.output.text.contains("quux"))
    expect(shown.errors.lines.count == 1 && shown.errors.text.hasPrefix("Checked as user "))
    let revealed = try run(["token", "--reveal"], bench)
    expectEqual(revealed.exitCode, 0)
    let token = revealed.output.lines.last?.trimmingCharacters(in: .whitespaces) ?? ""
    expect(token.split(separator: ".").count == 3 && token.hasPrefix("eyJ"))
  }

  @Test(
    "token and doctor --token report a flaw of the token in the same words",
    arguments: [
      ("expired", "it expired "), ("wrong-vehicle", "it is for vehicle \"another-truck-17\""),
      ("no-claim", "there is no `authorization` claim"), ("alg-none", "the algorithm is \"none\""),
      ("wrong-audience", "the audience (`aud`) is \"https://example.com/\""),
      ("long-life", "it lives for 7200 s"), ("not-yet-valid", "it is issued 1"), ("garbage", "the token is not a JWT"),
    ])
  func flaws(_ flaw: String, _ words: String) throws {
    let bench = try bench()
    try bench.emulator?.fault(#"{"target": "token", "token": "\#(flaw)", "for_ms": 60000}"#)
    let token = try run(["token"], bench)
    expectEqual(token.exitCode, 1)
    expect(token.output.lines.contains { $0.hasPrefix("  \(words)") })
    let doctor = try run(["doctor", "--token"], bench)
    expectEqual(doctor.exitCode, 1)
    expect(doctor.output.lines.contains { $0.hasPrefix("  fail  \(words)") })
  }

  @Test(
    "token and doctor --token report a response without a token",
    arguments: [
      (#""status": 503"#, "the token provider answered HTTP 503"), (#""body": "html""#, "gave a web page"),
      (#""body": "empty""#, "gave an empty body"), (#""body": "truncated""#, "broke off"),
      (#""body": "huge""#, "longer than the 65536 bytes"), (#""body": "not-json""#, "is not a JSON object"),
      (#""reset": true"#, "broke off"), (#""status": 302"#, "redirects are not followed"),
    ])
  func faults(_ fault: String, _ words: String) throws {
    let bench = try bench()
    try bench.emulator?.fault(#"{"target": "token", \#(fault), "for_ms": 60000}"#)
    for command in [["token"], ["doctor", "--token"]] {
      let process = try run(command, bench)
      expectEqual(process.exitCode, 1)
      expect(process.output.text.contains(words))
    }
  }

  @Test("token waits for an unresponsive provider until token.deadline")
  func silent() throws {
    let bench = try bench()
    bench.settings["token.deadline"] = "\"1s\""
    try bench.emulator?.fault(#"{"target": "token", "drop": true, "for_ms": 60000}"#)
    let process = try run(["token"], bench)
    expectEqual(process.exitCode, 1)
    expect(process.output.text.contains("did not answer in time"))
  }

  @Test("doctor --token passes a correct provider, and fails a provider that accepts wrong credentials")
  func conformance() throws {
    let bench = try bench()
    let right = try run(["doctor", "--token"], bench)
    expectEqual(right.exitCode, 0)
    expect(right.output.lines.contains("  pass  it rejects wrong credentials: HTTP 401"))
    expectEqual(right.output.lines.last, "14 passed, 0 warnings, 0 failed")
    // Without --token-authorization the emulator does not authenticate requests.
    let open = try TestBench()
    open.settings.values.merge(bench.settings.values.filter { !$0.key.hasPrefix("token.url") }) { $1 }
    open.settings["fleet_engine.endpoint"] = "\"http://127.0.0.1:\(try #require(open.emulator?.port))\""
    let wrong = try run(["doctor", "--token"], open)
    expectEqual(wrong.exitCode, 1)
    expect(wrong.output.lines.contains("  fail  it also returns a token for wrong credentials"))
    expect(!wrong.output.text.contains("quux"))
  }

  @Test("doctor --token passes a provider that requires a client certificate, and also tries it without a certificate")
  func clientCertificate() throws {
    let bench = try TestBench()
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let (certificate, key) = (bench.directory("box.pem"), bench.directory("box.key"))
    let openssl = try ChildProcess(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "2", "-subj",
        "/CN=box", "-keyout", key, "-out", certificate,
      ])
    try expectEqual(openssl.finish(), 0)
    let front = try TLSFront(
      .good, before: try #require(bench.emulator).port,
      options: "--verify-client --verify-client-cacert=\(certificate)")
    bench.settings["token.url"] = "\"https://localhost:\(front.port)/token/delivery_driver/{vehicle_id}\""
    bench.settings["token.ca_file"] = "\"\(front.authority)\""
    bench.settings["token.client_certificate"] = "\"\(certificate)\""
    bench.settings["token.client_key"] = "\"\(key)\""
    let doctor = try run(["doctor", "--token"], bench)
    expect(doctor.output.lines.contains("  pass  it accepts no connection without the vehicle's certificate"))
    expectEqual(doctor.exitCode, 0)
    try expectEqual(run(["token"], bench).exitCode, 0)
  }

  @Test("a token command is run, and its exit code and standard error are reported")
  func program() throws {
    let bench = try bench()
    for key in ["url", "headers", "expiration_key", "expiration_format"] { bench.settings["token.\(key)"] = nil }
    bench.settings["token.provider"] = "\"command\""
    bench.settings["token.command"] = #"["/bin/sh", "-c", "echo no key for $VEHICLE_ID >&2; exit 3"]"#
    let process = try run(["token"], bench)
    expectEqual(process.exitCode, 1)
    expect(process.output.text.contains("ended with exit code 3: no key for truck-17"))
    expect(process.errors.text.hasSuffix("\nfleet-locationctl: the token command says: no key for truck-17\n"))
  }

  @Test("token exits with 78 for invalid settings, no credential or an unsupported scope, and with 64 for two scopes")
  func mistakes() throws {
    let bench = try bench()
    try expectEqual(run(["token", "--trip", "a", "--task", "b"], bench).exitCode, 64)
    let trip = try run(["token", "--trip", "trip-9"], bench)
    expectEqual(trip.exitCode, 78)
    expect(trip.errors.text.contains("{vehicle_id}, which does not exist for a trip"))
    bench.settings["token.headers"] = "{ Authorization = { credential = \"token-provider\" } }"
    let missing = try run(["token"], bench)
    expectEqual(missing.exitCode, 78)
    expect(missing.errors.text.contains("outside the service"))
    expect(missing.errors.text.contains("-p LoadCredential=token-provider:/path/of/the/file"))
    // A credential that is missing is a warning of doctor, and a failure of doctor --token.
    let doctor = try run(["doctor"], bench)
    expect(doctor.output.text.contains(", 1 failed\nCause: no installed service reads"))
    expect(doctor.output.text.contains("  warn  no token is requested: "))
    let conformance = try run(["doctor", "--token"], bench)
    expectEqual(conformance.exitCode, 1)
    expect(conformance.output.text.contains("  fail  no token is requested: "))
    bench.settings["token.token_kye"] = "\"x\""
    try expectEqual(run(["token"], bench).exitCode, 78)
  }

  @Test(
    "a secret file that this user may not read is reported with a command that runs as the service's user",
    .enabled(if: geteuid() == 0))
  func otherUser() throws {
    let bench = try bench()
    chmod(bench.directory.path, 0o755)
    chmod(try bench.writeSettings(), 0o644)
    let process = try ChildProcess(
      "fleet-locationctl", ["token", "--config", bench.directory("fleet-locationd.toml")], user: 65_534)
    try expectEqual(process.finish(), 77)
    expect(process.errors.text.contains("permission denied"))
    expect(process.errors.text.contains("systemd-run --pipe --wait -p User=fleet-locationd"))
  }
}
