// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import Authorization
import Vehicle
import Foundation
import HTTPMessages
import Testing
import Timekeeping

@testable import BacklogStore
import FleetEngine

/// Release 0.1.0 and this one read each other's files. `Tests/Interop/downgrade.py` tests this with both programs; this
/// suite uses a file that 0.1.0 wrote, and the SQL statements of 0.1.0.
struct PreviousReleaseTests {
  /// Ten positions of `truck-17`, stored by 0.1.0 while Fleet Engine failed.
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Fixtures/backlog-0.1.0.sqlite")
  private static let schema = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"

  private let truck = FleetEngineVehicle(service: .deliveries, providerID: "test-project", vehicleID: "truck-17")
  /// The same IDs in another service.
  private let taxi = FleetEngineVehicle(
    service: .trips, providerID: "test-project", vehicleID: "truck-17")

  private func fixtureWithPreviousFile() throws -> StoreFixture {
    let fixture = try StoreFixture()
    try FileManager.default.copyItem(at: Self.file, to: URL(filePath: fixture.path))
    return fixture
  }

  /// The result of a statement of 0.1.0, run by SQLite's shell with a value for each `?`.
  private func run(_ sql: String, _ fixture: StoreFixture, _ values: String...) throws -> String {
    var rest = values[...]
    let parts = sql.split(separator: "?", omittingEmptySubsequences: false)
    let filled = parts.dropLast().map { $0 + (rest.popFirst() ?? "NULL") }.joined() + (parts.last ?? "")
    return try fixture.shell(filled)
  }

  // The exact statements of 0.1.0.
  private static let put = "INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
  private static let delete = "DELETE FROM positions WHERE vehicle = ? AND time = ?"
  private static let select = """
    SELECT time, latitude, longitude, altitude, speed, heading, horizontal_accuracy, vertical_accuracy, speed_accuracy,
      heading_accuracy, spent
    FROM positions JOIN vehicles ON vehicle = key WHERE provider_id = ? AND vehicle_id = ? ORDER BY time
    """
  private static let addVehicle = "INSERT OR IGNORE INTO vehicles (provider_id, vehicle_id) VALUES (?, ?)"
  private static let findVehicle = "SELECT key FROM vehicles WHERE provider_id = ? AND vehicle_id = ?"
  private static let makeRoom = """
    DELETE FROM positions WHERE (vehicle, time) IN (
      SELECT vehicle, time FROM positions JOIN vehicles ON vehicle = key
      WHERE NOT (provider_id = ? AND vehicle_id = ?) ORDER BY time LIMIT ?)
    """
  private static let forgetOthers =
    "DELETE FROM positions WHERE vehicle NOT IN (SELECT key FROM vehicles WHERE provider_id = ? AND vehicle_id = ?) AND time < ?"

  @Test("all positions in a file of 0.1.0 are read, and the file keeps the version and schema of 0.1.0")
  func upgrade() throws {
    let fixture = try fixtureWithPreviousFile()
    let schema = try fixture.shell(Self.schema)
    do {
      let store = try fixture.open()
      let positions = try store.content(of: truck).records
      expectEqual(positions.count, 10)
      expect(zip(positions, positions.dropFirst()).allSatisfy { $1.id - $0.id == .seconds(1) })
      expectEqual(positions.first?.location.horizontalAccuracy, 8.0.squareRoot())
      try store.commit([StoreAgent.Write(key: StoreAgent.Key(vehicle: truck, id: positions[0].id), record: nil)])
      try store.commit(fixture.puts(1...2, of: taxi))
      try expectEqual(store.content(of: truck).records.count, 9)
    }
    try expectEqual(fixture.shell("PRAGMA user_version"), "2")
    try expectEqual(fixture.shell(Self.schema), schema)
  }

  @Test("0.1.0 accepts a new file, and its statements find all of a vehicle's positions and none of another service's")
  func downgrade() throws {
    let fixture = try StoreFixture()
    do {
      let store = try fixture.open()
      try store.commit(fixture.puts(1...3, of: taxi))
      try store.commit(fixture.puts(5...8, of: truck))
      try store.commit(fixture.puts(20...21))
    }
    // 0.1.0 uses a file only with the application ID `FLoc` and a version that is not later than its own.
    try expectEqual(fixture.shell("PRAGMA application_id"), "1179414371")
    try expectEqual(fixture.shell("PRAGMA user_version"), "2")
    try expectEqual(fixture.shell("PRAGMA quick_check(1)"), "ok")

    let (provider, vehicle) = ("'test-project'", "'truck-17'")
    func stored() throws -> [String] {
      try run(Self.select, fixture, provider, vehicle).split(separator: "\n").map {
        String($0.prefix { $0 != "|" })
      }
    }
    try expectEqual(stored(), ["5001", "6001", "7001", "8001"])

    // 0.1.0 adds, replaces and deletes records.
    expect(try run(Self.addVehicle, fixture, provider, vehicle).isEmpty)
    let key = try run(Self.findVehicle, fixture, provider, vehicle)
    expect(Int(key) != nil)
    let numbers = ["48.5", "11", "NULL", "2", "NULL", "3", "NULL", "NULL", "NULL", "0"]
    let row = ([key, "9001"] + numbers).joined(separator: ", ")
    expect(try fixture.shell(Self.put.replacing(/\(.*\)/, with: "(\(row))")).isEmpty)
    expect(try run(Self.delete, fixture, key, "5001").isEmpty)
    try expectEqual(stored(), ["6001", "7001", "8001", "9001"])

    // For release 0.1.0, the other service's vehicle is a different one: its records may be dropped or expire.
    expect(try run(Self.makeRoom, fixture, provider, vehicle, "1").isEmpty)
    expect(try run(Self.forgetOthers, fixture, provider, vehicle, "3000").isEmpty)

    let store = try fixture.open()
    try expectEqual(fixture.seconds(store, of: truck), [6, 7, 8, 9])
    try expectEqual(fixture.seconds(store, of: taxi), [3])
    try expectEqual(fixture.seconds(store), [20, 21])
  }

  @Test("a vehicle whose IDs exist in two services has two backlogs")
  func services() throws {
    let fixture = try StoreFixture()
    let store = try fixture.open()
    try store.commit(fixture.puts(1...3, of: truck))
    try store.commit(fixture.puts(2...4, of: taxi))
    try expectEqual(fixture.seconds(store, of: truck), [1, 2, 3])
    try expectEqual(fixture.seconds(store, of: taxi), [2, 3, 4])
    try store.forgetOthers(sparing: taxi, before: Timestamp(seconds: 3))
    try expectEqual(fixture.seconds(store, of: truck), [3])
    try expectEqual(fixture.seconds(store, of: taxi), [2, 3, 4])
  }
}
