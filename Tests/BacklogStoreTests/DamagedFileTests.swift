// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import Foundation
import Vehicle
import SystemCalls
import Testing
import Timekeeping

@testable import BacklogStore

/// Files damaged by a power cut, a failing card or another program.
struct DamagedFileTests {
  /// A file of several pages, closed properly.
  private func filled() throws -> (StoreFixture, [UInt8]) {
    let fixture = try StoreFixture()
    try fixture.open().commit(try fixture.puts(0..<900))
    return (fixture, [UInt8](try Data(contentsOf: URL(fileURLWithPath: fixture.path))))
  }

  private func write(_ bytes: some Sequence<UInt8>, to path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }

  /// Opens any file, and checks that the store works afterwards.
  /// - Returns: the file that was set aside, if any.
  @discardableResult
  private func opens(_ fixture: StoreFixture) throws -> StoreAgent.SetAside? {
    let (store, setAside) = try BacklogStore.open(directory: fixture.directory, maxSize: 16_000_000)
    try store.commit(try fixture.puts([100_000]))
    try expectEqual(fixture.seconds(store).last, 100_000)
    return setAside
  }

  @Test("a file that is truncated after its header is set aside, and replaced; the three newest such files are kept")
  func truncated() throws {
    let (fixture, bytes) = try filled()
    expect(bytes.count >= 8 * 4096)
    var setAside: [String] = []
    for length in stride(from: 4096, to: bytes.count, by: 4096) {
      try write(bytes.prefix(length), to: fixture.path)
      setAside.append(try #require(try opens(fixture), "\(length)").name)
    }
    // A file that ends within the first page is set aside too. Without a complete header it is treated as a new file.
    for length in [100, 4000] {
      try write(bytes.prefix(length), to: fixture.path)
      setAside.append(try #require(try opens(fixture), "\(length)").name)
    }
    for length in [0, 1, 16] {
      try write(bytes.prefix(length), to: fixture.path)
      if let file = try opens(fixture) { setAside.append(file.name) }
    }
    expectEqual(
      Set(fixture.names.filter { $0.contains(".corrupt-") && !$0.hasSuffix("-wal") }), Set(setAside.suffix(3)))
  }

  @Test("a file whose header forbids writing, although the permissions allow it, is reported as unusable")
  func writeVersion() throws {
    let (fixture, bytes) = try filled()
    var damaged = bytes
    damaged[18] = 6
    try write(damaged, to: fixture.path)
    let error = #expect(throws: BacklogStoreError.self) {
      let store = try BacklogStore.open(directory: fixture.directory, maxSize: 16_000_000).store
      try store.commit(try fixture.puts([100_000]))
    }
    expectEqual(error?.isUnusable, true)
  }

  @Test("random bytes in any page never stop the store from working")
  func randomBytes() throws {
    let (fixture, bytes) = try filled()
    var random = SplitMix64(seed: 7)
    var setAside = 0
    for _ in 0..<60 {
      var damaged = bytes
      let page = Int.random(in: 0..<bytes.count / 1024, using: &random) * 1024
      for _ in 0..<Int.random(in: 1...64, using: &random) {
        damaged[page + Int.random(in: 0..<1024, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      try write(damaged, to: fixture.path)
      if try opens(fixture) != nil { setAside += 1 }
    }
    // Damage to a value is not detectable; damage to the structure is.
    expect(setAside > 15)
    try write((0..<20_000).map { _ in UInt8.random(in: 0...255, using: &random) }, to: fixture.path)
    try expectEqual(opens(fixture)?.why.contains("not a database"), true)
  }

  @Test("from a partially written log only the committed records are read")
  func halfWrittenLog() throws {
    let fixture = try StoreFixture()
    let copy = try StoreFixture()
    let store = try fixture.open()
    func logged() throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: fixture.path + "-wal"))) }
    let sizes = try (Int64(0)..<20).map { second in
      try store.commit(try fixture.puts([second]))
      return try logged().count
    }
    let main = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
    let log = try logged()
    for length in Array(stride(from: 0, through: log.count, by: 1009)) + sizes.flatMap({ [$0 - 1, $0] }) {
      try main.write(to: URL(fileURLWithPath: copy.path))
      try write(log.prefix(length), to: copy.path + "-wal")
      let (survivor, setAside) = try BacklogStore.open(directory: copy.directory, maxSize: 16_000_000)
      expectNil(setAside)
      let seconds = try copy.seconds(survivor)
      expectEqual(seconds, Array(0..<Int64(sizes.count { $0 <= length })))
    }
    // A torn page in the middle ends the log there.
    var torn = log
    for index in log.count / 2..<log.count / 2 + 512 { torn[index] = 0 }
    try main.write(to: URL(fileURLWithPath: copy.path))
    try write(torn, to: copy.path + "-wal")
    let (survivor, setAside) = try BacklogStore.open(directory: copy.directory, maxSize: 16_000_000)
    expectNil(setAside)
    let seconds = try copy.seconds(survivor)
    expect(seconds == Array(0..<Int64(seconds.count)) && seconds.count < 20)
  }

  @Test("another program's database is set aside unchanged")
  func foreign() throws {
    let fixture = try StoreFixture()
    _ = try fixture.shell("CREATE TABLE contacts (name); INSERT INTO contacts VALUES ('Ada')")
    let setAside = try #require(try opens(fixture))
    expect(setAside.why.contains("another program's"))
    try FileManager.default.removeItem(atPath: fixture.path)
    try FileManager.default.moveItem(atPath: "\(fixture.directory)/\(setAside.name)", toPath: fixture.path)
    try expectEqual(fixture.shell("SELECT name FROM contacts"), "Ada")
  }

  @Test("a backlog file without the table of positions is set aside")
  func noTable() throws {
    let (fixture, _) = try filled()
    _ = try fixture.shell("DROP TABLE positions")
    try expectEqual(opens(fixture)?.why.contains("no such table"), true)
  }

  @Test(
    "a row with an invalid value is reported as damaged, and all other rows are read",
    arguments: [
      "latitude = 91", "longitude = 9e999", "longitude = -180.001", "altitude = 1e300", "altitude = -9e999",
      "speed = -1",
      "speed = 1e6", "heading = 360", "heading = -0.1", "horizontal_accuracy = -1", "vertical_accuracy = 1e300",
      "speed_accuracy = 9e999", "heading_accuracy = 361", "spent = 1e300", "spent = -1", "spent = 1000.1",
      "spent = -9e999", "time = 9223372036854775807", "time = -9223372036854775807",
    ])
  func invalidValue(change: String) throws {
    let (fixture, _) = try filled()
    _ = try fixture.shell("UPDATE positions SET \(change) WHERE time = 5001")
    let content = try fixture.open().content(of: fixture.truck)
    expectEqual(content.records.count, 899)
    expectEqual(content.damaged.count, 1)
    expect(!content.records.contains { $0.id.milliseconds == 5001 })
  }

  @Test(
    "the interpolation error of a position is restored exactly", arguments: ["0", "17.5", "1000", "9e999"])
  func interpolationError(stored: String) throws {
    let (fixture, _) = try filled()
    _ = try fixture.shell("UPDATE positions SET spent = \(stored) WHERE time = 5001")
    let content = try fixture.open().content(of: fixture.truck)
    expect(content.damaged.isEmpty)
    expect(content.records.first { $0.id.milliseconds == 5001 }?.interpolationError == Double(stored) ?? .infinity)
  }

  @Test("if there are more rows than can be queued, the newest are read, and the others are deleted and counted")
  func excess() throws {
    let (fixture, _) = try filled()
    let store = try fixture.open()
    let all = try fixture.seconds(store)
    let content = try store.content(of: fixture.truck, limit: 100)
    expectEqual(content.records.map { $0.id.milliseconds / 1000 }, all.suffix(100))
    expectEqual(content.excessCount, 800)
    try expectEqual(fixture.seconds(store), all.suffix(100))
    try expectEqual(store.content(of: fixture.truck, limit: 100).excessCount, 0)
    try store.commit(try fixture.puts([2000]))
    try expectEqual(fixture.seconds(store), all.suffix(100) + [2000])
  }

  @Test("a file with more than ten thousand invalid rows is reported as damaged", .timeLimit(.minutes(1)))
  func mostlyInvalid() throws {
    let (fixture, _) = try filled()
    _ = try fixture.shell(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
      INSERT INTO positions SELECT 1, 5000000 + i, 91, 11, 1, 1, 1, 1, 1, 1, 1, 0 FROM n
      """)
    let store = try fixture.open()
    let error = #expect(throws: BacklogStoreError.self) { try store.content(of: fixture.truck) }
    expectEqual(error?.code, .damaged)
  }

  @Test("rows whose vehicle is not in the file are deleted and counted")
  func orphaned() throws {
    let (fixture, _) = try filled()
    _ = try fixture.shell(
      "UPDATE positions SET vehicle = 7 WHERE time < 3000; UPDATE positions SET vehicle = 99 WHERE time = 5001")
    let store = try fixture.open()
    try expectEqual(store.content(of: fixture.truck).orphanedCount, 4)
    try expectEqual(store.content(of: fixture.truck).orphanedCount, 0)
    try expectEqual(fixture.seconds(store).count, 896)
  }

  @Test(
    "a file with a view or a trigger, which could execute any SQL, is treated as another program's",
    arguments: [
      "CREATE TRIGGER t AFTER INSERT ON positions BEGIN DELETE FROM positions; END",
      "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
    ])
  func viewsAndTriggers(statement: String) throws {
    let (fixture, _) = try filled()
    _ = try fixture.shell(statement)
    try expectEqual(opens(fixture)?.why.contains("views or triggers"), true)
  }

  @Test("a file with a different page size, for which the maximum size would be wrong, is treated as another program's")
  func largePages() throws {
    let (fixture, _) = try filled()
    _ = try fixture.shell("PRAGMA journal_mode = DELETE; PRAGMA page_size = 65536; VACUUM")
    try expectEqual(opens(fixture)?.why.contains("a page size"), true)
  }

  /// The number of damaged files; `make damage` sets DAMAGED_FILES.
  private static let files = ProcessInfo.processInfo.environment["DAMAGED_FILES"].flatMap(Int.init) ?? 400

  @Test(
    "a damaged database file is set aside, or each of its rows is restored or counted; a damaged log may lose rows"
  )
  func anyFile() throws {
    let fixture = try StoreFixture()
    var store: BacklogStore? = try fixture.open()
    let rows = try fixture.puts(0..<120) + fixture.puts(60..<160, of: fixture.other)
    for start in stride(from: 0, to: rows.count, by: 20) { try store?.commit(Array(rows[start..<start + 20])) }
    func bytes(_ name: String) throws -> [UInt8] {
      [UInt8](try Data(contentsOf: URL(fileURLWithPath: fixture.directory + "/" + name)))
    }
    let openMain = try bytes("backlog.sqlite")
    let log = try bytes("backlog.sqlite-wal")
    store = nil
    let closed = try bytes("backlog.sqlite")
    var random = SplitMix64(seed: UInt64(Self.files))
    var (setAside, whole, smaller) = (0, 0, 0)
    for number in 0..<Self.files {
      var (main, wal) = number % 4 == 0 ? (openMain, log) : (closed, [])
      let isLogDamaged = number % 8 == 0
      func spoil(_ bytes: inout [UInt8]) {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: bytes = (0..<Int.random(in: 0...4096, using: &random)).map { _ in .random(in: 0...255, using: &random) }
        case 1:
          let start = Int.random(in: 0..<bytes.count, using: &random)
          for index in start..<min(start + Int.random(in: 1...2000, using: &random), bytes.count) {
            bytes[index] = .random(in: 0...255, using: &random)
          }
        case 2: bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
        default:
          for _ in 0..<Int.random(in: 1...3, using: &random) {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
          }
        }
      }
      if isLogDamaged { spoil(&wal) } else { spoil(&main) }
      let name = "\(fixture.directory)/\(number)"
      try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: false)
      defer { try? FileManager.default.removeItem(atPath: name) }
      try write(main, to: "\(name)/backlog.sqlite")
      if !wal.isEmpty { try write(wal, to: "\(name)/backlog.sqlite-wal") }
      var (opened, aside): (BacklogStore?, StoreAgent.SetAside?) = try BacklogStore.open(
        directory: name, maxSize: 4_000_000)
      var count = 0
      do {
        for vehicle in [fixture.truck, fixture.other] {
          let content = try #require(try opened?.content(of: vehicle))
          expect(content.records.allSatisfy { $0.isPlausible })
          count += content.records.count + content.damaged.count + content.orphanedCount
        }
        try opened?.commit(try fixture.puts([100_000]))
      } catch let error as BacklogStoreError where error.isUnusable {
        opened = nil
        opened = try BacklogStore.replace(
          directory: name, maxSize: 4_000_000, why: error.message, setAside: &aside)
      }
      if aside != nil {
        setAside += 1
      } else if count == rows.count {
        whole += 1
      } else {
        smaller += 1
        // Data after a damaged page of a log is treated as not committed, and a file without a header as new.
        expect(isLogDamaged || main.count < 100, "file \(number): \(count) of \(rows.count) rows")
      }
      // The store continues to work.
      try opened?.commit(try fixture.puts([100_001]))
    }
    expect(
      setAside > Self.files / 10 && whole > Self.files / 10, "\(setAside) set aside, \(whole) whole, \(smaller) less")
  }
}
