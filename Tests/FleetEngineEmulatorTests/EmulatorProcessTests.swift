// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Testing

@testable import FleetEngineEmulator

/// The emulator as a process, over real HTTP.
struct EmulatorProcessTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func token(_ url: String) throws -> String {
    let answer = try EmulatorProcess.curl("\(url)/token/delivery_driver/truck-17").output
    return try #require(try JSONParser.parse(Array(answer.utf8))["token"]?.string)
  }

  private func update(_ url: String, _ token: String, _ more: String...) throws -> EmulatorProcess.Result {
    try EmulatorProcess.run(
      "/usr/bin/curl",
      [
        "--silent", "--show-error", "--max-time", "5", "--request", "PATCH", "--header",
        "Authorization: Bearer \(token)",
        "--header", "Content-Type: application/json", "--header", "X-Goog-FieldMask: name", "--data",
        #"{"lastLocation":{"supplementalLocation":{"latitude":1,"longitude":2}}}"#, "--write-out", " %{http_code}\n",
        "\(url)/v1/providers/p/deliveryVehicles/truck-17?updateMask=lastLocation",
      ] + more)
  }

  @Test("the emulator issues a token, accepts updates, records them and prints totals")
  func tokenAndUpdates() throws {
    let file = directory("emulator.jsonl")
    let result = try EmulatorProcess.with(["--record", file, "--require-updates", "1"]) { url in
      let token = try token(url)
      try expectEqual(update(url, token).output, "{\"name\":\"providers/p/deliveryVehicles/truck-17\"}\n 200\n")
      expect(try update(url, "nonsense").output.hasSuffix(" 401\n"))
      let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
      expectEqual(lines.count, 2, "each line is there at once")
    }
    expectEqual(result.status, 0, "\(result.errors)")
    expect(result.output.contains("accepted 1 updates, refused 1, 0 warnings, 1 tokens issued"))
  }

  @Test("faults reach the client: resets, missing and delayed responses, truncated and huge bodies")
  func connection() throws {
    let result = try EmulatorProcess.with(["--quiet"]) { url in
      let token = try token(url)
      func fault(_ body: String) throws {
        // If curl's time was over before its request was sent, the previous fault is still there.
        _ = try EmulatorProcess.curl("--request", "DELETE", "\(url)/debug/faults")
        _ = try EmulatorProcess.curl("--data", "{\"target\":\"update\",\(body)}", "\(url)/debug/faults")
      }
      try fault(#""reset":true"#)
      expect([52, 56].contains(try update(url, token).status), "an empty reply, or a reset")
      try fault(#""drop":true"#)
      try expectEqual(update(url, token, "--max-time", "0.3").status, 28, "a timeout")
      try fault(#""delay_ms":60000"#)
      try expectEqual(update(url, token, "--max-time", "0.3").status, 28, "a timeout")
      try fault(#""body":"truncated""#)
      try expectEqual(update(url, token).status, 18, "a partial answer")
      try fault(#""body":"huge""#)
      try expectEqual(update(url, token, "--max-filesize", "65536").status, 63, "a response too large")
      expect(try update(url, token).output.hasSuffix(" 200\n"), "and then all is well")
    }
    expectEqual(result.status, 0)
  }

  @Test("the emulator exits after --seconds, with a status that shows whether the required updates were received")
  func seconds() throws {
    let program = try #require(EmulatorProcess.emulator)
    let elapsed = try ContinuousClock().measure {
      try expectEqual(EmulatorProcess.run(program, ["--seconds", "1"]).status, 0)
    }
    expect(elapsed >= .seconds(1))
    let missed = try EmulatorProcess.run(program, ["--seconds", "1", "--require-updates", "1"])
    expect(missed.status == 1 && missed.errors.contains("1 accepted updates were required"))
  }

  @Test("the emulator serves 1,200 connections although the shell's limit is 1,024 descriptors")
  func connections() throws {
    let client = """
      import resource, socket, sys
      resource.setrlimit(resource.RLIMIT_NOFILE, (2048, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
      port, served, connections = int(sys.argv[1]), 0, []
      for _ in range(1200):
          connections.append(socket.create_connection(("127.0.0.1", port), 5))
          connections[-1].sendall(b"GET /debug/key HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
      for connection in connections:
          connection.settimeout(5)
          try:
              served += connection.recv(20).startswith(b"HTTP/1.1 200")
          except OSError:
              pass
      print(served)
      """
    _ = try EmulatorProcess.with(["--quiet"]) { url in
      let result = try EmulatorProcess.run(
        "/usr/bin/python3", ["-c", client, String(try #require(url.split(separator: ":").last))])
      expectEqual(result.output, "1200\n", "\(result)")
    }
  }

  @Test(
    "the emulator rejects an --address other than 127.0.0.1 and ::1",
    arguments: ["0.0.0.0", "::", "192.0.2.1", "localhost"])
  func loopback(_ address: String) throws {
    let result = try EmulatorProcess.run(try #require(EmulatorProcess.emulator), ["--address", address])
    expect(result.status == 1 && result.errors.contains("127.0.0.1 or ::1 only"))
  }

  @Test(
    "with an invalid command line the emulator exits with status 2",
    arguments: [["--port", "70000"], ["--colour"], ["more"], ["--seconds", "0"]])
  func mistakes(_ arguments: [String]) throws {
    try expectEqual(EmulatorProcess.run(try #require(EmulatorProcess.emulator), arguments).status, 2)
  }

  @Test("a route file is shown on the map, and one that cannot be read is reported")
  func route() throws {
    let file = try directory.write(
      #"{"type":"LineString","coordinates":[[6.5,54.25],[6.75,54.5]]}"#, to: "route.geojson")
    _ = try EmulatorProcess.with(["--route", file]) { url in
      let config = try EmulatorProcess.curl("\(url)/map/config").output
      expect(config.contains(#""route":[[54.25,6.5],[54.5,6.75]]"#))
    }
    let missing = try EmulatorProcess.run(try #require(EmulatorProcess.emulator), ["--route", "/none.gpx"])
    expect(missing.status == 1 && missing.errors.contains("--route /none.gpx: "), "\(missing.errors)")
  }

  @Test(
    "token-server rejects a key file that others can read; with a private one it prints a warning and issues tokens")
  func tokenServer() throws {
    let program = try #require(EmulatorProcess.emulator)
    let file = try directory.write(Data(KeyFixture.file()), to: "key.json", mode: 0o644)
    let open = try EmulatorProcess.run(program, ["token-server", "--service-account", file, "--seconds", "1"])
    expect(open.status == 1 && open.errors.contains("chmod 600 \(file)"))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    let result = try EmulatorProcess.with(["token-server", "--service-account", file]) { url in
      expect(url.hasPrefix("http://127.0.0.1:"))
      let token = try token(url)
      let payload = try #require(Base64.decode(String(token.split(separator: ".")[1]), alphabet: .url))
      try expectEqual(JSONParser.parse(payload)["iss"]?.string, KeyFixture.email)
    }
    expectEqual(result.status, 0)
    expect(result.errors.contains("WARNING: for tests only.") && result.errors.contains(KeyFixture.email))
    expect(result.output.contains("1 tokens issued"))
  }

  @Test(
    "token-server rejects an invalid command line, such as --allow-network without --authorization",
    arguments: [
      ([], "needs --service-account"), (["--service-account", "k", "--allow-network"], "needs --authorization"),
      (["--service-account", "k", "--token-lifetime", "3601"], "from 1 to 3600"),
      (["--service-account", "k", "--vehicle-scope", "a,,b"], "expected vehicle IDs"),
      (["--service-account", "k", "--vehicle-scope", "*a"], "expected vehicle IDs"),
      (["--service-account", "k", "--authorization", ""], "--authorization is empty"),
      (["--service-account", "k", "more"], "unexpected \"more\""),
    ])
  func tokenServerMistakes(_ arguments: [String], says: String) throws {
    let result = try EmulatorProcess.run(try #require(EmulatorProcess.emulator), ["token-server"] + arguments)
    expect(result.status == 2 && result.errors.contains(says), "\(result)")
  }

  @Test("token-server listens on an address other than loopback only with --allow-network")
  func tokenServerAddress() throws {
    let program = try #require(EmulatorProcess.emulator)
    let file = try directory.write(Data(KeyFixture.file()), to: "key.json")
    let options = ["token-server", "--service-account", file, "--seconds", "1", "--address"]
    let closed = try EmulatorProcess.run(program, options + ["0.0.0.0"])
    expect(closed.status == 1 && closed.errors.contains("127.0.0.1 or ::1 only"))
    // This address is allowed, but not available: no machine has it.
    let allowed = try EmulatorProcess.run(
      program, options + ["192.0.2.1", "--allow-network", "--authorization", "Bearer trial"])
    expect(allowed.status == 1 && allowed.errors.contains("cannot listen on 192.0.2.1 port 0: "))
  }
}
