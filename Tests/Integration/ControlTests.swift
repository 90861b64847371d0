// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// `fleet-locationctl`, and the control socket of a running daemon.
struct ControlTests {
  private func ask(_ bench: TestBench, _ arguments: String...) throws -> ChildProcess {
    let process = try ChildProcess(
      "fleet-locationctl", arguments + ["--socket", bench.directory("control.sock")])
    _ = try process.finish()
    return process
  }

  /// The paths of the keys of a response, as docs/status.md writes them.
  private static func keys(_ value: Any, _ path: String = "") -> Set<String> {
    if let object = value as? [String: Any], !["counters", "backlog.removed"].contains(path) {
      return object.reduce(into: []) { $0.formUnion(keys($1.value, path.isEmpty ? $1.key : "\(path).\($1.key)")) }
    }
    if let list = value as? [[String: Any]] { return list.reduce(into: []) { $0.formUnion(keys($1, "\(path)[]")) } }
    return [path]
  }

  @Test("status and explain report an accepted update, and docs/status.md lists all keys of status --json")
  func online() throws {
    let bench = try TestBench()
    let fifo = bench.directory("fifo")
    expectEqual(mkfifo(fifo, 0o600), 0)
    bench.settings.source("replay", ["file": "\"\(fifo)\"", "pace": "0"])
    try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    let writer = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    defer { close(writer) }
    var drive = NMEADrive()
    let text = drive.next(3)
    expectEqual(write(writer, text, text.utf8.count), text.utf8.count)
    try bench.wait("two updates") { bench.emulator?.accepted.count == 2 }
    let status = try ask(bench, "status")
    expectEqual(status.exitCode, 0)
    expect(status.output.lines.contains { $0.hasPrefix("State") && $0.hasSuffix("online") })
    expect(status.output.lines.contains { $0.contains("2 of 2 updates accepted") })
    let healthy = try ask(bench, "status", "--healthy")
    expectEqual(healthy.exitCode, 0)
    expect(
      healthy.output.lines.count == 1 && healthy.output.text.hasPrefix("healthy: Fleet Engine accepted an update "))
    try expectEqual(ask(bench, "status", "--healthy", "--json").exitCode, 64)
    expect(try ask(bench, "explain").output.text.contains("was accepted by Fleet Engine"))
    let json = try JSONSerialization.jsonObject(with: Data(try ask(bench, "status", "--json").output.text.utf8))
    let answer = try #require(json as? [String: Any])
    expect(answer["isOnline"] as? Bool == true)
    expect(answer["vehicle"] as? String == TestBench.vehicle)
    // docs/status.md lists every key; the keys of counts and reasons vary.
    let page = try String(contentsOfFile: "\(ChildProcess.root)/docs/status.md", encoding: .utf8)
    let keys = Self.keys(answer)
    expect(
      keys.count > 30 && keys.allSatisfy { page.contains("`\($0)`") },
      "not in docs/status.md: \(keys.filter { !page.contains("`\($0)`") })")
    expect((answer["lastOutcome"] as? [String: Any])?["result"] as? String == "accepted")
    let traffic = answer["traffic"] as? [String: [String: Any]]
    expect(traffic?["today"]?["updates"] as? Int == 2 && traffic?["month"]?["updates"] as? Int == 2)
    expectEqual((traffic?["today"]?["sent"] as? Int).map { $0 > 1500 }, true)
    expectEqual((answer["events"] as? [[String: Any]])?.contains { $0["name"] as? String == "firstFix" }, true)
    expect(status.output.lines.contains { $0.hasPrefix("Vehicle") && $0.contains("\(TestBench.vehicle), ") })
  }

  @Test("status --watch into a pipe prints one response after another, and continues after the daemon has exited")
  func stream() throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    // A drop-in of the unit has added a directory.
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": "\(bench.directory.path):/run/other"])
    try bench.wait("it is ready") { daemon.notifications.states.contains("READY") }
    let watch = try ChildProcess(
      "fleet-locationctl", ["status", "--watch", "0.1", "--json", "--socket", bench.directory("control.sock")])
    bench.otherReadables += watch.sources
    try bench.wait("three answers") { watch.output.lines.count >= 3 }
    // The tool does not exit when the daemon does: it continues, and reports that the daemon is not running.
    daemon.process.signal(SIGTERM)
    try bench.wait("no response any more") { watch.output.lines.contains { $0.contains("the daemon is not running") } }
    expect(!watch.hasEnded)
    watch.signal(SIGTERM)
    try bench.wait("it ends") { watch.hasEnded }
    try expectEqual(ask(bench, "status", "--watch", "soon").exitCode, 64)
    try expectEqual(ask(bench, "status", "5").exitCode, 64)
  }

  @Test("explain says why the filter rejected a fix")
  func refused() throws {
    let bench = try TestBench()
    bench.settings["filter.min_satellites"] = "40"
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    try bench.wait("a refusal") { daemon.shows("Waiting for a fix") }
    let explain = try ask(bench, "explain")
    expectEqual(explain.exitCode, 0)
    expect(explain.output.text.contains("fewer satellites than filter.min_satellites"))
    try expectEqual(ask(bench, "status").exitCode, 1)
    let healthy = try ask(bench, "status", "--healthy")
    expectEqual(healthy.exitCode, 1)
    expect(healthy.output.text.hasPrefix("not healthy: Fleet Engine has accepted no update since the daemon started "))
  }

  @Test("reload applies new settings; settings with mistakes are reported and change nothing")
  func reload() throws {
    let bench = try TestBench()
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    try bench.wait("an update") { daemon.shows("Online") }
    bench.settings["vehicle.vehicle_id"] = "\"truck/18\""
    try bench.writeSettings()
    let refused = try ask(bench, "reload")
    expectEqual(refused.exitCode, 78)
    expect(refused.errors.text.contains("vehicle.vehicle_id"))
    try expectEqual(ask(bench, "status").exitCode, 0)
    bench.settings["vehicle.vehicle_id"] = "\"truck-18\""
    try bench.writeSettings()
    try expectEqual(ask(bench, "reload").exitCode, 0)
    try bench.wait("the new vehicle") { bench.emulator?.accepted.contains { $0.path.contains("truck-18") } == true }
  }

  @Test("SIGHUP recreates a control socket that was deleted or replaced", arguments: [false, true])
  func deletedSocket(isReplaced: Bool) throws {
    let bench = try TestBench()
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    let path = bench.directory("control.sock")
    func inode() -> ino_t? {
      var status = stat()
      return stat(path, &status) == 0 ? status.st_ino : nil
    }
    try bench.wait("the socket") { inode() != nil }
    let first = inode()
    // A reload does not touch a socket that works.
    try expectEqual(ask(bench, "reload").exitCode, 0)
    expectEqual(inode(), first)
    expectEqual(unlink(path), 0)
    if isReplaced { try Data().write(to: URL(fileURLWithPath: path)) }
    try expectEqual(ask(bench, "status").exitCode, 69)
    daemon.process.signal(SIGHUP)
    try bench.wait("the new socket") {
      (try? ask(bench, "status").exitCode) == 0
    }
    daemon.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(), 0)
    expectNil(inode())
  }

  @Test("a control socket that could not be made at the start is made when that is possible; the cause is logged once")
  func laterSocket() throws {
    let bench = try TestBench()
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let path = bench.directory("control.sock")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let daemon = try bench.start(environment: [
      "RUNTIME_DIRECTORY": bench.directory.path, "WATCHDOG_USEC": "200000",
    ])
    // The daemon tries again with each notification of the watchdog.
    try bench.wait("several attempts") { daemon.notifications.count(of: "WATCHDOG") >= 5 }
    expectEqual(daemon.log.count { $0.contains("the socket cannot be made") }, 1)
    expectEqual(rmdir(path), 0)
    try bench.wait("the socket") { (try? ask(bench, "status").exitCode) == 0 }
  }

  @Test("during a pause nothing is sent, even after SIGKILL and a restart; after resume, an update is sent at once")
  func pause() throws {
    let bench = try TestBench()
    let state = bench.directory("state")
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
    let environment = ["RUNTIME_DIRECTORY": bench.directory.path, "STATE_DIRECTORY": state]
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    bench.settings["reporting.interval"] = "\"1s\""
    var daemon = try bench.start(environment: environment)
    try bench.wait("an update") { daemon.shows("Online") }
    let paused = try ask(bench, "pause")
    expectEqual(paused.exitCode, 0)
    expect(paused.errors.text.isEmpty)
    // An update in flight when the pause began may arrive.
    try bench.emulator?.settle()
    let before = bench.emulator?.accepted.count
    expect(try ask(bench, "explain").output.text.contains("A pause is in force since 20"))
    let status = try ask(bench, "status")
    expectEqual(status.exitCode, 1)
    expect(status.output.lines.contains { $0.hasPrefix("State") && $0.contains("paused since 20") })
    expect(
      try ask(bench, "metrics").output.text.contains(/\nfleet_locationd_paused{provider="[^"]+",vehicle="[^"]+"} 1\n/))
    daemon.process.signal(SIGKILL)
    try expectEqual(bench.exitCode(), 128 + SIGKILL)
    daemon = try bench.start(environment: environment)
    try bench.wait("it is paused again") { daemon.shows("Paused since 20") }
    try bench.wait("a fix") { daemon.logs("First fix") }
    let end = ContinuousClock.now + .seconds(3)
    try bench.wait("three seconds", within: .seconds(20)) { ContinuousClock.now >= end }
    expectEqual(bench.emulator?.accepted.count, before)
    expect(daemon.logs("Still paused since"))
    try expectEqual(ask(bench, "resume").exitCode, 0)
    try bench.wait("an update", within: .seconds(10)) { bench.emulator?.accepted.count ?? 0 > before ?? 0 }
    try expectEqual(FileManager.default.contentsOfDirectory(atPath: state).contains("paused"), false)
  }

  @Test("a pause without a state directory warns that a restart will end it")
  func pauseInMemory() throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    try bench.wait("it is ready") { daemon.notifications.states.contains("READY") }
    let paused = try ask(bench, "pause")
    expectEqual(paused.exitCode, 0)
    expect(paused.errors.text.contains("will not survive a restart"))
    expect(try ask(bench, "resume").errors.text.isEmpty)
  }

  @Test(
    "with a read-only state directory, a pause is not kept and the driver is told; resume warns of nothing",
    .enabled(if: ChildProcess.canMount))
  func readOnlyState() throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    let (state, notifications) = (bench.directory("state"), try NotifySocket(path: bench.directory("notify")))
    mkdir(state, 0o700)
    let process = try ChildProcess(
      "/usr/bin/unshare",
      [
        "--mount", "sh", "-c", "mount -t tmpfs -o ro none \"$1\" && exec \"$2\" --config \"$3\"", "sh", state,
        "\(ChildProcess.products)/fleet-locationd", try bench.writeSettings(),
      ],
      environment: [
        "STATE_DIRECTORY": state, "RUNTIME_DIRECTORY": bench.directory.path, "NOTIFY_SOCKET": notifications.path,
      ])
    bench.otherReadables = process.sources + [notifications]
    try bench.wait("it is ready") { notifications.states.contains("READY") }
    expect(try ask(bench, "resume").errors.text.isEmpty)
    expect(try ask(bench, "pause").errors.text.contains("will not survive a restart"))
    expect(try ask(bench, "resume").errors.text.isEmpty)
    process.signal(SIGTERM)
    try bench.wait("the end") { process.hasEnded }
  }

  @Test("the metrics file is world-readable, and is written when the vehicle goes online and when the daemon stops")
  func textfile() throws {
    let bench = try TestBench()
    let path = bench.directory("fleet_locationd.prom")
    bench.settings["metrics.textfile"] = "\"\(path)\""
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let daemon = try bench.start()
    try bench.wait("an update") { daemon.shows("Online") }
    // The file is written when the vehicle goes online, not only a minute later.
    try bench.wait("metrics of a vehicle that is online") {
      (try? String(contentsOfFile: path, encoding: .utf8))?.contains(/\nfleet_locationd_online{[^}]+} 1\n/) ?? false
    }
    expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o644)
    daemon.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(), 0)
    let last = try String(contentsOfFile: path, encoding: .utf8)
    expect(last.contains(/\nfleet_locationd_online{[^}]+} 0\n/))
    expect(!last.contains(/\nfleet_locationd_updates_accepted_total{[^}]+} 0\n/))
    expect(!last.contains(/\nfleet_locationd_sent_bytes_total{[^}]+peer="fleet_engine"} 0\n/))
  }

  @Test(
    "check prints exactly what the daemon's own --check prints",
    arguments: ["\"truck-1\"", "\"truck/1\"", "7"])
  func check(vehicle: String) throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    bench.settings["vehicle.vehicle_id"] = vehicle
    let path = try bench.writeSettings()
    let own = try ChildProcess("fleet-locationd", ["--check", "--config", path])
    _ = try own.finish()
    let tool = try ChildProcess("fleet-locationctl", ["check", "--config", path])
    _ = try tool.finish()
    expectEqual(tool.exitCode, own.exitCode)
    expectEqual(tool.exitCode, (vehicle == "\"truck-1\"" ? 0 : 78))
    expectEqual(tool.output.text, own.output.text)
    expectEqual(tool.errors.text, own.errors.text)
  }

  @Test("if no daemon runs, the tool says so, and how to find the cause")
  func absent() throws {
    let bench = try TestBench(emulator: nil)
    let status = try ask(bench, "status")
    expectEqual(status.exitCode, 69)
    expect(status.errors.text.contains("the daemon is not running"))
    expect(status.errors.text.contains("systemctl status fleet-locationd"))
  }

  @Test(
    "a request that is not JSON, or is too long, does not affect the daemon",
    arguments: ["x", String(repeating: "x", count: 10_000)])
  func nonsense(question: String) throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    try bench.wait("it is ready") { daemon.notifications.states.contains("READY") }
    let path = bench.directory("control.sock")
    let python = try ChildProcess(
      "/usr/bin/python3",
      [
        "-c",
        """
        import socket, sys
        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
        try:
            s.sendall(sys.argv[2].encode() + b"\\n"); print(s.recv(4096))
        except ConnectionError:
            print("closed")
        """, path, question,
      ])
    try expectEqual(python.finish(), 0)
    expect(
      python.output.text.contains("expected") || python.output.text.contains("closed") || python.output.text == "b''\n")
    try expectEqual(ask(bench, "status").exitCode, 1)
  }

  /// Imitates the control socket of a release before Varlink: it reads one line, forwards the line to another socket,
  /// and sends back one response. It prints each command that it receives; `no line` or `no end` for other data.
  private static let earlierDaemon = """
    import json, socket, sys
    server = socket.socket(socket.AF_UNIX); server.bind(sys.argv[1]); server.listen()
    print("listens", flush=True)
    while True:
        client, _ = server.accept()
        client.settimeout(2)
        text = b""
        try:
            while b"\\n" not in text and (data := client.recv(1024)): text += data
        except TimeoutError: pass
        line, end, _ = text.partition(b"\\n")
        if end:
            try:
                print(json.loads(line)["command"], flush=True)
                daemon = socket.socket(socket.AF_UNIX); daemon.connect(sys.argv[2]); daemon.sendall(line + end)
                while data := daemon.recv(65536): client.sendall(data)
            except ValueError:
                print("no line", flush=True)
                client.sendall(b'{"error":"expected a command"}\\n')
        else: print("no end", flush=True)
        client.close()
    """

  @Test(
    "during an upgrade, the tool works with the previous release's daemon, and the previous tool with this daemon")
  func earlierRelease() throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    try bench.wait("it is ready") { daemon.notifications.states.contains("READY") }
    let path = bench.directory("earlier.sock")
    let earlier = try ChildProcess(
      "/usr/bin/python3", ["-c", ControlTests.earlierDaemon, path, bench.directory("control.sock")])
    defer { earlier.signal(SIGKILL) }
    bench.otherReadables += earlier.sources
    try bench.wait("it listens") { earlier.output.lines.contains("listens") }
    func run(_ command: String...) throws -> (status: Int32?, output: String, errors: String) {
      let tool = try ChildProcess("fleet-locationctl", command + ["--socket", path])
      _ = try tool.finish()
      return (tool.exitCode, tool.output.text, tool.errors.text)
    }
    expect(try run("status", "--json").output.contains("\"vehicle\":\"truck-17\""))
    expect(try run("metrics").output.contains("fleet_locationd_online{"))
    let paused = try run("pause")
    expect(paused.status == 0 && paused.errors.contains("will not survive a restart"))
    try expectEqual(run("resume").status, 0)
    expect(try run("offline").errors.contains("has no ONLINE and OFFLINE"))
    try expectEqual(run("reload").status, 0)
    bench.settings["vehicle.vehicle_id"] = "\"truck/18\""
    try bench.writeSettings()
    let refused = try run("reload")
    expect(refused.status == 78 && refused.errors.contains("vehicle.vehicle_id"))
    let expected = ["status", "metrics", "pause", "resume", "offline", "reload", "reload"].flatMap { ["no line", $0] }
    try bench.wait("the lines") { Array(earlier.output.lines.dropFirst()) == expected }
  }

  /// A program that opens connections to the control socket and prints `held`; once a file exists it prints `closed`
  /// with how many the daemon has closed by then, and when it has closed them all, or after a while, `ended`. Its
  /// arguments are the socket, the maximum number of seconds to wait, the number of connections, and the file.
  private static let holder = """
    import os, resource, select, socket, sys, time
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    held = []
    for number in range(int(sys.argv[3])):
        s = socket.socket(socket.AF_UNIX); s.setblocking(False)
        for attempt in range(200):
            try: s.connect(sys.argv[1]); break
            except BlockingIOError: time.sleep(0.01)
        held.append(s)
    print("held", flush=True)
    def closed(timeout):
        for s in select.select(held, [], [], timeout)[0]:
            try: isOpen = s.recv(1) != b""
            except OSError: isOpen = False
            if not isOpen: held.remove(s)
        return int(sys.argv[3]) - len(held)
    while not os.path.exists(sys.argv[4]): time.sleep(0.01)
    print("closed", closed(0), flush=True)
    end = time.monotonic() + float(sys.argv[2])
    while held and time.monotonic() < end: closed(0.1)
    print("ended", closed(0), flush=True)
    """

  @Test("of idle connections a user has four, which are closed after a few seconds; other clients are not blocked")
  func idleConnections() throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    try bench.wait("it runs") { daemon.notifications.count(of: "READY") == 1 }
    let socket = bench.directory("control.sock")
    let answered = bench.directory("answered")
    let holder = try ChildProcess("/usr/bin/python3", ["-c", ControlTests.holder, socket, "15", "200", answered])
    bench.otherReadables += holder.sources
    try bench.wait("the connections") { holder.output.lines.contains("held") }
    // A user has at most four connections; a further one closes the oldest at once. All were accepted before this one.
    expect(try ask(bench, "status", "--json").output.text.contains("truck-17"))
    try Data().write(to: URL(fileURLWithPath: answered))
    for _ in 0..<4 { expect(try ask(bench, "status", "--json").output.text.contains("truck-17")) }
    try bench.wait("their end") { holder.output.lines.contains { $0.hasPrefix("ended") } }
    let closed = holder.output.lines.first { $0.hasPrefix("closed") }?.split(separator: " ").last.flatMap { Int($0) }
    expect((closed ?? 0) >= 196, "\(holder.output.lines)")
    expectEqual(holder.output.lines.last, "ended 200")
  }

  @Test("if the daemon has no free file descriptor, it waits for one without a busy loop")
  func noDescriptors() throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    try bench.wait("it runs") { daemon.notifications.count(of: "READY") == 1 }
    let id = daemon.process.processID
    func limit(_ count: Int) throws {
      let tool = try ChildProcess("/usr/bin/prlimit", ["--pid", "\(id)", "--nofile=\(count):1024"])
      try expectEqual(tool.finish(), 0)
    }
    func ticks() throws -> Int {
      let text = try String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)
      let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
      return (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
    }
    try limit(3)
    let socket = bench.directory("control.sock")
    let holder = try ChildProcess(
      "/usr/bin/python3", ["-c", ControlTests.holder, socket, "60", "5", bench.directory("none")])
    defer { holder.signal(SIGKILL) }
    bench.otherReadables += holder.sources
    try bench.wait("the connections") { holder.output.lines.contains("held") }
    let before = try ticks()
    try bench.watch(for: .seconds(3))
    // A tick is a hundredth of a second.
    expect(try ticks() - before < 30)
    try limit(256)
    try bench.watch(for: .seconds(1))
    expect(try ask(bench, "status", "--json").output.text.contains("truck-17"))
  }

  @Test("a second daemon with the same runtime or state directory does not start, and the first is not affected")
  func secondDaemon() throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    for variable in ["RUNTIME_DIRECTORY", "STATE_DIRECTORY"] {
      let directory = bench.directory(variable)
      mkdir(directory, 0o700)
      // Both daemons have this directory in common, and no other.
      let common = [variable: variable == "RUNTIME_DIRECTORY" ? bench.directory.path : directory]
      let first = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path].merging(common) { $1 })
      try bench.wait("it runs") { first.notifications.count(of: "READY") == 1 }
      let settings = bench.directory("fleet-locationd.toml")
      let second = try ChildProcess(
        "fleet-locationd", ["--config", settings],
        environment: ["RUNTIME_DIRECTORY": bench.directory("RUNTIME_DIRECTORY")].merging(common) { $1 })
      try expectEqual(second.finish(), 73)
      expect(second.errors.text.contains("another fleet-locationd (process \(first.process.processID)) uses "))
      expect(try ask(bench, "status", "--json").output.text.contains("truck-17"))
      let check = try ChildProcess(
        "fleet-locationd", ["--config", settings, "--check"], environment: ["RUNTIME_DIRECTORY": bench.directory.path])
      try expectEqual(check.finish(), 0)
      first.process.signal(SIGTERM)
      try expectEqual(bench.exitCode(), 0)
    }
  }

  @Test("one directory for both purposes is refused by name, not taken for another daemon's")
  func sameDirectory() throws {
    let bench = try TestBench(emulator: nil)
    let daemon = try ChildProcess(
      "fleet-locationd", ["--config", bench.directory("fleet-locationd.toml")],
      environment: ["RUNTIME_DIRECTORY": bench.directory.path, "STATE_DIRECTORY": "\(bench.directory.path)/"])
    try expectEqual(daemon.finish(), 73)
    expect(daemon.errors.text.contains("RUNTIME_DIRECTORY and STATE_DIRECTORY are the same directory, "))
  }
}
