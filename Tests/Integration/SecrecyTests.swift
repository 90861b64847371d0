// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

struct SecrecyTests {
  @Test("even at debug level, no token, credential or coordinate is logged")
  func secrecy() throws {
    let bench = try TestBench()
    let emulator = try #require(bench.emulator)
    let receiver = try bench.receiver()
    let answer = try Loopback.request("GET", "/token/delivery_driver/truck-17", port: emulator.port)
    let json = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
    let token = try #require(json?["token"] as? String)
    let provider = try CannedServer(answer: answer)
    bench.otherReadables.append(provider)
    let credential = "Bearer hush-hush-4711"
    mkdir(bench.directory("credentials"), 0o700)
    try bench.directory.write(credential + "\n", to: "credentials/token-provider")
    bench.settings["token.url"] = "\"http://127.0.0.1:\(provider.port)/token/{vehicle_id}\""
    bench.settings["token.headers"] = "{ Authorization = { credential = \"token-provider\" } }"
    bench.settings["log.level"] = "\"debug\""
    mkdir(bench.directory("positions"), 0o700)
    bench.settings["positions.socket"] = "true"
    let daemon = try bench.start(
      reading: receiver,
      environment: [
        "CREDENTIALS_DIRECTORY": bench.directory("credentials"), "FLEET_POSITIONS": bench.directory("positions"),
      ])
    let navigation = try ChildProcess(
      "fleet-locationctl", ["monitor", "--positions", "--socket", bench.directory("positions/fleet-locationd.sock")])
    defer { navigation.signal(SIGKILL) }
    bench.otherReadables += navigation.sources

    var drive = NMEADrive()
    drive.period = 0.5
    receiver.send(drive.next())
    try bench.wait("an update") { emulator.accepted.count == 1 }
    expect(provider.requests.allSatisfy { $0.contains("\r\nAuthorization: \(credential)\r\n") })
    // Errors cause the most log messages.
    for fault in [
      #""body": "html", "times": 1"#, #""status": 400, "times": 2"#, #""reset": true, "times": 3"#,
      #""status": 401, "times": 1, "message": "Request had invalid credentials.""#,
    ] { try emulator.fault("{\"target\": \"update\", \(fault)}") }
    receiver.send(drive.next())
    try bench.wait("a failure") { daemon.shows("Offline") }
    daemon.process.signal(SIGHUP)
    try bench.wait("a reload") { daemon.notifications.count(of: "READY") == 2 }
    var sentAt = ContinuousClock.now
    func driveOn() {
      // The fixes are sent at their own times.
      guard ContinuousClock.now - sentAt >= .milliseconds(500) else { return }
      receiver.send(drive.next())
      sentAt = ContinuousClock.now
    }
    for category in ["untrusted", "rejected", "network", "unauthenticated"] {
      try bench.wait(category, within: .seconds(60)) {
        driveOn()
        return daemon.logs("(\(category)): ")
      }
    }
    try bench.wait("positions") {
      driveOn()
      return navigation.output.text.contains("  48.1")
    }
    daemon.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(), 0)
    try bench.wait("the end of the monitor") { navigation.output.text.contains("the daemon has closed the connection") }

    let said = [daemon.process.errors.text, daemon.process.output.text, daemon.transcript].joined(separator: "\n")
    expect(said.contains("debug: "))
    let secrets =
      [token, credential, "hush-hush"] + token.split(separator: ".").map(String.init)
      + ["48.1", "11.5", "4806.", "01130."]
    for secret in secrets { expect(!said.contains(secret)) }
    let check = try ChildProcess("fleet-locationd", ["--config", bench.directory("fleet-locationd.toml"), "--check"])
    try expectEqual(check.finish(), 0, "without CREDENTIALS_DIRECTORY")
    for secret in secrets { expect(!(check.output.text + check.errors.text).contains(secret)) }
  }

  @Test("a support report has no secret, and without --positions no coordinate, whether or not the daemon runs")
  func report() throws {
    let bench = try TestBench()
    let emulator = try #require(bench.emulator)
    let receiver = try bench.receiver()
    let answer = try Loopback.request("GET", "/token/delivery_driver/truck-17", port: emulator.port)
    let json = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
    let token = try #require(json?["token"] as? String)
    let provider = try CannedServer(answer: answer)
    bench.otherReadables.append(provider)
    let credential = "Bearer hush-hush-4711"
    mkdir(bench.directory("credentials"), 0o700)
    try bench.directory.write(credential + "\n", to: "credentials/token-provider")
    bench.settings["token.url"] = "\"http://127.0.0.1:\(provider.port)/token/{vehicle_id}?key=s3cr3t-k33y5-of-7h3-url\""
    bench.settings["token.headers"] = "{ Authorization = { credential = \"token-provider\" } }"
    bench.settings["log.level"] = "\"debug\""
    bench.settings["log.positions"] = "true"
    let environment = [
      "CREDENTIALS_DIRECTORY": bench.directory("credentials"), "RUNTIME_DIRECTORY": bench.directory.path,
    ]
    let daemon = try bench.start(reading: receiver, environment: environment)
    var drive = NMEADrive()
    drive.step = 0.000_5
    for count in 1...3 {
      receiver.send(drive.next())
      try bench.wait("an update") { emulator.accepted.count >= count }
    }
    // The report has the error's message in the status and in the events.
    let quoted = "latitude 48.1005, no room for \(token.prefix(90)), \(String(token.reversed().prefix(60)))"
    try emulator.fault("{\"target\": \"update\", \"status\": 503, \"times\": 9, \"message\": \"\(quoted)\"}")
    receiver.send(drive.next())
    try bench.wait("a failure") { daemon.shows("Offline") }
    expect(daemon.transcript.contains("48.1"), "the coordinates are in the journal")

    func contents(_ name: String, _ options: [String] = []) throws -> (listing: String, files: String) {
      let archive = bench.directory("\(name).tar.gz")
      let process = try ChildProcess(
        "fleet-locationctl",
        [
          "report", "--config", bench.directory("fleet-locationd.toml"), "--socket", bench.directory("control.sock"),
          "--output", archive,
        ] + options, environment: environment)
      bench.otherReadables += process.sources
      try bench.wait("the report", within: .seconds(120)) { process.hasEnded }
      expectEqual(process.exitCode, 0, "\(process.errors.text)")
      let tar = try ChildProcess("/usr/bin/tar", ["-xzOf", archive])
      try expectEqual(tar.finish(), 0)
      return (process.output.text, tar.output.text)
    }
    func search(_ text: String) {
      let parts = token.split(separator: ".").map(String.init)
      let secrets =
        [token, credential, "hush", "s3cr3t", "k33y5"] + parts
        + parts.flatMap { part in
          stride(from: 0, to: part.count - 24, by: 8).map { String(part.dropFirst($0).prefix(24)) }
        }
      let places = ["48.1", "11.5", "4806.", "01130.", "481000", "481005", "115000"]
      for secret in secrets.flatMap({ [$0, $0.lowercased(), $0.uppercased(), String($0.reversed())] }) + places {
        for line in text.split(separator: "\n") where line.contains(secret) {
          Issue.record("in the report: \(secret) in \(line.prefix(300))")
        }
      }
    }
    let running = try contents("running")
    expect(running.listing.hasPrefix("The daemon is running.\nContents, in bytes:\n  doctor.json "))
    expect(running.files.contains("\"isDaemonRunning\":true") && running.files.contains("no room for <redacted>"))
    expect(running.files.contains("vehicle_id = \"truck-17\"") && !running.files.contains("\"track\""))
    search(running.files)
    search(running.listing)
    let open = try contents("open", ["--positions"])
    expect(open.files.contains("\"track\"") && open.listing.contains("Coordinates are included (--positions)."))
    let again = try ChildProcess(
      "fleet-locationctl",
      ["report", "--config", bench.directory("fleet-locationd.toml"), "-o", bench.directory("open.tar.gz")])
    try expectEqual(again.finish(), 74)
    expect(again.errors.text.contains("exists already"))
    let nowhere = try ChildProcess(
      "fleet-locationctl",
      ["report", "--config", bench.directory("fleet-locationd.toml"), "-o", bench.directory("missing/open.tar.gz")])
    try expectEqual(nowhere.finish(), 74)
    expect(nowhere.errors.text.contains("cannot be written: No such file or directory; name another file"))
    expectEqual(nowhere.output.text, "")
    daemon.process.signal(SIGTERM)
    _ = try bench.exitCode()
    let stopped = try contents("stopped")
    expect(stopped.listing.hasPrefix("The daemon is not running; the report is made without it.\n"))
    expect(stopped.listing.contains("Missing:\n  status.json: fleet-locationctl status --json --socket "))
    expect(stopped.files.contains("\"code\":\"daemonUnreachable\""))
    search(stopped.files)
    search(stopped.listing)
  }

  enum Provider: String, CaseIterable { case http, command, file }

  @Test(
    "a token or credential in an error of the token provider is neither logged nor shown", arguments: Provider.allCases)
  func quotingProvider(provider: Provider) throws {
    let bench = try TestBench()
    let emulator = try #require(bench.emulator)
    let answer = try Loopback.request("GET", "/token/delivery_driver/truck-17", port: emulator.port)
    let json = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
    let token = try #require(json?["token"] as? String)
    let credential = "Bearer hush-hush-4711"
    bench.settings["log.level"] = "\"debug\""
    // Fleet Engine quotes the token in an error.
    try emulator.fault(
      "{\"target\": \"update\", \"status\": 503, \"times\": 1, \"message\": \"bad \(token.prefix(180))\"}")
    // The responses, in order: all but the last are errors.
    let answers = [
      "Authorization: \(credential) gets \(token)", "{\"\(token)\": 1, \"hush\": \"\(credential)\"}",
      "{\"token\": [\"\(token)\"], \"", answer,
    ]
    let responses = try ProviderResponses(answers, provider, bench)
    let receiver = try bench.receiver()
    let daemon = try bench.start(
      reading: receiver,
      environment: ["RUNTIME_DIRECTORY": bench.directory.path, "CREDENTIALS_DIRECTORY": bench.directory("credentials")])
    var drive = NMEADrive()
    drive.period = 0.5
    receiver.send(drive.next())
    func failures() throws -> Int {
      let text = try bench.control("status", "--json").output.text
      let status = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
      let counters = try #require(status?["counters"] as? [String: Int])
      return counters.reduce(0) { $0 + ($1.key.hasPrefix("tokenFailed.") ? $1.value : 0) }
    }
    var outputs: [String] = []
    var earlierFailures = 0
    for index in answers.indices {
      if index < answers.count - 1 {
        try bench.wait("failure \(index)", within: .seconds(40)) {
          try bench.watch(for: .milliseconds(200))
          return try responses.isRequested && failures() > earlierFailures
        }
      }
      for command in ["status", "explain"] {
        let control = try ChildProcess(
          "fleet-locationctl", [command, "--socket", bench.directory("control.sock")])
        _ = try control.finish()
        outputs.append(control.output.text + control.errors.text)
      }
      earlierFailures = try failures()
      try responses.next()
    }
    receiver.send(drive.next())
    try bench.wait("an update", within: .seconds(90)) { !emulator.accepted.isEmpty }
    daemon.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(), 0)

    expect(outputs.contains { $0.lowercased().contains("no token") }, "\(outputs)")
    let said = ([daemon.process.errors.text, daemon.process.output.text, daemon.transcript] + outputs).joined(
      separator: "\n")
    expect(said.contains("No token"))
    // The token's parts, and substrings of them that are long enough to be useful.
    let parts = token.split(separator: ".").map(String.init)
    let stretches = parts.flatMap { part in
      stride(from: 0, to: part.count - 24, by: 8).map { String(part.dropFirst($0).prefix(24)) }
    }
    for secret in [token, credential, "hush-hush"] + parts + stretches where said.contains(secret) {
      let line = said.split(separator: "\n").first { $0.contains(secret) }
      Issue.record("logged: \(secret) in \(line ?? "")")
    }
  }
}

/// A suite of its own: each runs in a process, in parallel, and this one waits through several backoffs.
struct FleetEngineMessageTests {
  @Test("secrets in Fleet Engine's messages are redacted, and STATUS= quotes only messages about permissions")
  func foreignText() throws {
    let bench = try TestBench()
    let emulator = try #require(bench.emulator)
    let receiver = try bench.receiver()
    // A fixed token: of a random one, up to three characters before a `_` may remain (see ExternalTextTests).
    let token =
      "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJmbGVldEBwcm9qLmlhbSJ9."
      + "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJVadQssw5c"
    let forms = [token.lowercased(), token.uppercased(), String(token.reversed())].map { String($0.prefix(60)) }
    let middle = token.index(token.startIndex, offsetBy: 40)
    let cut = "\(token[..<middle])/\(token[middle...].prefix(40))"
    bench.settings["log.level"] = "\"debug\""
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    for (index, form) in (forms + [cut]).enumerated() {
      // After new settings a failure is reported, even if the same was reported before.
      daemon.process.signal(SIGHUP)
      try bench.wait("a reload") { daemon.log.count { $0.hasPrefix("Settings reloaded") } == index + 1 }
      let count = daemon.log.count { $0.contains("no room for the parcel <redacted>") }
      try emulator.fault(
        "{\"target\": \"update\", \"status\": 503, \"times\": 1, \"message\": \"no room for the parcel \(form) password=hunter2\"}"
      )
      receiver.send(drive.next())
      // The backoff after a 503 is up to 30 s.
      try bench.wait("the journal", within: .seconds(45)) {
        daemon.log.count { $0.contains("no room for the parcel <redacted>") } > count
      }
    }
    // STATUS= quotes a message about permissions, because an operator needs it; secrets in it are redacted as well.
    try emulator.fault(
      "{\"target\": \"update\", \"status\": 403, \"times\": 4, \"message\": \"billing is disabled \(cut)\"}")
    try bench.wait("STATUS=", within: .seconds(45)) {
      receiver.send(drive.next())
      return daemon.statuses.contains { $0.contains("PERMISSION_DENIED: billing is disabled <redacted>") }
    }
    daemon.process.signal(SIGTERM)
    _ = try bench.exitCode()
    let said = daemon.transcript + daemon.process.errors.text
    for form in forms + cut.split(separator: "/").map(String.init) + ["hunter2"] {
      expect(!said.contains(form), "\(form)")
    }
    expect(daemon.statuses.contains { $0.contains("UNAVAILABLE") })
    expect(!daemon.statuses.contains { $0.contains("parcel") })
  }
}

/// A token provider that gives several responses, one after another.
private final class ProviderResponses {
  private let answers: [String]
  private let provider: SecrecyTests.Provider
  private let bench: TestBench
  private var index = 0
  private var server: CannedServer?
  private var earlierRequests = 0

  init(_ answers: [String], _ provider: SecrecyTests.Provider, _ bench: TestBench) throws {
    (self.answers, self.provider, self.bench) = (answers, provider, bench)
    for key in ["url", "expiration_key", "expiration_format"] { bench.settings["token.\(key)"] = nil }
    bench.settings["token.provider"] = "\"\(provider.rawValue)\""
    mkdir(bench.directory("credentials"), 0o700)
    try bench.directory.write("Bearer hush-hush-4711\n", to: "credentials/token-provider")
    switch provider {
    case .http:
      let server = try CannedServer(answer: "")
      self.server = server
      bench.otherReadables.append(server)
      bench.settings["token.url"] = "\"http://127.0.0.1:\(server.port)/token\""
      bench.settings["token.headers"] = "{ Authorization = { credential = \"token-provider\" } }"
    case .command:
      // The command also writes the response and the credential to standard error.
      let program = try bench.directory.write(
        "#!/bin/sh\necho >> \(bench.directory("runs"))\ntee /dev/stderr < \(bench.directory("answer")); cat $CREDENTIALS_DIRECTORY/token-provider >&2\n",
        to: "get-token", mode: 0o700)
      bench.settings["token.command"] = "[\"\(program)\"]"
    case .file: bench.settings["token.file"] = "\"\(bench.directory("answer"))\""
    }
    try serve()
  }

  private func serve() throws {
    let answer = answers[index]
    if provider == .http {
      server?.answer = answer
      earlierRequests = server?.requests.count ?? 0
    } else {
      unlink(bench.directory("runs"))
      try bench.directory.write(answer, to: "new")
      rename(bench.directory("new"), bench.directory("answer"))
    }
  }

  /// Whether the daemon has requested the response; a file is read as soon as it exists.
  var isRequested: Bool {
    switch provider {
    case .http: (server?.requests.count ?? 0) > earlierRequests
    case .command: FileManager.default.fileExists(atPath: bench.directory("runs"))
    case .file: true
    }
  }

  func next() throws {
    guard index + 1 < answers.count else { return }
    index += 1
    try serve()
  }
}
