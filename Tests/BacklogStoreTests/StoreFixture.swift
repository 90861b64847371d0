// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import FleetEngine
import Foundation
import Positioning
import PositionBacklog
import Vehicle
import Testing
import Timekeeping

@testable import BacklogStore

/// A temporary directory for a store, and records to write to it.
final class StoreFixture {
  private let temporary: TemporaryDirectory
  let truck = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-1")
  let other = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-2")

  init() throws {
    temporary = try TemporaryDirectory()
  }

  var directory: String { temporary.path }
  var path: String { "\(directory)/backlog.sqlite" }

  /// Opens the store, and expects that no file is set aside.
  func open(maxSize: Int64 = 16_000_000) throws -> BacklogStore {
    let (store, setAside) = try BacklogStore.open(directory: directory, maxSize: maxSize)
    expectNil(setAside)
    return store
  }

  /// A position at this second, with all optional values or only the required ones.
  static func record(_ second: Int64, isFull: Bool = false) throws -> Backlog.Record {
    let coordinate = try #require(Coordinate(latitude: 48.1234567 + Double(second) / 1e6, longitude: -11.7654321))
    var location = VehicleLocation(coordinate: coordinate, time: Timestamp(milliseconds: second * 1000 + 1))
    if isFull {
      location.altitude = 519.5
      location.speed = 0
      location.heading = 359.9
      location.horizontalAccuracy = 2.5
      location.verticalAccuracy = 4
      location.speedAccuracy = 0.25
      location.headingAccuracy = 1.5
    }
    return Backlog.Record(location, interpolationError: isFull ? 17.25 : 0)
  }

  func puts(
    _ seconds: some Sequence<Int64>, of vehicle: FleetEngineVehicle? = nil
  ) throws -> [StoreAgent.Write] {
    try seconds.map { second in
      let record = try StoreFixture.record(second)
      return StoreAgent.Write(key: StoreAgent.Key(vehicle: vehicle ?? truck, id: record.id), record: record)
    }
  }

  func deletes(_ seconds: some Sequence<Int64>) throws -> [StoreAgent.Write] {
    try puts(seconds).map { StoreAgent.Write(key: $0.key, record: nil) }
  }

  func seconds(_ store: BacklogStore, of vehicle: FleetEngineVehicle? = nil) throws -> [Int64] {
    try store.content(of: vehicle ?? truck).records.map { $0.id.milliseconds / 1000 }
  }

  var names: [String] { (try? temporary.names) ?? [] }

  /// The output of SQLite's command-line shell: an independent view of the file.
  func shell(_ sql: String) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/sqlite3")
    process.arguments = [path, sql]
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

extension BacklogStore {
  /// Opens the store, and returns what was set aside.
  static func open(
    directory: String, maxSize: Int64, schema: BacklogSchema = .current
  ) throws(BacklogStoreError) -> (store: BacklogStore, setAside: StoreAgent.SetAside?) {
    var setAside: StoreAgent.SetAside?
    let store = try open(directory: directory, maxSize: maxSize, schema: schema, setAside: &setAside)
    return (store, setAside)
  }
}
