// SPDX-License-Identifier: Apache-2.0
import CSQLite
import Expectations
import Foundation
import Glibc
import PositionBacklog
import Vehicle
import Testing
import Timekeeping
import SystemCalls

@testable import BacklogStore

struct BacklogStoreTests {
  @Test("stored positions are read back exactly, oldest first")
  func roundTrip() throws {
    let fixture = try StoreFixture()
    let records = [try StoreFixture.record(30), try StoreFixture.record(-10, isFull: true)]
    do {
      let store = try fixture.open()
      try store.commit(
        records.map { StoreAgent.Write(key: StoreAgent.Key(vehicle: fixture.truck, id: $0.id), record: $0) })
    }
    try expectEqual(fixture.open().content(of: fixture.truck).records, records.reversed())
    expect(try fixture.open().content(of: fixture.other).records.isEmpty)
  }

  @Test("deleted records are gone, a record that is written twice exists once, and each vehicle has its own records")
  func changes() throws {
    let fixture = try StoreFixture()
    let store = try fixture.open()
    try store.commit(try fixture.puts(1...5) + fixture.puts(2...3, of: fixture.other))
    try store.commit(try fixture.deletes([2, 4, 99]) + fixture.puts([5]))
    try expectEqual(fixture.seconds(store), [1, 3, 5])
    try expectEqual(fixture.seconds(store, of: fixture.other), [2, 3])
    try store.forgetOthers(sparing: fixture.truck, before: Timestamp(seconds: 3))
    try expectEqual(fixture.seconds(store), [1, 3, 5])
    try expectEqual(fixture.seconds(store, of: fixture.other), [3])
  }

  @Test("the file is accessible only to its owner, uses WAL mode, and is intact according to SQLite's own shell")
  func file() throws {
    let fixture = try StoreFixture()
    // The file already exists, with access for everyone.
    expect(FileManager.default.createFile(atPath: fixture.path, contents: nil, attributes: [.posixPermissions: 0o666]))
    var store: BacklogStore? = try fixture.open()
    try store?.commit(try fixture.puts(0..<500))
    for name in fixture.names {
      let mode = try FileManager.default.attributesOfItem(atPath: "\(fixture.directory)/\(name)")[.posixPermissions]
      expect(mode as? Int == 0o600, "\(name)")
    }
    expectEqual(fixture.names, ["backlog.sqlite", "backlog.sqlite-wal"])
    expect(store?.size ?? 0 > 500 * 50)
    expect(try fixture.shell("SELECT count(*) FROM positions").contains("locked"))
    store = nil
    expectEqual(fixture.names, ["backlog.sqlite"])
    // The same holds for a file that has a write-ahead log already, before anything is written.
    store = try fixture.open()
    _ = try store?.content(of: fixture.truck)
    expectEqual(fixture.names, ["backlog.sqlite", "backlog.sqlite-wal"])
    expect(try fixture.shell("SELECT count(*) FROM positions").contains("locked"))
    store = nil
    try expectEqual(
      fixture.shell("PRAGMA integrity_check; PRAGMA journal_mode; SELECT count(*) FROM positions"), "ok\nwal\n500"
    )
  }

  @Test("a second process finds the file locked, and the first one can still write")
  func busy() throws {
    let fixture = try StoreFixture()
    let store = try fixture.open()
    try store.commit(try fixture.puts(1...3))
    // SQLite's locks belong to the process, so only another process is locked out.
    expect(try fixture.shell("PRAGMA locking_mode=EXCLUSIVE; SELECT count(*) FROM positions").contains("locked"))
    try store.commit(try fixture.puts(4...4))
    try expectEqual(fixture.seconds(store), [1, 2, 3, 4])
  }

  @Test("a missing directory is created for its owner only; a missing parent is an error")
  func missingDirectory() throws {
    let fixture = try StoreFixture()
    let inner = fixture.directory + "/inner"
    _ = try BacklogStore.open(directory: inner, maxSize: 1_000_000)
    expect(try FileManager.default.attributesOfItem(atPath: inner)[.posixPermissions] as? Int == 0o700)
    let error = #expect(throws: BacklogStoreError.self) {
      _ = try BacklogStore.open(directory: fixture.directory + "/a/b", maxSize: 1_000_000)
    }
    expectEqual(error?.code, .permissionDenied)
    expectEqual(error?.message.contains("backlog.directory"), true)
    expectEqual(error?.message.contains("No such file or directory"), true)
  }

  @Test("the directory may be reached through a symbolic link; a link in place of the file is not followed")
  func linkedDirectory() throws {
    let fixture = try StoreFixture()
    let files = FileManager.default
    try files.createDirectory(atPath: fixture.directory + "/data/state", withIntermediateDirectories: true)
    try files.createSymbolicLink(atPath: fixture.directory + "/var", withDestinationPath: "data")
    let directory = fixture.directory + "/var/state"
    try BacklogStore.open(directory: directory, maxSize: 1_000_000).store.commit(try fixture.puts(1...3))
    try expectEqual(fixture.seconds(BacklogStore.open(directory: directory, maxSize: 1_000_000).store), [1, 2, 3])
    try files.moveItem(
      atPath: fixture.directory + "/data/state/backlog.sqlite", toPath: fixture.directory + "/elsewhere.sqlite")
    try files.createSymbolicLink(
      atPath: fixture.directory + "/data/state/backlog.sqlite",
      withDestinationPath: fixture.directory + "/elsewhere.sqlite")
    #expect(throws: BacklogStoreError.self) {
      _ = try BacklogStore.open(directory: directory, maxSize: 1_000_000)
    }
  }

  @Test("a file at the directory's path, or a directory at the file's path, is an error")
  func wrongKind() throws {
    let fixture = try StoreFixture()
    try FileManager.default.createDirectory(atPath: fixture.path, withIntermediateDirectories: false)
    let plainFile = fixture.directory + "/file"
    try Data().write(to: URL(fileURLWithPath: plainFile))
    for directory in [fixture.directory, plainFile] {
      let error = #expect(throws: BacklogStoreError.self) {
        _ = try BacklogStore.open(directory: directory, maxSize: 1_000_000)
      }
      expectEqual(error?.code, .permissionDenied)
    }
  }

  @Test("a full disk, a full quota and a file at its maximum size all mean that there is no room")
  func noRoom() {
    func code(_ code: Int32, _ systemErrno: Int32) -> BacklogStoreErrorCode {
      Database.error(code, "disk I/O error", systemErrno: systemErrno, path: "/srv/backlog.sqlite").code
    }
    expectEqual(code(SQLITE_FULL, ENOSPC), .full)
    expectEqual(code(SQLITE_FULL, 0), .full)
    expectEqual(code(SQLITE_IOERR | 3 << 8, EDQUOT), .full)
    expectEqual(code(SQLITE_IOERR | 3 << 8, EIO), .failed)
    expectEqual(code(SQLITE_CANTOPEN, ENOSPC), .full)
    expectEqual(code(SQLITE_CANTOPEN, EDQUOT), .full)
    expectEqual(code(SQLITE_CANTOPEN, EACCES), .permissionDenied)
  }

  @Test("a file at its maximum size rejects writes, loses nothing, and accepts writes when there is space again")
  func maxSize() throws {
    let fixture = try StoreFixture()
    let store = try fixture.open(maxSize: 1_500_000)
    var last: Int64 = 0
    let error = #expect(throws: BacklogStoreError.self) {
      for start in stride(from: Int64(0), to: 100_000, by: 500) {
        try store.commit(try fixture.puts(start..<start + 500))
        last = start + 500
      }
    }
    expectEqual(error?.code, .full)
    expect(last > 2000)
    try expectEqual(fixture.seconds(store).count, Int(last))
    expect(store.size <= 1_500_000 + 300_000)
    // No records are dropped, because there is no other vehicle.
    try expectEqual(store.makeRoom(for: 500, sparing: fixture.truck), 0)
    try expectEqual(fixture.seconds(store).count, Int(last))
    try store.commit(try fixture.deletes(0..<1000))
    try store.commit(try fixture.puts(last..<last + 500))
    try expectEqual(fixture.seconds(store).count, Int(last) - 500)
  }

  @Test("256 bytes per position are enough, however often a full backlog is thinned")
  func capacity() throws {
    let fixture = try StoreFixture()
    let store = try fixture.open(maxSize: 2_000_000)
    let capacity: Int64 = (2_000_000 - 1_048_576) / 256
    var random = SplitMix64(seed: 3)
    var held = [Int64]()
    var next: Int64 = 0
    for _ in 0..<40 {
      let new = Array(next..<next + capacity - Int64(held.count))
      next += capacity
      held += new
      try store.commit(
        try new.map {
          let record = try StoreFixture.record($0, isFull: true)
          return StoreAgent.Write(key: StoreAgent.Key(vehicle: fixture.truck, id: record.id), record: record)
        })
      expect(store.size <= 2_000_000 + 100_000)
      // Like thinning, this deletes records all along the track: about a third of them.
      let thinned = held.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
      try store.commit(try fixture.deletes(thinned))
      held.removeAll(where: Set(thinned).contains)
    }
    try expectEqual(fixture.seconds(store), held)
  }

  @Test("an older file is migrated with its contents; a newer one is set aside, not overwritten")
  func migration() throws {
    let fixture = try StoreFixture()
    try fixture.open().commit(try fixture.puts(1...3))
    var later = BacklogSchema.current
    later.steps.append("ALTER TABLE vehicles ADD COLUMN note TEXT NOT NULL DEFAULT 'none'")
    do {
      let (store, setAside) = try BacklogStore.open(directory: fixture.directory, maxSize: 1_000_000, schema: later)
      expectNil(setAside)
      try expectEqual(fixture.seconds(store), [1, 2, 3])
    }
    try expectEqual(fixture.shell("PRAGMA user_version; SELECT note FROM vehicles"), "\(later.steps.count)\nnone")
    let (store, setAside) = try BacklogStore.open(directory: fixture.directory, maxSize: 1_000_000)
    expectEqual(setAside?.name, "backlog.sqlite.corrupt-1")
    expectEqual(setAside?.why.contains("later release"), true)
    expect(try fixture.seconds(store).isEmpty)
  }

  @Test(
    "a read-only state directory is reported as a read-only disk; for other directories ReadWritePaths= is advised too"
  )
  func readOnly() {
    let own = StoreFile.advice(onReadOnly: "/var/lib/f", stateDirectories: "/var/lib/f:/var/lib/g")
    expect(own.hasPrefix("the disk is mounted read-only: findmnt -T /var/lib/f"))
    expect(StoreFile.advice(onReadOnly: "/var/lib/g/b", stateDirectories: "/var/lib/f:/var/lib/g") != own)
    expect(!own.contains("ReadWritePaths"))
    for directories in [nil, "/var/lib/f"] {
      let other = StoreFile.advice(onReadOnly: "/var/lib/fleet", stateDirectories: directories)
      expect(other.hasPrefix("the unit must allow it with ReadWritePaths=/var/lib/fleet"))
      expect(other.contains("or the disk is mounted read-only"))
    }
  }

  @Test("a file of the first version keeps its positions, with an interpolation error of 0")
  func firstVersion() throws {
    let fixture = try StoreFixture()
    var first = BacklogSchema.current
    first.steps.removeLast(first.steps.count - 1)
    do {
      _ = try? BacklogStore.open(directory: fixture.directory, maxSize: 1_000_000, schema: first)
      try expectEqual(
        fixture.shell(
          """
          INSERT INTO vehicles VALUES (1, 'p', 'truck-1');
          INSERT INTO positions (vehicle, time, latitude, longitude) VALUES (1, 7000, 48, 11), (1, 8000, 48.1, 11);
          PRAGMA user_version
          """), "1")
    }
    let store = try fixture.open()
    try expectEqual(fixture.seconds(store), [7, 8])
    expect(try store.content(of: fixture.truck).records.allSatisfy { $0.interpolationError == 0 })
    try store.commit([
      StoreAgent.Write(
        key: StoreAgent.Key(vehicle: fixture.truck, id: Timestamp(seconds: 8)),
        record: Backlog.Record(try store.content(of: fixture.truck).records[1].location, interpolationError: .infinity)
      )
    ])
    try expectEqual(store.content(of: fixture.truck).records.map(\.interpolationError), [0, .infinity])
  }

  @Test("a file that was set aside is named even if no new one can be made")
  func setAsideOnly() throws {
    let fixture = try StoreFixture()
    try fixture.open().commit(try fixture.puts(1...3))
    var later = BacklogSchema.current
    later.steps.append("INSERT INTO nowhere VALUES (1)")
    var setAside: StoreAgent.SetAside?
    #expect(throws: BacklogStoreError.self) {
      try BacklogStore.open(directory: fixture.directory, maxSize: 1_000_000, schema: later, setAside: &setAside)
    }
    expectEqual(setAside?.name, "backlog.sqlite.corrupt-1")
  }

  @Test("a migration step that fails leaves the contents of the file unchanged")
  func migrationFails() throws {
    let fixture = try StoreFixture()
    try fixture.open().commit(try fixture.puts(1...3))
    var later = BacklogSchema.current
    later.steps.append("CREATE TABLE more (x INTEGER); INSERT INTO nowhere VALUES (1)")
    _ = try? BacklogStore.open(directory: fixture.directory, maxSize: 1_000_000, schema: later)
    // The file is set aside as unusable, with its contents unchanged.
    let aside = fixture.path + ".corrupt-1"
    try FileManager.default.removeItem(atPath: fixture.path)
    try FileManager.default.moveItem(atPath: aside, toPath: fixture.path)
    try expectEqual(fixture.seconds(try fixture.open()), [1, 2, 3])
  }
}
