// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import SystemCalls

/// The tables, and how an older file comes to have them.
///
/// 0.1.0 reads files of version 2, adds rows by the number of columns, and sets everything else aside. So that a downgrade
/// strands nothing, a file stays at version 2 and its tables as they are; what later releases add is other rows, which 0.1.0
/// takes for another vehicle's, or tables of their own (`PreviousReleaseTests`).
struct BacklogSchema {
  /// In the file's header: the ASCII letters `FLoc`. A file with another is another program's.
  static let applicationID: Int64 = 0x464C_6F63

  /// Each brings a file from one version to the next; the first makes it from nothing. They are never changed, only added to.
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
    // Metres that thinning has spent on the way to a position from the one before it.
    "ALTER TABLE positions ADD COLUMN spent REAL NOT NULL DEFAULT 0",
  ])

  /// Sees that a file is ours and whole, and brings it up to date.
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
    // Whose positions they are stands in two places, of which the quick check compares none.
    for check in ["quick_check(1)"] + (isNew ? [] : ["integrity_check(vehicles)"]) {
      let verdict = try database.text("PRAGMA \(check)")
      guard verdict == "ok" else { throw BacklogStoreError(.damaged, "\(path) is damaged: \(verdict)") }
    }
    // All sizes are reckoned in them.
    guard try database.number("PRAGMA page_size") == BacklogStore.pageSize else {
      throw BacklogStoreError(.foreign, "\(path) has pages of another size than this program makes")
    }
    // Whatever a view or a trigger does, it is not ours.
    guard try database.number("SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index')") == 0 else {
      throw BacklogStoreError(.foreign, "\(path) holds views or triggers, which this program does not make")
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
  /// What the column `provider_id` holds: vehicles of each service but deliveries are set apart by a prefix with a character
  /// that no ID has.
  var storedProvider: String { service == .deliveries ? providerID : "\(service.name)/\(providerID)" }
}
