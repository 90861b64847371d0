// SPDX-License-Identifier: Apache-2.0
import Foundation
import Delivery
import Testing
import Timekeeping

@testable import BacklogStore

/// Files as a power cut, a bad card or another program leaves them.
@Suite struct DamagedFileTests {
  /// A file of some pages, closed in order.
  private func filled() throws -> (StoreFixture, [UInt8]) {
    let fixture = try StoreFixture()
    try fixture.open().commit(try fixture.puts(0..<900))
    return (fixture, [UInt8](try Data(contentsOf: URL(fileURLWithPath: fixture.path))))
  }

  private func write(_ bytes: some Sequence<UInt8>, to path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }

  /// Opens whatever is there, and sees that the store works afterwards.
  @discardableResult
  private func opens(_ fixture: StoreFixture) throws -> StoreAgent.SetAside? {
    let (store, setAside) = try BacklogStore.open(directory: fixture.directory, maxSize: 16_000_000)
    try store.commit(try fixture.puts([100_000]))
    #expect(try fixture.seconds(store).last == 100_000)
    return setAside
  }

  @Test("a file that is cut off anywhere is set aside, and an empty one takes its place")
  func truncated() throws {
    let (fixture, bytes) = try filled()
    #expect(bytes.count >= 8 * 4096)
    for length in stride(from: 4096, to: bytes.count, by: 4096) {
      try write(bytes.prefix(length), to: fixture.path)
      let setAside = try opens(fixture)
      #expect(setAside != nil, "\(length)")
    }
    // In the middle of the first page too. Without a header it is a new file.
    for length in [100, 4000] {
      try write(bytes.prefix(length), to: fixture.path)
      #expect(try opens(fixture) != nil, "\(length)")
    }
    for length in [0, 1, 16] {
      try write(bytes.prefix(length), to: fixture.path)
      try opens(fixture)
    }
    // However often that happens, the newest are kept and no more.
    #expect(fixture.names.filter { $0.contains(".corrupt-") && !$0.hasSuffix("-wal") }.count == 3)
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
    // Damage inside a number cannot be seen; damage of the structure is.
    #expect(setAside > 15)
    try write((0..<20_000).map { _ in UInt8.random(in: 0...255, using: &random) }, to: fixture.path)
    #expect(try opens(fixture)?.why.contains("not a database") == true)
  }

  @Test("a log that was half written gives what was committed, and nothing of what was not")
  func halfWrittenLog() throws {
    let fixture = try StoreFixture()
    let copy = try StoreFixture()
    let store = try fixture.open()
    for second in Int64(0)..<20 { try store.commit(try fixture.puts([second])) }
    let main = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
    let log = [UInt8](try Data(contentsOf: URL(fileURLWithPath: fixture.path + "-wal")))
    var before = -1
    for length in stride(from: 0, through: log.count, by: 1009) {
      try main.write(to: URL(fileURLWithPath: copy.path))
      try write(log.prefix(length), to: copy.path + "-wal")
      let (survivor, setAside) = try BacklogStore.open(directory: copy.directory, maxSize: 16_000_000)
      #expect(setAside == nil)
      let seconds = try copy.seconds(survivor)
      #expect(seconds == Array(0..<Int64(seconds.count)))
      #expect(seconds.count >= before)
      before = seconds.count
    }
    #expect(before >= 18)
    // A torn page in its midst ends it there.
    var torn = log
    for index in log.count / 2..<log.count / 2 + 512 { torn[index] = 0 }
    try main.write(to: URL(fileURLWithPath: copy.path))
    try write(torn, to: copy.path + "-wal")
    let (survivor, setAside) = try BacklogStore.open(directory: copy.directory, maxSize: 16_000_000)
    #expect(setAside == nil)
    let seconds = try copy.seconds(survivor)
    #expect(seconds == Array(0..<Int64(seconds.count)) && seconds.count < 20)
  }

  @Test("another program's database is set aside whole")
  func foreign() throws {
    let fixture = try StoreFixture()
    _ = try fixture.shell("CREATE TABLE contacts (name); INSERT INTO contacts VALUES ('Ada')")
    let setAside = try #require(try opens(fixture))
    #expect(setAside.why.contains("another program's"))
    try FileManager.default.removeItem(atPath: fixture.path)
    try FileManager.default.moveItem(atPath: "\(fixture.directory)/\(setAside.name)", toPath: fixture.path)
    #expect(try fixture.shell("SELECT name FROM contacts") == "Ada")
  }

  @Test("a file of ours without its tables is set aside")
  func noTables() throws {
    let (fixture, _) = try filled()
    _ = try fixture.shell("DROP TABLE positions")
    #expect(try opens(fixture)?.why.contains("no such table") == true)
  }

  @Test("a place that is on no map is left out")
  func impossiblePlace() throws {
    let (fixture, _) = try filled()
    _ = try fixture.shell(
      "UPDATE positions SET latitude = 91 WHERE time = 5001; UPDATE positions SET longitude = 9e999 WHERE time = 6001")
    let seconds = try fixture.seconds(try fixture.open())
    #expect(seconds.count == 898)
    #expect(!seconds.contains(5) && !seconds.contains(6))
  }
}
