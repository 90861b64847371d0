// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
import Positioning
package import PositionBacklog
package import Vehicle
package import Timekeeping
import SystemCalls

/// The persistent backlog: an SQLite file to which the changes of the backlog in memory are written.
///
/// WAL with synchronous=FULL: committed changes survive a power cut. One connection has exclusive access to the file
/// while it is open. It belongs to one thread, which blocks on the disk.
package final class BacklogStore {
  /// The stored positions of one vehicle.
  package struct Content {
    /// Oldest first.
    package var records: [Backlog.Record] = []
    /// Keys of rows that are not valid positions.
    package var damaged: [Backlog.ID] = []
    /// The number of rows without a vehicle, as occur in a damaged file, that were deleted since the last read.
    package var orphanedCount = 0
    /// The number of oldest rows that were deleted, because more rows are stored than can be queued.
    package var excessCount = 0
  }

  private let file: StoreFile
  private let database: Database
  private let put: Statement
  private let delete: Statement
  private let select: Statement
  private let countRows: Statement
  private let addVehicle: Statement
  private let findVehicle: Statement
  private var keys: [FleetEngineVehicle: Int64] = [:]
  /// Identifies the open file.
  package let identity: FileIdentity
  /// Whether the file was just created.
  package let isNew: Bool
  /// Deleted rows without a vehicle that have not been reported yet.
  private var unreportedOrphanedCount = 0
  /// The state of the files after the last write.
  private var lastWrite: FileState

  /// Small pages, because a commit writes whole pages and usually changes one: a third less is written than with 4 kB
  /// pages.
  static let pageSize: Int64 = 1024
  /// Pages of the log before a checkpoint. The log is then overwritten, not recreated, so that it keeps its blocks; and
  /// a page that has changed a dozen times is written by the checkpoint only once.
  private static let logPages: Int64 = 1024
  /// Additional positions to delete when making room, so that making room is rarely necessary.
  private static let additionalDeletions = 500
  /// The maximum number of rows that are read: a full backlog, and positions that were stored before it was read.
  package static let maximumRows = Backlog.maximumRecords + 1000
  /// A file with more invalid rows than this is damaged as a whole.
  static let maximumDamagedRows = 10_000

  /// Opens or creates the file. A damaged or foreign file is renamed (set aside).
  ///
  /// - Parameters:
  ///   - directory: created if only the last component of the path is missing.
  ///   - maxSize: the maximum size of the file and its log, in bytes.
  ///   - setAside: set if a file was set aside, even if no new one can be made afterwards.
  /// - Throws: `busy`, `full`, `permissionDenied`, `failed`.
  package static func open(
    directory: String, maxSize: Int64, setAside: inout StoreAgent.SetAside?
  ) throws(BacklogStoreError) -> BacklogStore {
    try open(directory: directory, maxSize: maxSize, schema: .current, setAside: &setAside)
  }

  static func open(
    directory: String, maxSize: Int64, schema: BacklogSchema, setAside: inout StoreAgent.SetAside?
  ) throws(BacklogStoreError) -> BacklogStore {
    do {
      return try BacklogStore(StoreFile(directory: directory), maxSize: maxSize, schema: schema)
    } catch {
      guard error.isUnusable else { throw error }
      return try replace(
        directory: directory, maxSize: maxSize, why: error.message, schema: schema, setAside: &setAside)
    }
  }

  /// Sets aside a file that turned out to be damaged, and creates an empty one. It must not be open.
  ///
  /// - Throws: `busy`, `full`, `permissionDenied`, `failed`.
  package static func replace(
    directory: String, maxSize: Int64, why: String, setAside: inout StoreAgent.SetAside?
  ) throws(BacklogStoreError) -> BacklogStore {
    try replace(directory: directory, maxSize: maxSize, why: why, schema: .current, setAside: &setAside)
  }

  private static func replace(
    directory: String, maxSize: Int64, why: String, schema: BacklogSchema, setAside: inout StoreAgent.SetAside?
  ) throws(BacklogStoreError) -> BacklogStore {
    let file = StoreFile(directory: directory)
    setAside = StoreAgent.SetAside(name: try file.setAside(), why: why)
    return try BacklogStore(file, maxSize: maxSize, schema: schema)
  }

  private init(_ file: StoreFile, maxSize: Int64, schema: BacklogSchema) throws(BacklogStoreError) {
    isNew = try file.createIfMissing()
    self.file = file
    // SQLite accepts no symbolic link anywhere in the path. The file must not be one, but its directory may be reached
    // through one, such as /var on a data partition.
    let directory = SystemFile.resolved(file.directory) ?? file.directory
    database = try Database(path: "\(directory)/\(StoreFile.name)")
    // Exclusive locking is set before anything reads the file, which may have a write-ahead log already: so there is no
    // shared memory file, whose pages would be written back too.
    try database.run(
      """
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA page_size = \(BacklogStore.pageSize);
      PRAGMA auto_vacuum = NONE;
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
    // All statements are prepared now, which detects a damaged schema.
    select = try database.prepare(
      """
      SELECT vehicle, time, latitude, longitude, altitude, speed, heading, horizontal_accuracy, vertical_accuracy,
        speed_accuracy, heading_accuracy, spent
      FROM positions ORDER BY vehicle, time
      """)
    countRows = try database.prepare("SELECT count(*) FROM positions WHERE vehicle = ?")
    addVehicle = try database.prepare("INSERT OR IGNORE INTO vehicles (provider_id, vehicle_id) VALUES (?, ?)")
    findVehicle = try database.prepare("SELECT key FROM vehicles WHERE provider_id = ? AND vehicle_id = ?")
    lastWrite = file.state(headers: database.headers)
    identity = lastWrite.identity
    unreportedOrphanedCount = try deleteOrphaned()
    lastWrite = state
  }

  deinit { if !isInPlace { database.keepWALOnClose() } }

  /// The current state of the files.
  private var state: FileState { file.state(headers: database.headers) }

  /// Whether the paths still refer to the open files.
  private var isInPlace: Bool { identity == file.identity }

  /// Steps from vehicle to vehicle instead of reading each row.
  private func deleteOrphaned() throws(BacklogStoreError) -> Int {
    let others = """
      WITH RECURSIVE owner(key) AS (
        SELECT min(vehicle) FROM positions
        UNION ALL
        SELECT (SELECT min(vehicle) FROM positions WHERE vehicle > owner.key) FROM owner WHERE owner.key IS NOT NULL)
      SELECT key FROM owner WHERE key IS NOT NULL AND key NOT IN (SELECT key FROM vehicles)
      """
    guard try database.prepare(others).step() else { return 0 }
    try database.run("DELETE FROM positions WHERE vehicle IN (\(others))")
    return Int(clamping: try database.number("SELECT changes()"))
  }

  /// Size on disk in bytes.
  package var size: Int64 { file.size }

  /// The stored positions of a vehicle. If there are more than `limit`, only the newest ones are returned, and the
  /// others are deleted. Invalid values are damage that the structure of the file does not show.
  ///
  /// Reads all rows, including those of other vehicles: SQLite 3.40 does not check the order of tables without row IDs.
  ///
  /// - Throws: `damaged`, also if rows are not in order, because they could not be found by key.
  package func content(
    of vehicle: FleetEngineVehicle, limit: Int = BacklogStore.maximumRows
  ) throws(BacklogStoreError) -> Content {
    let vehicleKey = try key(of: vehicle)
    var content = try read(vehicleKey, limit: limit)
    if let vehicleKey, content.excessCount > 0, let first = content.records.first?.id {
      // Otherwise they would be read again at the next start.
      try database.prepare("DELETE FROM positions WHERE vehicle = ? AND time < ?").run(
        .integer(vehicleKey), .integer(first.milliseconds))
      lastWrite = state
    }
    content.orphanedCount = unreportedOrphanedCount
    unreportedOrphanedCount = 0
    return content
  }

  private func rowCount(of vehicle: Int64?) throws(BacklogStoreError) -> Int {
    guard let vehicle else { return 0 }
    defer { countRows.reset() }
    try countRows.bind([.integer(vehicle)])
    return try countRows.step() ? Int(clamping: countRows.integer(0)) : 0
  }

  private func read(_ vehicleKey: Int64?, limit: Int) throws(BacklogStoreError) -> Content {
    let rows = select
    defer { rows.reset() }
    var (content, last) = (Content(), (vehicle: Int64, time: Int64)?.none)
    let rowCount = try rowCount(of: vehicleKey)
    content.excessCount = max(rowCount - limit, 0)
    var toSkip = content.excessCount
    // Otherwise the array would be moved, and would need twice the memory.
    content.records.reserveCapacity(min(rowCount, limit))
    while try rows.step() {
      let key = (vehicle: rows.integer(0), time: rows.integer(1))
      guard rows.isInteger(0), rows.isInteger(1), last.map({ $0 < key }) ?? true else {
        throw BacklogStoreError(.damaged, "\(file.path) is damaged: positions out of order")
      }
      last = key
      guard key.vehicle == vehicleKey else { continue }
      guard toSkip == 0 else {
        toSkip -= 1
        continue
      }
      let time = Timestamp(milliseconds: key.time)
      if let record = record(rows, time) { content.records.append(record) } else { content.damaged.append(time) }
      guard content.damaged.count <= BacklogStore.maximumDamagedRows else {
        throw BacklogStoreError(
          .damaged,
          "\(file.path) is damaged: more than \(BacklogStore.maximumDamagedRows) rows are not valid positions")
      }
    }
    return content
  }

  /// - Returns: nil if the row is not a valid position.
  private func record(_ row: Statement, _ time: Timestamp) -> Backlog.Record? {
    guard let latitude = row.real(2), let longitude = row.real(3),
      let coordinate = Coordinate(latitude: latitude, longitude: longitude)
    else { return nil }
    // `real` returns not-a-number for a value that is neither a number nor NULL.
    let isNumeric = (4...10).allSatisfy { row.real($0)?.isNaN != true }
    guard isNumeric else { return nil }
    var location = VehicleLocation(coordinate: coordinate, time: time)
    location.altitude = row.real(4)
    location.speed = row.real(5)
    location.heading = row.real(6)
    location.horizontalAccuracy = row.real(7)
    location.verticalAccuracy = row.real(8)
    location.speedAccuracy = row.real(9)
    location.headingAccuracy = row.real(10)
    let record = Backlog.Record(location, interpolationError: row.real(11) ?? .nan)
    return record.isPlausible ? record : nil
  }

  /// Writes all changes or none; on return the changes are on disk, in the file that is in place.
  ///
  /// - Throws: `replaced`, `full`, `damaged`, `failed`; the file is then unchanged.
  package func commit(_ writes: [StoreAgent.Write]) throws(BacklogStoreError) {
    let current = state
    guard current.identity == identity else {
      throw BacklogStoreError(.replaced, "\(file.path) was deleted or replaced")
    }
    if current != lastWrite { try verify(current) }
    guard !writes.isEmpty else { return }
    defer { lastWrite = state }
    do throws(BacklogStoreError) {
      try database.transaction { () throws(BacklogStoreError) in
        for write in writes { try perform(write) }
      }
    } catch {
      // The insertion of a vehicle's key may have been rolled back.
      keys = [:]
      throw error
    }
  }

  /// Checks the files after another program has written to them. SQLite itself does not read them again, because its
  /// lock is exclusive.
  private func verify(_ current: FileState) throws(BacklogStoreError) {
    guard current.headers == lastWrite.headers else {
      throw BacklogStoreError(.damaged, "\(file.path) is damaged: another program has written to it or its log")
    }
    // The pages in memory may differ from those in the files.
    database.releaseMemory()
    try BacklogSchema.check(database, isNew: false)
    lastWrite = current
  }

  /// Deletes the oldest positions of other vehicles to make room within `max_size`.
  ///
  /// - Parameter writes: the number of writes.
  /// - Returns: the number of deleted positions: 0 if there are none, or if `max_size` is not the cause.
  package func makeRoom(
    for writes: Int, sparing vehicle: FleetEngineVehicle
  ) throws(BacklogStoreError) -> Int {
    let neededPages = Int64(writes * Backlog.recordSize) / BacklogStore.pageSize + 16
    let usedPages = try database.number("PRAGMA page_count") - database.number("PRAGMA freelist_count")
    guard usedPages + neededPages > (try database.number("PRAGMA max_page_count")) else { return 0 }
    defer { lastWrite = state }
    let delete = try database.prepare(
      """
      DELETE FROM positions WHERE (vehicle, time) IN (
        SELECT vehicle, time FROM positions JOIN vehicles ON vehicle = key
        WHERE NOT (provider_id = ? AND vehicle_id = ?) ORDER BY time LIMIT ?)
      """)
    let maximumDeletions = Int64(writes + BacklogStore.additionalDeletions)
    try delete.run(.text(vehicle.storedProvider), .text(vehicle.vehicleID), .integer(maximumDeletions))
    return Int(clamping: try database.number("SELECT changes()"))
  }

  private func perform(_ write: StoreAgent.Write) throws(BacklogStoreError) {
    let vehicle = try findOrAddKey(of: write.key.vehicle)
    guard let record = write.record, case let location = record.location else {
      return try delete.run(.integer(vehicle), .integer(write.key.id.milliseconds))
    }
    try put.run(
      .integer(vehicle), .integer(write.key.id.milliseconds), .real(location.coordinate.latitude),
      .real(location.coordinate.longitude), .real(location.altitude), .real(location.speed), .real(location.heading),
      .real(location.horizontalAccuracy), .real(location.verticalAccuracy), .real(location.speedAccuracy),
      .real(location.headingAccuracy), .real(record.interpolationError))
  }

  private func findOrAddKey(of vehicle: FleetEngineVehicle) throws(BacklogStoreError) -> Int64 {
    if let key = keys[vehicle] { return key }
    try addVehicle.run(.text(vehicle.storedProvider), .text(vehicle.vehicleID))
    guard let key = try key(of: vehicle) else {
      throw BacklogStoreError(.damaged, "\(file.path) is damaged: a vehicle is missing")
    }
    keys[vehicle] = key
    return key
  }

  /// - Returns: nil if nothing is stored for the vehicle.
  private func key(of vehicle: FleetEngineVehicle) throws(BacklogStoreError) -> Int64? {
    defer { findVehicle.reset() }
    try findVehicle.bind([.text(vehicle.storedProvider), .text(vehicle.vehicleID)])
    return try findVehicle.step() ? findVehicle.integer(0) : nil
  }

  /// Deletes positions of other vehicles from before a time. Writes nothing if there are no such positions.
  package func forgetOthers(sparing vehicle: FleetEngineVehicle, before time: Timestamp) throws(BacklogStoreError) {
    let others = "vehicle NOT IN (SELECT key FROM vehicles WHERE provider_id = ? AND vehicle_id = ?) AND time < ?"
    let values = [
      Statement.Value.text(vehicle.storedProvider), .text(vehicle.vehicleID), .integer(time.milliseconds),
    ]
    let find = try database.prepare("SELECT 1 FROM positions WHERE \(others) LIMIT 1")
    try find.bind(values)
    guard try find.step() else { return }
    find.reset()
    defer { lastWrite = state }
    try database.transaction { () throws(BacklogStoreError) in
      let delete = try database.prepare("DELETE FROM positions WHERE \(others)")
      try delete.bind(values)
      _ = try delete.step()
    }
  }
}
