// SPDX-License-Identifier: Apache-2.0
import FileTesting
import Glibc

/// The vehicle of one test: a directory, an emulator, consistent settings, and daemons.
final class TestBench {
  static let vehicle = "truck-17"

  let directory: TemporaryDirectory
  var emulator: Emulator?
  var settings = SettingsText()
  var daemon: Daemon?
  /// What is read while the test waits, in addition to the outputs of the daemon and the emulator.
  var otherReadables: [any Readable] = []

  /// - Parameter emulator: the emulator's options; nil: no emulator, and no server on the configured port.
  init(emulator options: [String]? = []) throws {
    directory = try TemporaryDirectory()
    // Another emulator may get the port after this one, so it must not be one that the kernel gives away.
    let port = try Loopback.freePort()
    emulator = try options.map { [directory] in try Emulator(in: directory, port: port, options: $0) }
    settings["vehicle.provider_id"] = "\"my-project\""
    settings["vehicle.vehicle_id"] = "\"\(TestBench.vehicle)\""
    settings["token.url"] = "\"http://127.0.0.1:\(port)/token/delivery_driver/{vehicle_id}\""
    settings["token.expiration_key"] = "\"expiration_timestamp_ms\""
    settings["token.expiration_format"] = "\"epoch-ms\""
    settings["fleet_engine.endpoint"] = "\"http://127.0.0.1:\(port)\""
    settings["reporting.interval"] = "\"0s\""
  }

  /// A serial receiver that is plugged in.
  func receiver(silenceTimeout: String = "10s", isPluggedIn: Bool = true) throws -> Receiver {
    let receiver = Receiver(device: directory("gps0"))
    if isPluggedIn { try receiver.plugIn() }
    settings.source(
      "serial", ["device": "\"\(receiver.device)\"", "baud": "9600", "silence_timeout": "\"\(silenceTimeout)\""])
    return receiver
  }

  /// Starts the daemon and waits until it has opened the receiver.
  @discardableResult
  func start(reading receiver: Receiver, environment: [String: String] = [:]) throws -> Daemon {
    let daemon = try start(environment: environment)
    try wait("it opens \(receiver.device)") { receiver.isOpened }
    return daemon
  }

  /// Writes a recording and makes it the source.
  func recording(_ text: String, pace: String = "0") throws {
    let file = try directory.write(text, to: "drive.nmea")
    settings.source("replay", ["file": "\"\(file)\"", "pace": pace])
  }

  @discardableResult
  func writeSettings() throws -> String {
    try directory.write(settings.text, to: "fleet-locationd.toml")
  }

  @discardableResult
  func start(environment: [String: String] = [:], input: String = "/dev/null") throws -> Daemon {
    let daemon = try Daemon(
      settings: try writeSettings(), directory: directory, environment: environment, input: input)
    self.daemon = daemon
    return daemon
  }

  /// Reads all outputs until the condition holds.
  ///
  /// - Throws: at the timeout, with everything that the daemon has logged.
  func wait(
    _ what: String, within limit: Duration = .seconds(20), until condition: () throws -> Bool
  ) throws {
    let sources = (daemon?.sources ?? []) + (emulator?.sources ?? []) + otherReadables
    do {
      try Integration.wait(for: what, within: limit, reading: sources, until: condition)
    } catch {
      throw TestFailure("\(error)\n\(daemon?.transcript ?? "no daemon")\nemulator: \(emulator?.lines.suffix(20) ?? [])")
    }
  }

  /// Lets the daemon run for a while.
  func watch(for time: Duration) throws {
    let end = ContinuousClock.now + time
    try wait("the time", within: time + .seconds(10)) { ContinuousClock.now >= end }
  }

  /// Runs `fleet-locationctl` with the control socket in the bench's directory.
  func control(_ words: String...) throws -> ChildProcess {
    let process = try ChildProcess("fleet-locationctl", words + ["--socket", directory("control.sock")])
    otherReadables += process.sources
    defer { otherReadables.removeLast(process.sources.count) }
    // The daemon's output is read as well, so that it cannot block.
    try wait(words.joined(separator: " ")) { process.hasEnded }
    return process
  }

  /// The number of fixes that the daemon has read, according to its metrics.
  func fixCount() throws -> Int {
    let line = try control("metrics").output.lines.first { $0.hasPrefix("fleet_locationd_fixes_total") }
    return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
  }

  /// Waits until the daemon exits.
  func exitCode(within limit: Duration = .seconds(20)) throws -> Int32? {
    guard let daemon else { throw TestFailure("no daemon") }
    try wait("the daemon ends", within: limit) { daemon.process.hasEnded }
    for source in daemon.sources { source.drain() }
    return daemon.process.exitCode
  }
}
