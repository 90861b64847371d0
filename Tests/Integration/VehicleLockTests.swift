// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// Several daemons on one machine that are configured for the same vehicle.
struct VehicleLockTests {
  /// Starts a second daemon beside the bench's own, with the bench's current settings.
  private func startSecond(_ bench: TestBench) throws -> Daemon {
    let path = try bench.directory.write(bench.settings.text, to: "van.toml")
    mkdir(bench.directory("run-van"), 0o700)
    let notify = bench.directory("notify-van")
    let notifications = try NotifySocket(path: notify)
    let daemon = try Daemon(
      process: ChildProcess(
        "fleet-locationd", ["--config", path],
        environment: [
          "NOTIFY_SOCKET": notify, "RUNTIME_DIRECTORY": bench.directory("run-van"),
          "FLEET_VEHICLE_LOCKS": bench.directory("locks"),
        ]), notifications: notifications)
    bench.otherReadables += daemon.sources
    return daemon
  }

  private func bench() throws -> TestBench {
    let bench = try TestBench()
    mkdir(bench.directory("locks"), 0o700)
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    bench.settings["reporting.interval"] = "\"1s\""
    try bench.start(environment: [
      "RUNTIME_DIRECTORY": bench.directory.path, "FLEET_VEHICLE_LOCKS": bench.directory("locks"),
    ])
    return bench
  }

  private func ctl(_ bench: TestBench, _ words: String...) throws -> ChildProcess {
    let process = try ChildProcess(
      "fleet-locationctl", words + ["--socket", bench.directory("run-van/control.sock")])
    try process.finish()
    return process
  }

  @Test(
    "the second daemon sends nothing and names the first; if the first is killed, the second takes over within seconds"
  )
  func second() throws {
    let bench = try bench()
    let first = try #require(bench.daemon)
    try bench.wait("the first is online") { first.shows("Online") }
    let fetches = try #require(bench.emulator?.stats()["tokens"] as? Int)
    // The settings name the same vehicle and another receiver, which the second daemon must not open.
    let receiver = try bench.receiver()
    let van = try startSecond(bench)
    let holder = "by process \(first.process.processID) on this machine"
    try bench.wait("the second says why it waits") { van.shows("Vehicle in use \(holder)") }
    expect(
      van.logs("Nothing is sent: process \(first.process.processID) on this machine already reports this vehicle"))
    try bench.wait("the second is ready") { van.notifications.states.contains("READY") }
    expect(!receiver.isOpened)
    let status = try ctl(bench, "status")
    expectEqual(status.exitCode, 1)
    expect(status.output.lines.contains { $0.hasPrefix("State") && $0.contains(holder) })
    expect(status.output.lines.contains { $0.hasPrefix("Source") && $0.contains("not opened") })
    expect(try ctl(bench, "explain").output.text.contains("The vehicle has been in use \(holder)"))
    try expectEqual(ctl(bench, "status", "--healthy").exitCode, 1)
    try bench.watch(for: .seconds(6))
    expect(try bench.emulator?.stats()["tokens"] as? Int == fetches)
    expectEqual(van.log.count { $0.contains("already reports this vehicle") }, 1)

    first.process.signal(SIGKILL)
    try bench.wait("the second opens its receiver", within: .seconds(10)) { receiver.isOpened }
    expect(van.logs("No other process on this machine has the vehicle now"))
    let track = LiveTrack(receiver)
    try bench.wait("the second is online", within: .seconds(20)) {
      track.pump()
      return van.shows("Online")
    }
    van.process.signal(SIGTERM)
    try bench.wait("its end") { van.process.hasEnded }
  }

  @Test(
    "a second daemon is online after a reload with its own vehicle, and waits after a reload with the first one's")
  func reload() throws {
    let bench = try bench()
    let first = try #require(bench.daemon)
    try bench.wait("the first is online") { first.shows("Online") }
    let van = try startSecond(bench)
    try bench.wait("the second waits") { van.shows("Vehicle in use") }
    func reload(_ vehicle: String) throws {
      bench.settings["vehicle.vehicle_id"] = "\"\(vehicle)\""
      try bench.directory.write(bench.settings.text, to: "van.toml")
      try expectEqual(ctl(bench, "reload").exitCode, 0)
    }
    try reload("van-1")
    try bench.wait("updates of van-1") { bench.emulator?.accepted.contains { $0.path.contains("van-1") } == true }
    try reload(TestBench.vehicle)
    try bench.wait("the second waits again") { van.statuses.last?.hasPrefix("Vehicle in use") == true }
    // An update in flight at the reload may arrive.
    try bench.emulator?.settle()
    let count = bench.emulator?.accepted.count { $0.path.contains("van-1") }
    try bench.watch(for: .seconds(3))
    expectEqual(bench.emulator?.accepted.count { $0.path.contains("van-1") }, count)
    // The vehicle van-1 is free now: the first daemon may use it.
    bench.settings["vehicle.vehicle_id"] = "\"van-1\""
    try bench.writeSettings()
    first.process.signal(SIGHUP)
    try bench.wait("the first has van-1") {
      bench.emulator?.accepted.count { $0.path.contains("van-1") } ?? 0 > count ?? 0
    }
    try bench.wait("the second has its vehicle", within: .seconds(15)) {
      van.statuses.last?.hasPrefix("Online") == true
    }
    expect(!first.logs("already reports"))
    van.process.signal(SIGTERM)
    try bench.wait("its end") { van.process.hasEnded }
  }

  @Test("without a lock directory, the daemon sends updates; it warns if its unit names one", arguments: [true, false])
  func withoutLocks(isNamed: Bool) throws {
    let bench = try TestBench()
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let daemon = try bench.start(environment: isNamed ? ["FLEET_VEHICLE_LOCKS": bench.directory("locks")] : [:])
    try bench.wait("an update") { daemon.shows("Online") }
    expectEqual(daemon.log.count { $0.contains("the same vehicle would not be noticed") }, (isNamed ? 1 : 0))
  }

  @Test(
    "the daemon exits if started by hand with the settings of a running or paused service, but not in a container",
    .enabled(if: ChildProcess.canMount))
  func byHand() throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    // Empty directories are mounted in place of those of systemd and of the service.
    let script = """
      mount -t tmpfs none /etc && mount -t tmpfs none /run && mount -t tmpfs none /var/lib || exit 99
      mkdir -p /etc/fleet-locationd /run/systemd/system /run/fleet-locationd-van /var/lib/fleet-locationd-van || exit 99
      cp "$2" /etc/fleet-locationd/van.toml
      ln -s /etc/fleet-locationd/van.toml "$3/link.toml"
      run() { timeout "$4" "$1" --config "$2" && code=0 || code=$?; echo "$3 $code"; }
      : > /var/lib/fleet-locationd-van/paused
      run "$1" /etc/fleet-locationd/van.toml paused 20
      rm /var/lib/fleet-locationd-van/paused
      exec 9> /run/fleet-locationd-van/daemon.lock && flock 9
      run "$1" /etc/fleet-locationd/van.toml running 20
      run "$1" "$3/link.toml" link 20
      cd /etc/fleet-locationd && run "$1" van.toml relative 20
      run "$1" "$2" elsewhere 2
      STATE_DIRECTORY=/var/lib/fleet-locationd-van run "$1" /etc/fleet-locationd/van.toml service 2
      "$1" --config /etc/fleet-locationd/van.toml --check >/dev/null; echo "check $?"
      rmdir /run/systemd/system
      run "$1" /etc/fleet-locationd/van.toml container 2
      mkdir /run/systemd/system
      exec 9>&-
      run "$1" /etc/fleet-locationd/van.toml stopped 2
      """
    let process = try ChildProcess(
      "/usr/bin/unshare",
      [
        "--mount", "sh", "-c", script, "sh", "\(ChildProcess.products)/fleet-locationd", try bench.writeSettings(),
        bench.directory.path,
      ])
    try process.finish(within: .seconds(60))
    // timeout(1) stops a running process with SIGTERM, and exits with 124.
    expectEqual(
      process.output.lines,
      [
        "paused 73", "running 73", "link 73", "relative 73", "elsewhere 124", "service 124", "check 0", "container 124",
        "stopped 124",
      ])
    let errors = process.errors.text
    expect(errors.contains("fleet-locationd@van.service is paused, so no position may leave this machine"))
    expect(
      errors.contains("systemctl start fleet-locationd@van.service, then fleet-locationctl resume --instance van"))
    expect(errors.contains("fleet-locationd@van.service runs with these settings"))
  }

  @Test("at a start, settings that are rolled back do not leave their vehicle locked")
  func rolledBack() throws {
    let bench = try TestBench()
    let state = bench.directory("state")
    for directory in [state, bench.directory("locks")] { mkdir(directory, 0o700) }
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let environment = [
      "STATE_DIRECTORY": state, "RUNTIME_DIRECTORY": bench.directory.path,
      "FLEET_VEHICLE_LOCKS": bench.directory("locks"),
    ]
    let first = try bench.start(environment: environment)
    try bench.wait("it is online") { first.shows("Online") }
    bench.settings.source("serial", ["device": "\"/dev/ttyNONE\""])
    try bench.writeSettings()
    let reload = try ChildProcess(
      "fleet-locationctl", ["reload", "--confirm", "1min", "--socket", bench.directory("control.sock")])
    let file = "\(state)/settings-confirmation"
    try bench.wait("the new settings wait") { access(file, F_OK) == 0 }
    for process in [reload, first.process] { process.signal(SIGKILL) }
    _ = try bench.exitCode()
    // The file says that the minute for the confirmation has passed.
    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    let digest = try #require(lines[1].split(separator: " ").dropFirst().first)
    try "\(lines[0])\ntaken-back \(digest) -\nno fix came\nend\n".write(toFile: file, atomically: true, encoding: .utf8)

    let second = try bench.start(environment: environment)
    try bench.wait("it is online with the previous settings") { second.shows("Online") }
    expect(second.logs("The new settings were reverted"))
    expect(!second.logs("already reports this vehicle"))
  }
}
