// SPDX-License-Identifier: Apache-2.0
import Configuration
import Expectations
import Vehicle
import FileTesting
import Foundation
import Testing

@testable import LocationDaemon

struct VehicleLockTests {
  private nonisolated static func settings(
    vehicle: String = "truck-17", provider: String = "project", service: String = "deliveries",
    endpoint: String = "https://fleetengine.googleapis.com"
  ) throws -> Settings {
    let directory = try TemporaryDirectory()
    let path = try directory.write(
      """
      [vehicle]
      provider_id = "\(provider)"
      vehicle_id = "\(vehicle)"
      service = "\(service)"
      [source]
      type = "serial"
      device = "/dev/gps0"
      [token]
      url = "https://tokens.example/{vehicle_id}"
      [fleet_engine]
      endpoint = "\(endpoint)"
      """, to: "settings.toml")
    return try SettingsFile.load(path: path, environment: .system).settings
  }

  private static func directory() throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    expectEqual(mkdir(directory("locks"), 0o700), 0)
    return directory
  }

  @Test("the second to lock a vehicle gets the process ID of the first, and can lock it once the first has released it")
  func second() throws {
    let directory = try Self.directory()
    let settings = try Self.settings()
    let second = VehicleLock(directory: directory("locks"))
    do {
      let first = VehicleLock(directory: directory("locks"))
      let attempt = first.attempt(settings)
      expect(attempt.holder == nil && attempt.problem == nil)
      expectNil(first.use(attempt))
      expectNil(first.attempt(settings).holder)
      expectEqual(second.attempt(settings).holder?.processID, getpid())
      withExtendedLifetime(first) {}
    }
    expectNil(second.attempt(settings).holder)
  }

  @Test("neither the name nor the content of a lock file reveals the vehicle")
  func name() throws {
    let directory = try Self.directory()
    let lock = VehicleLock(directory: directory("locks"))
    _ = lock.use(lock.attempt(try Self.settings()))
    let names = try FileManager.default.contentsOfDirectory(atPath: directory("locks"))
    expectEqual(names.count, 1)
    expect(names[0].utf8.count == 64 && names[0].allSatisfy(\.isHexDigit))
    let text = try String(contentsOfFile: directory("locks/\(names[0])"), encoding: .utf8)
    expect(text.hasPrefix("\(getpid())\n"))
    expect(!text.contains("truck"))
  }

  @Test(
    "each vehicle ID, provider, service and endpoint has its own lock",
    arguments: [
      try? settings(vehicle: "truck-18"), try? settings(provider: "other"), try? settings(service: "trips"),
      try? settings(endpoint: "http://127.0.0.1:8080"),
    ])
  func key(other: Settings?) throws {
    let directory = try Self.directory()
    let (first, second) = (VehicleLock(directory: directory("locks")), VehicleLock(directory: directory("locks")))
    _ = first.use(first.attempt(try Self.settings()))
    expectNil(second.attempt(try #require(other)).holder)
    withExtendedLifetime(first) {}
  }

  @Test("the lock changes only when new settings are applied")
  func moves() throws {
    let directory = try Self.directory()
    let (first, second) = (VehicleLock(directory: directory("locks")), VehicleLock(directory: directory("locks")))
    let (one, two) = (try Self.settings(), try Self.settings(vehicle: "truck-18"))
    _ = first.use(first.attempt(one))
    _ = first.attempt(two)
    expect(second.attempt(one).holder != nil)
    expectNil(second.attempt(two).holder)
    _ = first.use(first.attempt(two))
    expectNil(second.attempt(one).holder)
    expect(second.attempt(two).holder != nil)
    withExtendedLifetime(first) {}
  }

  @Test("a lock directory that is missing, open to others or a file is not used, and is reported once")
  func unusable() throws {
    let directory = try Self.directory()
    let settings = try Self.settings()
    for (path, words) in [("open", "other than its owner"), ("file", "Not a directory"), ("absent", "No such file")] {
      if path == "open" { expect(mkdir(directory(path), 0o755) == 0 && chmod(directory(path), 0o755) == 0) }
      if path == "file" { _ = try directory.write("", to: path) }
      let lock = VehicleLock(directory: directory(path))
      let attempt = lock.attempt(settings)
      expectNil(attempt.holder)
      let problem = try #require(lock.use(attempt))
      expect(problem.contains(directory(path)) && problem.contains(words))
      expect(problem.contains("systemd-tmpfiles --create"))
      expectNil(lock.use(lock.attempt(settings)))
    }
  }
}
