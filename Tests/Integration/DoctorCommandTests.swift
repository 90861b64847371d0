// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// `doctor` with pseudo-terminals as receivers, and with real daemons and servers.
struct DoctorCommandTests {
  private func doctor(_ bench: TestBench, user: uid_t? = nil) throws -> ChildProcess {
    try ChildProcess(
      "fleet-locationctl",
      ["doctor", "--config", try bench.writeSettings(), "--socket", bench.directory("control.sock")], user: user)
  }

  /// Waits until `doctor` exits. Returns true if its only failure is that no daemon runs.
  private func reportsOnlyMissingDaemon(_ doctor: ChildProcess) throws -> Bool {
    let code = try doctor.finish()
    return code == 1 && doctor.output.text.contains("  fail  the daemon is not running")
      && doctor.output.lines.dropLast().last?.hasSuffix(", 1 failed") == true
      && doctor.output.lines.last?.hasPrefix("Cause: the daemon is not running") == true
  }

  @Test("a receiver that no other program has open is read, and its baud rate is detected")
  func listens() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    bench.settings["source.baud"] = "\"auto\""
    let process = try doctor(bench)
    try wait(for: "it opens the device", within: .seconds(20), reading: process.sources) { receiver.isOpened }
    var drive = NMEADrive()
    var next = ContinuousClock.now
    try wait(for: "its end", within: .seconds(30), reading: process.sources) {
      if ContinuousClock.now >= next {
        receiver.send(drive.next())
        next += .milliseconds(500)
      }
      return process.hasEnded
    }
    let lines = process.output.lines
    expect(lines.contains { $0.hasPrefix("  pass  \(receiver.device) is /dev/pts/") })
    expect(lines.contains { $0.contains(" baud, detected: GGA RMC of GP (GPS)") })
    expect(lines.contains("  pass  their checksums are correct"))
    expect(lines.contains { $0.hasPrefix("  pass  a fix: 3D, gnss, 9 satellites") })
    expect(!process.output.text.contains("48.1"))
    expect(try reportsOnlyMissingDaemon(process))
  }

  @Test("a receiver that another program has open is not read, and that program is named")
  func held() throws {
    let bench = try TestBench(emulator: nil)
    let receiver = try bench.receiver()
    // The program opens the link; /proc shows the device that the link points to.
    let other = try ChildProcess("/bin/sleep", ["60"], input: receiver.device)
    let process = try doctor(bench)
    try expectEqual(process.finish(), 1)
    expect(process.output.text.contains("  fail  sleep (process \(other.processID)"))
    expect(process.output.text.contains("kill \(other.processID)"))
    expect(!receiver.isOpened, "doctor has set the other program's line to raw mode")
  }

  @Test("doctor passes a receiver that the running service is reading")
  func service() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver, environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    let process = try doctor(bench)
    try expectEqual(process.finish(), 0)
    expect(process.output.text.contains("fleet-locationd (process \(daemon.process.processID)"))
    expect(process.output.text.contains("fleet-locationctl status"))
    expect(process.output.text.contains("Service\n  pass  Fleet Engine accepted an update "))
  }

  @Test("doctor passes a vehicle that is paused by command, with a finding about the pause")
  func paused() throws {
    let bench = try TestBench()
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let state = bench.directory("state")
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
    try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path, "STATE_DIRECTORY": state])
    try bench.wait("an update") { bench.emulator?.accepted.isEmpty == false }
    let pause = try ChildProcess("fleet-locationctl", ["pause", "--socket", bench.directory("control.sock")])
    try expectEqual(pause.finish(), 0)
    let process = try doctor(bench)
    try expectEqual(process.finish(), 0)
    expect(process.output.text.contains("  pass  paused by command since 20"))
  }

  /// What is wrong while the daemon runs: what its receiver sends, or how Fleet Engine or the token provider responds.
  struct Trouble: CustomTestStringConvertible {
    let testDescription: String
    /// The bytes that the receiver repeats; nil: the receiver sends fixes.
    var noise: [UInt8]?
    /// A fault that is injected in the emulator, as JSON.
    var fault: String?
    /// Expected in the finding that fails.
    let says: String
    /// Expected in the status line before the doctor runs; nil: the same text as in the finding.
    var shows: String?

    static let all = [
      Trouble(
        testDescription: "a wrong baud rate", noise: [0xE0, 0x1C, 0xFC, 0x00, 0x9E, 0x78],
        says: "sends bytes but no complete NMEA sentence"),
      Trouble(
        testDescription: "u-blox's own protocol", noise: [0xB5, 0x62, 0x01, 0x07, 0x02, 0x00, 0x12, 0x34, 0x5E, 0xD2],
        says: "u-blox's binary protocol"),
      Trouble(
        testDescription: "no fix",
        noise: Array("$GPRMC,120000,V,,,,,,,010126,,,N*54\r\n$GPGSV,1,1,03,05,40,120,30*4B\r\n".utf8),
        says: "3 satellites in view", shows: "Waiting for a fix"),
      Trouble(testDescription: "a silent receiver", noise: [], says: "is open but silent"),
      Trouble(
        testDescription: "an unknown vehicle", fault: #"{"target": "update", "status": 404, "times": 1000}"#,
        says: "NOT_FOUND"),
      Trouble(
        testDescription: "a token that is refused", fault: #"{"target": "update", "status": 401, "times": 1000}"#,
        says: "unauthenticated"),
      Trouble(
        testDescription: "no token", fault: #"{"target": "token", "status": 403, "times": 1000}"#, says: "HTTP 403"),
    ]
  }

  @Test(
    "doctor fails and names the cause if Fleet Engine has accepted no update from the running daemon",
    arguments: Trouble.all)
  func notAccepted(_ trouble: Trouble) throws {
    let bench = try TestBench()
    // After one fix, the source must not be lost before doctor's last request.
    let receiver = try bench.receiver(silenceTimeout: trouble.noise == nil ? "60s" : "2s")
    if let fault = trouble.fault { try bench.emulator?.fault(fault) }
    let daemon = try bench.start(reading: receiver, environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    var drive = NMEADrive()
    if trouble.noise == nil { receiver.send(drive.next()) }
    try bench.wait("it is in the status") {
      if let noise = trouble.noise, !noise.isEmpty { receiver.send(noise) }
      return daemon.statuses.contains { $0.contains(trouble.shows ?? trouble.says) }
    }
    let process = try doctor(bench)
    bench.otherReadables += process.sources
    try bench.wait("its end", within: .seconds(60)) {
      if let noise = trouble.noise, !noise.isEmpty { receiver.send(noise) }
      return process.hasEnded
    }
    expectEqual(process.exitCode, 1)
    expect(
      process.output.lines.contains {
        $0.hasPrefix("  fail  Fleet Engine has accepted no update since ") && $0.contains(trouble.says)
      },
      "\(process.output.text)")
  }

  @Test("doctor reads datagrams of an allowed sender, and warns of a sender that is not allowed")
  func network() throws {
    let bench = try TestBench()
    let port = try Loopback.freePort()
    bench.settings.source("nmea-udp", ["listen": "\"0.0.0.0:\(port)\"", "allow": "[\"127.0.0.1\"]"])
    let process = try doctor(bench)
    let (router, stranger) = (try DatagramSender(to: port), try DatagramSender(to: port, from: 0x7F00_0009))
    var drive = NMEADrive()
    var next = ContinuousClock.now
    try wait(for: "its end", within: .seconds(30), reading: process.sources) {
      if ContinuousClock.now >= next {
        router.send(drive.next().replacing("\r\n", with: ""))
        stranger.send(drive.next())
        next += .milliseconds(500)
      }
      return process.hasEnded
    }
    let text = process.output.text
    expect(text.contains("  warn  127.0.0.9 sends, but is not in source.allow\n"), "\(text)")
    expect(text.contains("  pass  127.0.0.1 sends\n"))
    expect(text.contains(": GGA RMC of GP (GPS)\n"))
    expect(text.contains("  pass  a fix: 3D, gnss, 9 satellites"))
    expect(!text.contains("48.1"))
    expect(try reportsOnlyMissingDaemon(process))
  }

  @Test("doctor --json prints one object with the cause and the findings of each check, and exits with 1 if one failed")
  func json() throws {
    let bench = try TestBench()
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let process = try ChildProcess(
      "fleet-locationctl",
      ["doctor", "--json", "--config", try bench.writeSettings(), "--socket", bench.directory("control.sock")])
    try expectEqual(process.finish(), 1)
    expectEqual(process.output.lines.count, 1)
    let report = try #require(
      try JSONSerialization.jsonObject(with: Data(process.output.text.utf8)) as? [String: Any])
    expect(report["isHealthy"] as? Bool == false && report["isDaemonRunning"] as? Bool == false)
    expect(report["failed"] as? Int == 1)
    let cause = report["cause"] as? [String: String]
    expect(cause?["check"] == "service" && cause?["code"] == "daemonUnreachable")
    expectEqual((report["remark"] as? String)?.hasPrefix("Checked as user "), true)
    let checks = try #require(report["checks"] as? [[String: Any]])
    expectEqual(checks.map { $0["check"] as? String }, ["settings", "source", "token", "fleetEngine", "service"])
    let codes = checks.flatMap { ($0["findings"] as? [[String: Any]] ?? []).map { $0["code"] as? String } }
    expect(codes.contains("simulated") && codes.contains("unencrypted") && codes.contains("ok"))
  }

  @Test("each source that cannot be opened or reached is a failure with the reason, and the other checks still run")
  func missing() throws {
    let bench = try TestBench()
    let gone = bench.directory("gps0")
    expectEqual(symlink("ttyUSB7", gone), 0)
    bench.settings.sourceList = [
      ["type": "\"serial\"", "device": "\"\(gone)\""],
      ["type": "\"gpsd\"", "address": "\"localhost:\(try Loopback.freePort())\""],
      ["type": "\"nmea-tcp\"", "address": "\"localhost:\(try Loopback.freePort())\""],
      ["type": "\"nmea-tcp\"", "listen": "\"192.0.2.1:10110\"", "allow": "[\"192.0.2.2\"]"],
      ["type": "\"replay\"", "file": "\"\(bench.directory("none.nmea"))\""],
      ["type": "\"simulated\"", "route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""],
    ]
    let process = try doctor(bench)
    try expectEqual(process.finish(), 1)
    let text = process.output.text
    expect(text.contains("\(gone) is a link to ttyUSB7, which does not exist"))
    expect(text.contains("Connection refused"))
    expect(text.contains("Nothing listens there: check source.address and the sender's settings"))
    expect(text.contains("192.0.2.1:10110: Cannot assign requested address"))
    expect(text.contains("it cannot be read: No such file or directory"))
    expect(text.contains("  pass  a route of "))
    expect(text.contains(", 6 failed\n"))
  }

  @Test(
    "a device that neither this user nor the service may open is reported with the remedy", .enabled(if: geteuid() == 0)
  )
  func denied() throws {
    let bench = try TestBench(emulator: nil)
    let receiver = try bench.receiver()
    chmod(receiver.device, 0o600)
    chmod(bench.directory.path, 0o755)
    let settings = try bench.writeSettings()
    chmod(settings, 0o644)
    let process = try ChildProcess("fleet-locationctl", ["doctor", "--config", settings], user: 65_534)
    try expectEqual(process.finish(), 1)
    expect(process.output.text.contains("may not open it"))
    expect(process.output.text.contains("Run this as root"))
  }

  @Test("the token and the connection to Fleet Engine are checked, and an unreachable proxy is reported")
  func tokenAndConnection() throws {
    let bench = try TestBench()
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let good = try doctor(bench)
    expect(try reportsOnlyMissingDaemon(good))
    let port = try #require(bench.emulator?.port)
    for line in [
      "Token: from http://127.0.0.1:\(port)/token/delivery_driver/{vehicle_id}",
      "Fleet Engine: http://127.0.0.1:\(port)",
      "  pass  127.0.0.1:\(port) accepts connections",
      "  pass  it answers as Fleet Engine does to a request without a token: 401 UNAUTHENTICATED",
      "  pass  this machine's clock and Fleet Engine's Date are less than 5 s apart",
      "  pass  it accepts the token: a test update was rejected only because of its empty mask, as intended",
    ] {
      expect(good.output.lines.contains(line))
    }
    let proxy = try Loopback.freePort()
    bench.settings["fleet_engine.proxy"] = "\"http://127.0.0.1:\(proxy)\""
    let bad = try doctor(bench)
    try expectEqual(bad.finish(), 1)
    expect(bad.output.text.contains("  fail  the proxy 127.0.0.1:\(proxy): Connection refused"))
  }

  @Test("doctor fails if Fleet Engine's certificate is untrusted, or if a web page answers in its place")
  func notFleetEngine() throws {
    let bench = try TestBench()
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let front = try TLSFront(.good, before: try #require(bench.emulator?.port))
    bench.settings["fleet_engine.endpoint"] = "\"https://127.0.0.1:\(front.port)\""
    let untrusted = try doctor(bench)
    try expectEqual(untrusted.finish(), 1)
    expect(untrusted.output.text.contains("  pass  127.0.0.1:\(front.port) accepts connections\n  fail  127.0.0.1:"))
    expect(untrusted.output.text.contains("fleet_engine.ca_file is wrong"))
    bench.settings["fleet_engine.ca_file"] = "\"\(front.authority)\""
    let trusted = try doctor(bench)
    expect(try reportsOnlyMissingDaemon(trusted))
    expect(trusted.output.text.contains("the TLS connection has a certificate of an authority in"))

    let portal = try CannedServer(answer: "<html>log in</html>")
    bench.settings["fleet_engine.ca_file"] = nil
    bench.settings["fleet_engine.endpoint"] = "\"http://127.0.0.1:\(portal.port)\""
    let page = try doctor(bench)
    try wait(for: "its end", within: .seconds(20), reading: page.sources + [portal]) { page.hasEnded }
    expect(page.output.text.contains("  fail  something answered 200 that is not Fleet Engine: a web page"))
    expectEqual(page.exitCode, 1)
  }

  @Test(
    "without a network, name resolution fails, and the later steps are not tried", .enabled(if: ChildProcess.canMount))
  func noNetwork() throws {
    let bench = try TestBench(emulator: nil)
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    bench.settings["fleet_engine.endpoint"] = nil
    bench.settings["reporting.interval"] = nil
    let process = try ChildProcess(
      "/usr/bin/unshare",
      [
        "--net", "\(ChildProcess.products)/fleet-locationctl", "doctor", "--config", try bench.writeSettings(),
      ])
    try expectEqual(process.finish(within: .seconds(40)), 1)
    let lines = process.output.lines
    let title = try #require(lines.firstIndex(of: "Fleet Engine: https://fleetengine.googleapis.com"))
    expect(lines[title + 1].hasPrefix("  fail  fleetengine.googleapis.com"))
    expect(lines[title + 2].contains("Check the name servers"))
    expectEqual(lines[title + 3], "Service")
  }
}
