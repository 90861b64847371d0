// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import SystemCalls

/// The tables, and the migration of older files.
///
/// 0.1.0 reads files of version 2, inserts rows by the number of columns, and sets all other files aside. To lose
/// nothing in a downgrade, the version stays 2 and the tables of that version stay unchanged; later releases only add
/// other tables, or rows that 0.1.0 takes for those of another vehicle (`PreviousReleaseTests`).
struct BacklogSchema {
  /// The application ID in the file's header: ASCII `FLoc`. A file with another ID belongs to another program.
  static let applicationID: Int64 = 0x464C_6F63

  /// Each step migrates a file from one version to the next; the first creates it. Steps are never changed, only
  /// appended.
  var steps: [String]

  static let current = BacklogSchema(steps: [
    """
    CREATE TABLE vehicles (
      key INTEGER PRIMARY KEY,
      provider_id TEXT NOT NULL,
      vehicle_id TEXT NOT NULL,
      UNIQUE (provider_id, vehicle_id)
    ) STRICT;
    CREATE TABLE positions (
      vehicle INTEGER NOT NULL REFERENCES vehicles (key),
      time INTEGER NOT NULL,
      latitude REAL NOT NULL,
      longitude REAL NOT NULL,
      altitude REAL,
      speed REAL,
      heading REAL,
      horizontal_accuracy REAL,
      vertical_accuracy REAL,
      speed_accuracy REAL,
      heading_accuracy REAL,
      PRIMARY KEY (vehicle, time)
    ) STRICT, WITHOUT ROWID;
    """,
    // The interpolation error of the segment that ends at a position, in metres.
    "ALTER TABLE positions ADD COLUMN spent REAL NOT NULL DEFAULT 0",
  ])

  /// Verifies the structure of a file.
  ///
  /// - Parameter isNew: whether it has no tables yet.
  static func check(_ database: Database, isNew: Bool) throws(BacklogStoreError) {
    // The IDs of each vehicle are stored in the table and in its index, and the quick check does not compare the two.
    for check in ["quick_check(1)"] + (isNew ? [] : ["integrity_check(vehicles)"]) {
      let result = try database.text("PRAGMA \(check)")
      guard result == "ok" else { throw BacklogStoreError(.damaged, "\(database.path) is damaged: \(result)") }
    }
  }

  /// Verifies that a file is this daemon's and undamaged, and migrates it.
  func prepare(_ database: Database) throws(BacklogStoreError) {
    let path = database.path
    let isNew = try database.number("SELECT count(*) FROM sqlite_schema") == 0
    let application = try database.number("PRAGMA application_id")
    let version = try database.number("PRAGMA user_version")
    guard application == BacklogSchema.applicationID || (application == 0 && version == 0 && isNew) else {
      throw BacklogStoreError(.foreign, "\(path) is another program's database")
    }
    guard version <= steps.count, version >= 0 else {
      throw BacklogStoreError(.foreign, "\(path) is of a later release (version \(version))")
    }
    try BacklogSchema.check(database, isNew: isNew)
    // All sizes are computed in pages of this size.
    guard try database.number("PRAGMA page_size") == BacklogStore.pageSize else {
      throw BacklogStoreError(.foreign, "\(path) has a page size that this program does not use")
    }
    // The daemon creates no views or triggers.
    guard try database.number("SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index')") == 0 else {
      throw BacklogStoreError(.foreign, "\(path) contains views or triggers, which this program does not create")
    }
    for (index, step) in steps.enumerated().dropFirst(Int(version)) {
      try database.transaction { () throws(BacklogStoreError) in
        try database.run(step)
        try database.run("PRAGMA application_id = \(BacklogSchema.applicationID); PRAGMA user_version = \(index + 1)")
      }
    }
  }
}

extension FleetEngineVehicle {
  /// The value of the column `provider_id`: vehicles of services other than deliveries have a prefix with a character
  /// that no ID contains.
  var storedProvider: String { service == .deliveries ? providerID : "\(service.name)/\(providerID)" }
}
