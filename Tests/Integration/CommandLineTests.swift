// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// The command-line arguments of the three programs.
struct CommandLineTests {
  static let programs = ["fleet-locationd", "fleet-locationctl", "fleet-engine-emulator"]

  @Test("--help and --version print to standard output and exit with 0", arguments: programs)
  func answers(program: String) throws {
    let help = try ChildProcess(program, ["--help"])
    try expectEqual(help.finish(), 0)
    expect(help.output.text.contains("Usage: \(program)"))
    expect(help.errors.text.isEmpty && help.output.lines.allSatisfy { $0.count <= 120 })
    let version = try ChildProcess(program, ["--version"])
    try expectEqual(version.finish(), 0)
    expectEqual(version.output.lines.first?.hasPrefix("\(program) "), true)
  }

  @Test(
    "invalid arguments, and files or sockets that do not exist, are reported on standard error and by the exit status",
    arguments: [
      ("fleet-locationd", ["--bogus"], 64, "--bogus"), ("fleet-locationd", ["extra"], 64, "extra"),
      ("fleet-locationd", ["-check"], 64, "long options have two dashes: did you mean --check?"),
      ("fleet-locationd", ["-config=/tmp/f.toml"], 64, "did you mean --config?"),
      ("fleet-locationd", ["-h", "-version"], 64, "did you mean --version?"),
      ("fleet-locationd", ["-cheque", "--check"], 78, "heque"),
      ("fleet-locationd", ["-c", "-check", "--check"], 78, "-check: does not exist"),
      ("fleet-locationd", ["--config", "-check", "--check"], 78, "-check: does not exist"),
      ("fleet-locationd", ["--check", "-c/nonexistent"], 78, "sudo fleet-locationctl setup writes it, and"),
      ("fleet-locationctl", ["status", "-json"], 64, "did you mean --json?"),
      ("fleet-locationctl", ["status", "--bogus"], 64, "Try \"fleet-locationctl help status\"."),
      ("fleet-locationctl", ["bogus"], 64, "Try \"fleet-locationctl --help\"."),
      ("fleet-locationd", ["--config"], 64, "--config"), ("fleet-locationctl", ["--bogus"], 64, "--bogus"),
      ("fleet-locationctl", ["restart"], 64, "did you mean systemctl restart fleet-locationd?"),
      ("fleet-locationctl", ["logs"], 64, "did you mean journalctl -u fleet-locationd -e?"),
      ("fleet-locationctl", ["validate"], 64, "did you mean check?"),
      ("fleet-locationctl", ["--instance", "van", "status"], 64, "come after its name"),
      ("fleet-locationctl", ["status", "van"], 64, "did you mean --instance van?"),
      ("fleet-locationd", ["status"], 64, "commands are those of fleet-locationctl"),
      ("fleet-locationctl", [], 64, "command"),
      ("fleet-locationctl", ["fixes", "/nonexistent"], 66, "/nonexistent"),
      ("fleet-locationctl", ["doctor", "extra"], 64, "extra"),
      ("fleet-locationctl", ["configure"], 64, "did you mean setup?"),
      (
        "fleet-locationctl", ["setup", "--dry-run", "--vehicle", "v"], 64,
        "missing: --service, --provider, --token-url, --credential-file (or --no-credential)"
      ),
      ("fleet-locationctl", ["setup", "--dry-run", "--service", "taxi"], 64, "deliveries"),
      ("fleet-locationctl", ["simulate", "x.gpx", "--pace", "0.0000000000000000000001"], 64, "0.001 to 1000, or 0"),
      ("fleet-locationctl", ["setup", "--dry-run", "--wait", "-1"], 64, "--wait -1"),
      ("fleet-locationctl", ["doctor", "--user", "nobody-here"], 64, "nobody-here"),
      ("fleet-locationctl", ["status", "--instance", "a/b"], 64, "fleet-locationd@NAME"),
      ("fleet-locationctl", ["pause", "--instance", "van", "--socket", "s"], 64, "cannot be combined"),
      ("fleet-locationctl", ["doctor", "--instance", "van", "--config", "c"], 64, "cannot be combined"),
      ("fleet-locationctl", ["reload", "--instance", "van-9"], 69, "/run/fleet-locationd-van-9/control.sock"),
      ("fleet-locationctl", ["metrics", "--instance", "van-9"], 69, "systemctl status fleet-locationd@van-9"),
      ("fleet-locationctl", ["check", "--instance", "van-9"], 78, "/etc/fleet-locationd/van-9.toml"),
      ("fleet-engine-emulator", ["--bogus"], 2, "--bogus"),
      ("fleet-engine-emulator", ["extra"], 2, "only options are allowed"),
      ("fleet-engine-emulator", ["--port", "99999"], 2, "--port 99999"),
      ("fleet-engine-emulator", ["--address", "192.0.2.1"], 1, "192.0.2.1"),
    ])
  func mistakes(program: String, arguments: [String], status: Int32, says: String) throws {
    let process = try ChildProcess(program, arguments)
    try expectEqual(process.finish(), status)
    expect(process.errors.text.contains(says))
    expect(process.output.text.isEmpty)
  }

  @Test(
    "a command without the permission that it needs says so and exits with 77",
    .enabled(if: geteuid() == 0, "needs root, to drop privileges"),
    arguments: ["status", "explain", "metrics", "pause", "resume", "reload", "check", "doctor", "token"])
  func withoutPermission(command: String) throws {
    let bench = try TestBench(emulator: nil)
    let settings = try bench.writeSettings()
    expect(chmod(settings, 0o600) == 0 && chmod(bench.directory.path, 0o700) == 0)
    let place =
      ["check", "doctor", "token"].contains(command)
      ? ["--config", settings] : ["--socket", bench.directory("control.sock")]
    let process = try ChildProcess("fleet-locationctl", [command] + place, user: 65_534)
    try expectEqual(process.finish(), 77)
    expect(process.errors.text.contains("permission denied") && process.errors.text.contains("root"))
    expect(process.output.text.isEmpty)
  }

  @Test(
    "--check without read permission says so and exits with 77",
    .enabled(if: geteuid() == 0, "needs root, to drop privileges"),
    arguments: ["settings", "conf.d", "secret", "box.pem"])
  func checkWithoutReadPermission(closed: String) throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    let secret = try bench.directory.write("s3cret", to: "secret")
    bench.settings["token.headers"] = "{ Authorization = { file = \"\(secret)\" } }"
    let pem = try bench.directory.write("-----BEGIN CERTIFICATE-----\n", to: "box.pem")
    bench.settings["fleet_engine.ca_file"] = "\"\(pem)\""
    let settings = try bench.writeSettings()
    expectEqual(mkdir(bench.directory("conf.d"), 0o755), 0)
    let drop = try bench.directory.write("[log]\nlevel = \"info\"\n", to: "conf.d/log.toml")
    expectEqual(chmod(bench.directory.path, 0o755), 0)
    for (name, path) in [("settings", settings), ("conf.d", drop), ("secret", secret), ("box.pem", pem)] {
      expectEqual(chmod(path, name == closed ? 0o600 : 0o644), 0)
    }
    let process = try ChildProcess("fleet-locationd", ["--check", "--config", settings], user: 65_534)
    try expectEqual(process.finish(), 77)
    expect(process.errors.text.lowercased().contains("permission denied") && process.errors.text.contains("root"))
    expect(process.output.text.isEmpty)
  }

  @Test("--example-settings prints the commented example file from config/")
  func example() throws {
    let printed = try ChildProcess("fleet-locationd", ["--example-settings"])
    try expectEqual(printed.finish(), 0)
    try expectEqual(
      printed.output.text, String(contentsOfFile: "\(ChildProcess.root)/config/fleet-locationd.toml", encoding: .utf8))
    expect(printed.errors.text.isEmpty)
  }

  @Test("--check reports that settings are valid, a credential that it could not check, and mistakes")
  func check() throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    let path = try bench.writeSettings()
    let good = try ChildProcess("fleet-locationd", ["--check", "--config", path])
    try expectEqual(good.finish(), 0)
    expectEqual(good.output.text, "\(path): valid\n")
    expect(good.errors.text.contains("not as the service: no installed service reads \(path)"))
    bench.settings["token.headers"] = "{ Authorization = { credential = \"token-provider\" } }"
    try bench.writeSettings()
    let beside = try ChildProcess("fleet-locationd", ["--check", "--config", path])
    try expectEqual(beside.finish(), 0)
    expectEqual(beside.output.text, "\(path): valid\n")
    expect(
      beside.errors.text.hasPrefix(
        "the credential was not checked, because only the service gets it (to check it: sudo "))
    expect(beside.errors.text.contains("credential token-provider") && beside.errors.text.contains("was not checked"))
    bench.settings["vehicle.vehicle_id"] = "\"truck/17\""
    try bench.writeSettings()
    let bad = try ChildProcess("fleet-locationd", ["--check", "--config", path])
    try expectEqual(bad.finish(), 78)
    expect(bad.errors.text.contains("\(path):") && bad.errors.text.contains("vehicle.vehicle_id"))
    expect(bad.output.text.isEmpty)
  }

  @Test("setup --dry-run prints the files without the credential, and changes nothing")
  func setup() throws {
    let directory = try TemporaryDirectory()
    let credential = try directory.write("Bearer hush-hush\n", to: "credential")
    let options = [
      "--instance", "dry-run-test", "--source", "/dev/ttyUSB0", "--service", "deliveries", "--provider", "p",
      "--vehicle", "v",
      "--token-url", "https://tokens.example.com/{vehicle_id}", "--credential-file",
    ]
    for (file, input) in [(credential, "/dev/null"), ("-", credential)] {
      let process = try ChildProcess("fleet-locationctl", ["setup", "--dry-run"] + options + [file], input: input)
      try expectEqual(process.finish(), 0)
      let text = process.output.text
      expect(text.hasPrefix("# /etc/fleet-locationd/dry-run-test.token-provider"), "\(text)")
      expect(text.contains(", mode 0600, new\n(secret)\n"))
      expect(
        text.contains("# /etc/systemd/system/fleet-locationd@dry-run-test.service.d/credential.conf, mode 0644, new\n"))
      expect(
        text.contains("# /etc/fleet-locationd/dry-run-test.toml, mode 0644, new\n") && text.contains("baud = \"auto\""))
      expect(!(text + process.errors.text).contains("hush"))
    }
    try directory.write("Bearer hush\nhush\n", to: "credential")
    let bad = try ChildProcess("fleet-locationctl", ["setup", "--dry-run"] + options + [credential])
    try expectEqual(bad.finish(), 64)
    expect(
      bad.errors.text.contains("\(credential): the credential has characters") && !bad.errors.text.contains("hush"))
    expect(!FileManager.default.fileExists(atPath: "/etc/fleet-locationd/dry-run-test.toml"))
  }

  @Test(
    "messages never repeat what may be a secret, and abbreviated options are rejected",
    arguments: [
      (["setup", "--dry-run", "Bearer hush"], 64, "unexpected"),
      (["setup", "--dry-run", "--credential", "Bearer hush"], 64, "\"--credential\"; did you mean --credential-file?"),
      (["setup", "--dry-run", "--credential=Bearer hush"], 64, "\"--credential\"; did you mean --credential-file?"),
      (["setup", "--no-credential=hush"], 64, "--no-credential takes no value"),
      (["token", "--reveal=hush"], 64, "--reveal takes no value"),
      (["token", "--password=hush"], 64, "\"--password\""),
      (
        [
          "setup", "--dry-run", "--source", "gpsd", "--service", "trips", "--provider", "p", "--vehicle", "v",
          "--token-url", "https://t.example.com/{vehicle_id}", "--credential-file", "Bearer hush",
        ], 66, "not the credential"
      ),
      (["status", "--js"], 64, "\"--js\""), (["status", "--socket"], 64, "--socket wants a value"),
      (["status", "-xhush"], 64, "\"-x\""),
    ] as [([String], Int32, String)])
  func secrets(arguments: [String], status: Int32, says: String) throws {
    let process = try ChildProcess("fleet-locationctl", arguments)
    try expectEqual(process.finish(), status)
    expect(process.errors.text.contains(says), "\(process.errors.text)")
    expect(!(process.errors.text + process.output.text).contains("hush"))
  }

  @Test("options are parsed as by getopt_long: --key=value, --key value, -kvalue, and after operands")
  func forms() throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    let path = try bench.writeSettings()
    for arguments in [["--check", "--config=\(path)"], ["--config", path, "--check"], ["-c\(path)", "--check"]] {
      let process = try ChildProcess("fleet-locationd", arguments)
      try expectEqual(process.finish(), 0)
      expectEqual(process.output.text, "\(path): valid\n")
    }
    for arguments in [["fixes", "/nonexistent", "--verdict"], ["fixes", "--", "/nonexistent"]] {
      let process = try ChildProcess("fleet-locationctl", arguments)
      try expectEqual(process.finish(), 66)
    }
    let dashes = try ChildProcess("fleet-locationctl", ["fixes", "--", "--verdict"])
    try expectEqual(dashes.finish(), 66)
    expect(dashes.errors.text.contains("--verdict: no such file"))
  }

  @Test(
    "a word that may be the name of an instance is refused: without the option the request would go to another vehicle",
    arguments: [
      ["status"], ["explain"], ["metrics"], ["monitor"], ["reload"], ["reload", "--confirm", "10min"], ["pause"],
      ["resume"], ["offline"], ["online"],
    ])
  func instanceAsOperand(command: [String]) throws {
    let process = try ChildProcess("fleet-locationctl", command + ["--socket", "/nonexistent/control.sock", "van"])
    try expectEqual(process.finish(), 64)
    expect(process.errors.text.contains("\(command[0]): unexpected \"van\"; did you mean --instance van?"))
  }

  /// Runs a command of `fleet-locationctl` in a shell: `$0` is the program, `$1` a socket at which nothing listens.
  private func shell(_ command: String) throws -> ChildProcess {
    try ChildProcess(
      "/bin/sh", ["-c", command, "\(ChildProcess.products)/fleet-locationctl", "/nonexistent/control.sock"])
  }

  @Test("monitor ends when the reader of its pipe closes it, also while there is nothing to print")
  func unreadMonitor() throws {
    let absent = try shell("\"$0\" monitor --socket \"$1\" | head -n 1")
    try expectEqual(absent.finish(), 0)
    expect(absent.output.text.contains("the daemon is not running"))
    let bench = try TestBench()
    _ = try bench.receiver()
    try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    let socket = bench.directory("control.sock")
    // Without a position there is nothing to print after the state.
    let silent = try shell("\"$0\" monitor --socket '\(socket)' | head -n 1")
    try expectEqual(silent.finish(), 0)
    expectEqual(silent.output.lines.count, 1)
  }

  @Test("doctor reports that its result cannot be written")
  func fullDisk() throws {
    for options in ["", "--json"] {
      let process = try shell("\"$0\" doctor \(options) --socket \"$1\" --config /nonexistent/a.toml >/dev/full")
      try expectEqual(process.finish(), 74)
      expect(process.errors.text.contains("cannot write to standard output: No space left on device"))
    }
  }

  @Test("the main service is not addressed as an instance, of which it has none")
  func mainAsInstance() throws {
    let process = try ChildProcess("fleet-locationctl", ["status", "--instance", "fleet-locationd"])
    try expectEqual(process.finish(), 64)
    expect(process.errors.text.contains("this is the main service; leave the option out"))
  }

  @Test("setup requires root", .enabled(if: geteuid() == 0, "needs root, to drop privileges"))
  func setupWithoutRoot() throws {
    let process = try ChildProcess("fleet-locationctl", ["setup"], user: 65_534)
    try expectEqual(process.finish(), 77)
    expect(process.errors.text.contains("permission denied") && process.errors.text.contains("root"))
  }

  @Test("fixes prints the fixes of a recording as JSON Lines")
  func fixes() throws {
    let directory = try TemporaryDirectory()
    var drive = NMEADrive()
    let path = try directory.write(drive.next(3), to: "drive.nmea")
    let process = try ChildProcess("fleet-locationctl", ["fixes", path])
    try expectEqual(process.finish(), 0)
    expectEqual(process.output.lines.count, 3)
    expect(process.output.lines.allSatisfy { $0.hasPrefix("{\"time\":") })
  }

  @Test(
    "fixes --verdict prints the filter's verdict on each fix of any kind of recording, and a summary on standard error",
    arguments: [
      ("drive.nmea", "accepted"), ("drive.json", "accepted"), ("drive.gpx", "accepted"), ("plan.gpx", "noTime"),
    ])
  func verdict(name: String, verdict: String) throws {
    let directory = try TemporaryDirectory()
    var drive = NMEADrive()
    let seconds = 10...12
    let text =
      switch name {
      case "drive.nmea": drive.next(3)
      case "drive.json":
        seconds.map {
          #"{"class":"TPV","mode":3,"time":"2026-11-21T08:30:\#($0).000Z","lat":52.5,"lon":13.4,"eph":9.8}"# + "\n"
        }.joined()
      default:
        "<gpx><trk><trkseg>"
          + seconds.map { second in
            let time = verdict == "accepted" ? "<time>2026-11-21T08:30:\(second)Z</time>" : ""
            return #"<trkpt lat="52.5" lon="13.4"><ele>34</ele>\#(time)</trkpt>"#
          }.joined() + "</trkseg></trk></gpx>"
      }
    let path = try directory.write(text, to: name)
    let process = try ChildProcess("fleet-locationctl", ["fixes", "--verdict", path])
    try expectEqual(process.finish(), 0)
    expectEqual(process.output.lines.count, 3)
    expect(
      process.output.lines.allSatisfy {
        $0.hasPrefix("{\"time\":") && $0.contains("\"assumedAccuracy\":") && $0.contains("\"verdict\":\"\(verdict)\"")
      })
    expect(process.errors.text.contains("\(path): 3 fixes, "))
    expect(
      process.errors.text.contains("\(verdict == "accepted" ? "accepted" : "rejected")                 3  100.00 %"))
  }

  @Test("fixes --map writes a map in addition to the printed lines")
  func map() throws {
    let directory = try TemporaryDirectory()
    var drive = NMEADrive()
    let path = try directory.write(drive.next(3), to: "drive.nmea")
    let picture = directory("drive.svg")
    let process = try ChildProcess("fleet-locationctl", ["fixes", "--map", picture, path])
    try expectEqual(process.finish(), 0)
    expect(process.output.lines.count == 3 && process.output.lines.allSatisfy { $0.contains("\"verdict\":") })
    let text = try String(contentsOfFile: picture, encoding: .utf8)
    expect(text.hasPrefix("<svg ") && text.hasSuffix("</svg>\n") && text.contains("drive.nmea"))
    let nowhere = try ChildProcess("fleet-locationctl", ["fixes", "--map", directory("none/drive.svg"), path])
    try expectEqual(nowhere.finish(), 74)
    expect(nowhere.errors.text.contains("none/drive.svg: cannot be written"))
  }

  @Test("fixes --map replaces neither a device nor the recording, and writes through a link")
  func mapOfOtherKind() throws {
    let directory = try TemporaryDirectory()
    var drive = NMEADrive()
    let recording = drive.next(3)
    let path = try directory.write(recording, to: "drive.nmea")
    let (pipe, link, target) = (directory("pipe"), directory("link.svg"), try directory.write("", to: "target.svg"))
    expectEqual(mkfifo(pipe, 0o600), 0)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    for (picture, says) in [(pipe, "is a FIFO"), (path, "is the recording")] {
      let process = try ChildProcess("fleet-locationctl", ["fixes", "--map", picture, path])
      try expectEqual(process.finish(), 64)
      expect(process.errors.text.contains("--map \(picture): \(says)"), "\(process.errors.text)")
    }
    try expectEqual(String(contentsOfFile: path, encoding: .utf8), recording)
    try expectEqual(ChildProcess("fleet-locationctl", ["fixes", "--map", link, path]).finish(), 0)
    try expectEqual(FileManager.default.destinationOfSymbolicLink(atPath: link), target)
    try expect(String(contentsOfFile: target, encoding: .utf8).hasPrefix("<svg "))
  }

  @Test("fixes --verdict uses the filter limits of the given settings")
  func verdictLimits() throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    bench.settings["filter.max_accuracy"] = "\"1 m\""
    // A file that other sections name may be missing, or be readable only for the service.
    bench.settings["fleet_engine.ca_file"] = "\"/nonexistent/ca.pem\""
    let settings = try bench.writeSettings()
    let directory = try TemporaryDirectory()
    var drive = NMEADrive()
    let path = try directory.write(drive.next(3), to: "drive.nmea")
    let process = try ChildProcess("fleet-locationctl", ["fixes", "--verdict", "--config", settings, path])
    try expectEqual(process.finish(), 0)
    expect(process.output.lines.allSatisfy { $0.contains("\"verdict\":\"inaccurate\"") })
  }
}
