// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
import Positioning
package import Delivery
package import Timekeeping
import SystemCalls

/// The backlog on disk: an SQLite file that follows the changes of the backlog in memory.
///
/// WAL with synchronous=FULL: what `commit` has returned from survives a power cut. One connection has the file to itself
/// for as long as it is open. It belongs to one thread, which waits for the disk.
package final class BacklogStore {
  /// What the file holds of one vehicle.
  package struct Content {
    /// Oldest first.
    package var records: [Backlog.Record] = []
    /// Rows that are no positions, by their keys.
    package var damaged: [Backlog.ID] = []
    /// The number of rows of no vehicle, as damage makes them, that were deleted since this was read last.
    package var ownerless = 0
  }

  private let file: StoreFile
  private let database: Database
  private let put: Statement
  private let delete: Statement
  private let select: Statement
  private let addVehicle: Statement
  private let findVehicle: Statement
  private var keys: [FleetEngineVehicle: Int64] = [:]
  /// Of the file that is open.
  package let identity: FileIdentity
  /// Whether the file was made just now.
  package let isNew: Bool
  /// Rows of no vehicle, which were deleted when the file was opened and are not reported yet.
  private var ownerless = 0

  /// Small pages, for a commit writes whole ones and mostly changes one: two thirds of what pages of 4 kB cost.
  static let pageSize: Int64 = 1024
  /// Pages of the log before they are moved into the file. It is written over then, not made anew, so that it keeps its
  /// blocks; and a page that has changed a dozen times is moved once.
  private static let logPages: Int64 = 1024
  /// Positions that are deleted to make room, beside as many as there are to write: so that it is seldom done.
  private static let leastRoom = 500

  /// Opens the file, or makes it. One that is damaged or another program's is set aside, with a new name.
  ///
  /// - Parameters:
  ///   - directory: is made if only it is missing.
  ///   - maxSize: bytes, of the file and its log.
  /// - Throws: `busy`, `full`, `denied`, `failed`.
  package static func open(
    directory: String, maxSize: Int64
  ) throws(BacklogStoreError) -> (store: BacklogStore, setAside: StoreAgent.SetAside?) {
    try open(directory: directory, maxSize: maxSize, schema: .current)
  }

  static func open(
    directory: String, maxSize: Int64, schema: BacklogSchema
  ) throws(BacklogStoreError) -> (store: BacklogStore, setAside: StoreAgent.SetAside?) {
    let file = StoreFile(directory: directory)
    do {
      return (try BacklogStore(file, maxSize: maxSize, schema: schema), nil)
    } catch {
      guard error.isBeyondUse else { throw error }
      let name = try file.setAside()
      return (
        try BacklogStore(file, maxSize: maxSize, schema: schema), StoreAgent.SetAside(name: name, why: error.message)
      )
    }
  }

  /// Sets a file aside that turned out to be damaged while it was in use, and makes an empty one. It must not be open.
  ///
  /// - Throws: `busy`, `full`, `denied`, `failed`.
  package static func replace(
    directory: String, maxSize: Int64, why: String
  ) throws(BacklogStoreError) -> (store: BacklogStore, setAside: StoreAgent.SetAside) {
    let file = StoreFile(directory: directory)
    let name = try file.setAside()
    return (try BacklogStore(file, maxSize: maxSize, schema: .current), StoreAgent.SetAside(name: name, why: why))
  }

  private init(_ file: StoreFile, maxSize: Int64, schema: BacklogSchema) throws(BacklogStoreError) {
    isNew = try file.create()
    self.file = file
    database = try Database(path: file.path)
    // Exclusive before WAL: then there is no shared memory file, whose pages the kernel would write back too.
    try database.run(
      """
      PRAGMA page_size = \(BacklogStore.pageSize);
      PRAGMA auto_vacuum = NONE;
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA cache_size = -256;
      PRAGMA temp_store = MEMORY;
      PRAGMA trusted_schema = OFF;
      PRAGMA cell_size_check = ON;
      """)
    let mode = try database.text("PRAGMA journal_mode = WAL")
    guard mode == "wal" else {
      throw BacklogStoreError(.failed, "\(file.path): this file system cannot have a write-ahead log")
    }
    let pages = max(maxSize / BacklogStore.pageSize - BacklogStore.logPages, 64)
    try database.run(
      """
      PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = \(BacklogStore.logPages);
      PRAGMA journal_size_limit = \(BacklogStore.logPages * BacklogStore.pageSize);
      PRAGMA max_page_count = \(pages);
      """)
    try schema.prepare(database)
    put = try database.prepare("INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    delete = try database.prepare("DELETE FROM positions WHERE vehicle = ? AND time = ?")
    // All of them now: a damaged schema is found here.
    select = try database.prepare(
      """
      SELECT vehicle, time, latitude, longitude, altitude, speed, heading, horizontal_accuracy, vertical_accuracy,
        speed_accuracy, heading_accuracy, spent
      FROM positions ORDER BY vehicle, time
      """)
    addVehicle = try database.prepare("INSERT OR IGNORE INTO vehicles (provider_id, vehicle_id) VALUES (?, ?)")
    findVehicle = try database.prepare("SELECT key FROM vehicles WHERE provider_id = ? AND vehicle_id = ?")
    identity = file.identity
    ownerless = try deleteOwnerless()
  }

  deinit { if !isInPlace { database.leaveLog() } }

  /// Whether the names still stand for the files that are open.
  private var isInPlace: Bool { identity == file.identity }

  /// Steps from vehicle to vehicle, and so needs no look at each row.
  private func deleteOwnerless() throws(BacklogStoreError) -> Int {
    let strangers = """
      WITH RECURSIVE owner(key) AS (
        SELECT min(vehicle) FROM positions
        UNION ALL
        SELECT (SELECT min(vehicle) FROM positions WHERE vehicle > owner.key) FROM owner WHERE owner.key IS NOT NULL)
      SELECT key FROM owner WHERE key IS NOT NULL AND key NOT IN (SELECT key FROM vehicles)
      """
    guard try database.prepare(strangers).step() else { return 0 }
    try database.run("DELETE FROM positions WHERE vehicle IN (\(strangers))")
    return Int(clamping: try database.number("SELECT changes()"))
  }

  /// Bytes on disk.
  package var size: Int64 { file.size }

  /// What the file holds for a vehicle. Values that no position has are damage that the file's structure does not show.
  ///
  /// All rows are read, those of other vehicles too: SQLite 3.40 checks the order of no table without row IDs.
  ///
  /// - Throws: `damaged` also when rows are not in their order: then one cannot be found by its key.
  package func content(of vehicle: FleetEngineVehicle) throws(BacklogStoreError) -> Content {
    let own = try key(of: vehicle)
    let rows = select
    defer { rows.reset() }
    var (content, last) = (Content(ownerless: ownerless), (vehicle: Int64, time: Int64)?.none)
    while try rows.step() {
      let key = (vehicle: rows.integer(0), time: rows.integer(1))
      guard rows.isInteger(0), rows.isInteger(1), last.map({ $0 < key }) ?? true else {
        throw BacklogStoreError(.damaged, "\(file.path) is damaged: positions out of order")
      }
      last = key
      guard key.vehicle == own else { continue }
      let time = Timestamp(milliseconds: key.time)
      if let record = record(rows, time) { content.records.append(record) } else { content.damaged.append(time) }
    }
    ownerless = 0
    return content
  }

  /// - Returns: nil where the row is no position.
  private func record(_ row: Statement, _ time: Timestamp) -> Backlog.Record? {
    guard let latitude = row.real(2), let longitude = row.real(3),
      let coordinate = Coordinate(latitude: latitude, longitude: longitude)
    else { return nil }
    var location = VehicleLocation(coordinate: coordinate, time: time)
    location.altitude = row.real(4)
    location.speed = row.real(5)
    location.heading = row.real(6)
    location.horizontalAccuracy = row.real(7)
    location.verticalAccuracy = row.real(8)
    location.speedAccuracy = row.real(9)
    location.headingAccuracy = row.real(10)
    let record = Backlog.Record(location, spent: row.real(11) ?? .nan)
    return record.isPlausible ? record : nil
  }

  /// Writes all or nothing; when it returns they are on disk, in the file that stands in its place.
  ///
  /// - Throws: `replaced`, `full`, `damaged`, `failed`; then the file is as it was.
  package func commit(_ writes: [StoreAgent.Write]) throws(BacklogStoreError) {
    guard isInPlace else { throw BacklogStoreError(.replaced, "\(file.path) was deleted or replaced") }
    guard !writes.isEmpty else { return }
    do throws(BacklogStoreError) {
      try database.transaction { () throws(BacklogStoreError) in
        for write in writes { try perform(write) }
      }
    } catch {
      // A vehicle's key may have been rolled back.
      keys = [:]
      throw error
    }
  }

  /// Deletes positions of other vehicles, the oldest first, so that writes find room which `max_size` denies them.
  ///
  /// - Parameter writes: their number.
  /// - Returns: how many were deleted: 0 when there are none, or when it is not `max_size` that denies the room.
  package func makeRoom(
    for writes: Int, than vehicle: FleetEngineVehicle
  ) throws(BacklogStoreError) -> Int {
    let needed = Int64(writes * Backlog.recordSize) / BacklogStore.pageSize + 16
    let used = try database.number("PRAGMA page_count") - database.number("PRAGMA freelist_count")
    guard used + needed > (try database.number("PRAGMA max_page_count")) else { return 0 }
    let delete = try database.prepare(
      """
      DELETE FROM positions WHERE (vehicle, time) IN (
        SELECT vehicle, time FROM positions JOIN vehicles ON vehicle = key
        WHERE NOT (provider_id = ? AND vehicle_id = ?) ORDER BY time LIMIT ?)
      """)
    let most = Int64(writes + BacklogStore.leastRoom)
    try delete.run(.text(vehicle.storedProvider), .text(vehicle.vehicleID), .integer(most))
    return Int(clamping: try database.number("SELECT changes()"))
  }

  private func perform(_ write: StoreAgent.Write) throws(BacklogStoreError) {
    let vehicle = try number(of: write.key.vehicle)
    guard let record = write.record, case let location = record.location else {
      return try delete.run(.integer(vehicle), .integer(write.key.id.milliseconds))
    }
    try put.run(
      .integer(vehicle), .integer(write.key.id.milliseconds), .real(location.coordinate.latitude),
      .real(location.coordinate.longitude), .real(location.altitude), .real(location.speed), .real(location.heading),
      .real(location.horizontalAccuracy), .real(location.verticalAccuracy), .real(location.speedAccuracy),
      .real(location.headingAccuracy), .real(record.spent))
  }

  private func number(of vehicle: FleetEngineVehicle) throws(BacklogStoreError) -> Int64 {
    if let key = keys[vehicle] { return key }
    try addVehicle.run(.text(vehicle.storedProvider), .text(vehicle.vehicleID))
    guard let key = try key(of: vehicle) else {
      throw BacklogStoreError(.damaged, "\(file.path) is damaged: a vehicle is missing")
    }
    keys[vehicle] = key
    return key
  }

  /// - Returns: nil where the file holds nothing of the vehicle.
  private func key(of vehicle: FleetEngineVehicle) throws(BacklogStoreError) -> Int64? {
    defer { findVehicle.reset() }
    try findVehicle.bind([.text(vehicle.storedProvider), .text(vehicle.vehicleID)])
    return try findVehicle.step() ? findVehicle.integer(0) : nil
  }

  /// Deletes what other vehicles left before a time. Writes nothing when there is nothing to delete.
  package func forgetOthers(than vehicle: FleetEngineVehicle, before time: Timestamp) throws(BacklogStoreError) {
    let others = "vehicle NOT IN (SELECT key FROM vehicles WHERE provider_id = ? AND vehicle_id = ?) AND time < ?"
    let values = [
      Statement.Value.text(vehicle.storedProvider), .text(vehicle.vehicleID), .integer(time.milliseconds),
    ]
    let find = try database.prepare("SELECT 1 FROM positions WHERE \(others) LIMIT 1")
    try find.bind(values)
    guard try find.step() else { return }
    find.reset()
    try database.transaction { () throws(BacklogStoreError) in
      let delete = try database.prepare("DELETE FROM positions WHERE \(others)")
      try delete.bind(values)
      _ = try delete.step()
    }
  }
}
