// SPDX-License-Identifier: Apache-2.0
@testable import Configuration
import EventLoop
import Expectations
import FileTesting
import FleetEngine
import Foundation
import LoopTesting
import Positioning
import PositionBacklog
import Vehicle
import Testing
import Timekeeping
import SystemCalls

@testable import BacklogStore
@testable import LocationDaemon

/// `StoreAgent` and `StorePerformer` on a real event loop, with real files.
final class StorePerformerTests {
  private let loop: EventLoop
  private let temporary: TemporaryDirectory
  /// The path of the store's directory, which does not exist yet.
  private let directory: String
  private let truck = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-1")
  private let other = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-2")
  private var reports: [VehicleAgent.Input] = []
  private var memory = Backlog()

  init() throws {
    loop = try EventLoop()
    temporary = try TemporaryDirectory()
    directory = temporary("backlog")
  }

  private func settings(
    _ interval: Duration = .milliseconds(20), in directory: String? = nil
  ) -> StoreAgent.Configuration {
    var settings = StoreAgent.Configuration()
    settings.directory = directory ?? self.directory
    settings.maxSize = 4_000_000
    settings.commitInterval = interval
    return settings
  }

  private func performer(_ settings: StoreAgent.Configuration? = nil) throws -> StoreDriver {
    try StoreDriver(settings ?? self.settings(), vehicle: truck, loop: loop) { [unowned self] input in
      guard input == .storeStartsOver else {
        reports.append(input)
        return nil
      }
      return memory.records
    }
  }

  private func add(_ seconds: some Sequence<Int64>, to performer: StoreDriver) throws {
    for second in seconds {
      let place = try #require(Coordinate(latitude: 48.1 + Double(second) / 1e6, longitude: 11.7654321))
      for change in memory.append(
        VehicleLocation(coordinate: place, time: Timestamp(seconds: second)), limit: 100_000)
      {
        performer.handle(.changed(change))
      }
    }
  }

  private func remove(_ seconds: [Int64], from performer: StoreDriver) {
    for change in memory.remove(seconds.map(Timestamp.init(seconds:)), .delivered) {
      performer.handle(.changed(change))
    }
  }

  /// The reports as text, without numbers that vary.
  private var reported: [String] {
    reports.map { input in
      switch input {
      case .restored(let records): "restored \(records.map { $0.id.milliseconds / 1000 })"
      case .store(.healthy): "healthy"
      case .store(.off): "off"
      case .store(.memoryOnly): "memory only"
      case .storeSetAside(let name, _): "set aside \(name)"
      case .storeReplaced(let place): "replaced in \(place == directory ? "its directory" : place)"
      case .storeRowsDropped(let count, let reason): "\(count) rows \(reason)"
      case .othersDropped: "others dropped"
      default: "?"
      }
    }
  }

  /// The positions of a vehicle in the file, which must be closed.
  private func stored(for vehicle: FleetEngineVehicle? = nil, in directory: String? = nil) throws -> [Int64] {
    let (store, setAside) = try BacklogStore.open(directory: directory ?? self.directory, maxSize: 4_000_000)
    expectNil(setAside)
    return try store.content(of: vehicle ?? truck).records.map { $0.id.milliseconds / 1000 }
  }

  @Test(
    "changes are on disk after the commit interval, and the positions are restored at the next start")
  func follows() throws {
    var performer: StoreDriver? = try performer()
    performer?.start()
    expectEqual(reported, ["restored []", "healthy"])
    let empty = try #require(performer?.size)
    let start = loop.now.boot
    try add(1...50, to: try #require(performer))
    let size = performer?.size
    // After a stall that is longer than the commit interval, some are on disk already.
    if loop.now.boot - start < settings().commitInterval ?? .zero { expectEqual(size, empty) }
    expect(try loop.runs { (performer?.size ?? 0) > empty })
    remove([2, 3], from: try #require(performer))
    performer?.close()
    performer = nil
    try expectEqual(stored(), [1] + Array(4...50))
    reports = []
    let next = try self.performer()
    next.start()
    expectEqual(reported, ["restored \([1] + Array(4...50))", "healthy"])
    next.close()
  }

  @Test("with a commit interval of zero, a change is on disk before handle returns")
  func atOnce() throws {
    let performer = try performer(settings(.zero))
    performer.start()
    let before = try #require(performer.size)
    try add([1], to: performer)
    expect(try #require(performer.size) > before)
    performer.close()
  }

  @Test("positions of other vehicles are dropped, oldest first, when the file has reached its maximum size")
  func othersMakeRoom() throws {
    var small = settings()
    small.maxSize = 2_000_000
    var count: Int64 = 0
    do {
      let (store, _) = try BacklogStore.open(directory: directory, maxSize: small.maxSize)
      let error = #expect(throws: BacklogStoreError.self) {
        for start in stride(from: Int64(0), to: 100_000, by: 500) {
          let records = try (start..<start + 500).map { second in
            let place = try #require(Coordinate(latitude: 48, longitude: 11))
            return Backlog.Record(VehicleLocation(coordinate: place, time: Timestamp(seconds: second)))
          }
          try store.commit(records.map { StoreAgent.Write(key: StoreAgent.Key(vehicle: other, id: $0.id), record: $0) })
          count = start + 500
        }
      }
      expectEqual(error?.code, .full)
    }
    let performer = try performer(small)
    performer.start()
    try add(1...1500, to: performer)
    expect(try loop.runs { self.reports.count > 2 })
    // A slow machine needs several commits, and each of them may have to make room.
    expect(reported.prefix(2) == ["restored []", "healthy"] && Set(reported.dropFirst(2)) == ["others dropped"])
    performer.close()
    try expectEqual(stored(), Array(1...1500))
    let left = try stored(for: other)
    expectEqual(left.last, count - 1)
    expect(left.count < Int(count) && left.count > Int(count) - 4500)
  }

  @Test("changes that cannot be written stay in memory, and are on disk once the directory can be created")
  func noDirectory() throws {
    try Data().write(to: URL(fileURLWithPath: directory))
    let performer = try performer()
    performer.start()
    expectEqual(reported, ["memory only"])
    try add(1...3, to: performer)
    remove([2], from: performer)
    try FileManager.default.removeItem(atPath: directory)
    // A reload also starts the store at once, without waiting for the retry.
    performer.start()
    expectEqual(reported, ["memory only", "restored [1, 3]", "healthy"])
    performer.close()
    try expectEqual(stored(), [1, 3])
  }

  @Test("a file that is found damaged is renamed, and all positions in memory are written to a new one")
  func damagedInUse() throws {
    let performer = try performer()
    performer.start()
    // These are more than SQLite caches in memory.
    try add(1...9000, to: performer)
    expect(try loop.runs { (performer.size ?? 0) > 350_000 })
    for name in ["backlog.sqlite", "backlog.sqlite-wal"] {
      let handle = try #require(FileHandle(forWritingAtPath: "\(directory)/\(name)"))
      let size = Int(try handle.seekToEnd())
      try handle.seek(toOffset: 4096)
      handle.write(Data(repeating: 0xA5, count: max(size - 4096, 0)))
      try handle.close()
    }
    for second in Int64(1)...40 { remove([second * 200], from: performer) }
    expect(try loop.runs { reported.contains("set aside backlog.sqlite.corrupt-1") })
    expect(reported.filter { $0 == "memory only" }.isEmpty)
    performer.close()
    try expectEqual(stored(), memory.records.map { $0.id.milliseconds / 1000 })
    try expectEqual(stored().count, 8960)
  }

  @Test(
    "if another program has overwritten the file or its log, the next commit detects that, and no position is lost",
    arguments: ["file", "log", "both", "pages", "truncated"])
  func damagedInUse(what: String) throws {
    let performer = try performer()
    performer.start()
    try add(1...50, to: performer)
    let before = performer.size ?? 0
    expect(try loop.runs { (performer.size ?? 0) > before || self.onDisk("backlog.sqlite-wal") > 8192 })
    reports = []
    let (file, log) = ("\(directory)/backlog.sqlite", "\(directory)/backlog.sqlite-wal")
    let noise = Data((0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 3) })
    func overwrite(_ path: String, from offset: UInt64 = 0) throws {
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try handle.seek(toOffset: offset)
      try handle.write(contentsOf: noise)
      try handle.close()
    }
    if what == "file" || what == "both" { try overwrite(file) }
    if what == "log" || what == "both" { try overwrite(log) }
    // The headers are unchanged.
    if what == "pages" { try overwrite(log, from: 56) }
    if what == "truncated" { expectEqual(truncate(log, 0), 0) }
    try add([51], to: performer)
    expect(try loop.runs { !self.reports.isEmpty })
    expectEqual(reported, ["set aside backlog.sqlite.corrupt-1"])
    performer.close()
    try expectEqual(stored(), Array(1...51))
  }

  @Test("a file whose modification time or permissions have changed stays in use")
  func touched() throws {
    let performer = try performer()
    performer.start()
    try add(1...50, to: performer)
    expect(try loop.runs { self.onDisk("backlog.sqlite-wal") > 8192 })
    reports = []
    for name in ["backlog.sqlite", "backlog.sqlite-wal"] {
      let path = "\(directory)/\(name)"
      expect(utimes(path, nil) == 0 && chmod(path, 0o640) == 0)
    }
    let before = onDisk("backlog.sqlite-wal")
    try add([51], to: performer)
    expect(try loop.runs { self.onDisk("backlog.sqlite-wal") > before })
    expectEqual(reported, [])
    performer.close()
    try expectEqual(stored(), Array(1...51))
  }

  @Test(
    "if the file, its log or the directory was deleted or replaced, the next commit writes all positions again",
    arguments: ["file", "log", "directory", "another file"])
  func deletedInUse(what: String) throws {
    let performer = try performer()
    performer.start()
    try add(1...50, to: performer)
    let before = performer.size ?? 0
    expect(try loop.runs { (performer.size ?? 0) > before || self.onDisk("backlog.sqlite-wal") > 8192 })
    reports = []
    switch what {
    case "file":
      for name in ["backlog.sqlite", "backlog.sqlite-wal"] {
        try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
      }
    case "log": try FileManager.default.removeItem(atPath: "\(directory)/backlog.sqlite-wal")
    case "directory": try FileManager.default.removeItem(atPath: directory)
    default:
      try FileManager.default.removeItem(atPath: directory)
      let (backup, _) = try BacklogStore.open(directory: directory, maxSize: 4_000_000)
      let place = try #require(Coordinate(latitude: 48, longitude: 11))
      let old = Backlog.Record(VehicleLocation(coordinate: place, time: Timestamp(seconds: 0)))
      try backup.commit([StoreAgent.Write(key: StoreAgent.Key(vehicle: truck, id: old.id), record: old)])
    }
    try add([51], to: performer)
    if what == "log" {
      // Nothing is lost: the contents of the log are written to the file itself.
      expect(try loop.runs { self.onDisk("backlog.sqlite") > 4096 })
      expectEqual(reported, [])
    } else {
      expect(try loop.runs { self.reports.count > 1 })
      expectEqual(reported, ["replaced in its directory", "restored \(Array((what == "another file" ? 0 : 1)...51))"])
    }
    performer.close()
    try expectEqual(stored(), Array((what == "another file" ? 0 : 1)...51))
  }

  @Test("a file that is deleted after the last commit is written again when the store is closed")
  func deletedBeforeEnd() throws {
    let performer = try performer(settings(.zero))
    performer.start()
    try add(1...3, to: performer)
    try FileManager.default.removeItem(atPath: directory)
    performer.close()
    try expectEqual(stored(), [1, 2, 3])
  }

  private func onDisk(_ name: String) -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")
    return attributes?[.size] as? Int ?? 0
  }

  @Test("an invalid row is reported as damaged, and deleted")
  func damagedRow() throws {
    do {
      let (store, _) = try BacklogStore.open(directory: directory, maxSize: 4_000_000)
      let place = try #require(Coordinate(latitude: 48, longitude: 11))
      for second in Int64(1)...3 {
        let record = Backlog.Record(
          VehicleLocation(coordinate: place, time: Timestamp(seconds: second)),
          interpolationError: second == 2 ? 1e300 : 0)
        try store.commit([StoreAgent.Write(key: StoreAgent.Key(vehicle: truck, id: record.id), record: record)])
      }
    }
    let performer = try performer()
    performer.start()
    expectEqual(reported, ["1 rows damaged", "restored [1, 3]", "healthy"])
    performer.close()
    reports = []
    let next = try self.performer()
    next.start()
    expectEqual(reported, ["restored [1, 3]", "healthy"])
    next.close()
  }

  @Test(
    "another vehicle gets its own positions; the first one's, except expired ones, return when it is configured again")
  func otherVehicle() throws {
    let performer = try performer(settings(.seconds(60)))
    performer.start()
    try add(1...3, to: performer)
    performer.configure(settings(.seconds(60)), vehicle: other)
    memory.forget()
    reports = []
    performer.useSettings()
    expectEqual(reported, ["restored []"])
    try add([7], to: performer)
    performer.handle(.forgetOthers(before: Timestamp(seconds: 2)))
    performer.configure(settings(.seconds(60)), vehicle: truck)
    memory.forget()
    reports = []
    performer.useSettings()
    expectEqual(reported, ["restored [2, 3]"])
    performer.close()
    try expectEqual(stored(for: other), [7])
  }

  @Test("if the directory is changed, all positions in memory are written to the new one")
  func otherDirectory() throws {
    let performer = try performer(settings(.seconds(60)))
    performer.start()
    try add(1...3, to: performer)
    let elsewhere = temporary("elsewhere")
    performer.configure(settings(.seconds(60), in: elsewhere), vehicle: truck)
    performer.useSettings()
    performer.close()
    try expectEqual(stored(in: elsewhere), [1, 2, 3])
  }

  @Test("without a directory, the store reports that it is off, and does nothing else")
  func off() throws {
    var settings = settings()
    settings.directory = nil
    let performer = try performer(settings)
    performer.start()
    try add(1...3, to: performer)
    expectEqual(reported, ["off"])
    expectNil(performer.size)
    performer.close()
  }
}

/// Passes the agent its inputs and the outcomes of its operations, as `Daemon` does.
private final class StoreDriver {
  private let performer = StorePerformer()
  private let loop: EventLoop
  private let report: (VehicleAgent.Input) -> [Backlog.Record]?
  private var agent: StoreAgent
  private var timer: LoopTimer?

  /// - Parameter report: receives the reports; returns the records in memory for `storeStartsOver`.
  init(
    _ settings: StoreAgent.Configuration, vehicle: FleetEngineVehicle, loop: EventLoop,
    report: @escaping (VehicleAgent.Input) -> [Backlog.Record]?
  ) throws {
    self.loop = loop
    self.report = report
    agent = StoreAgent(settings, vehicle: vehicle, seed: 1)
    timer = try loop.makeTimer { [unowned self] in handle(.deadline) }
  }

  var size: Int64? { performer.size }

  func start() { handle(.start) }

  func configure(_ settings: StoreAgent.Configuration, vehicle: FleetEngineVehicle) {
    handle(.configured(settings, vehicle))
  }

  func useSettings() { handle(.settingsInUse) }

  func close() {
    handle(.close)
    timer?.close()
  }

  func handle(_ input: StoreAgent.Input) {
    var inputs = [input]
    while !inputs.isEmpty {
      for effect in agent.handle(inputs.removeFirst(), at: loop.now.boot) {
        switch effect {
        case .perform(let operation): if let outcome = performer.perform(operation) { inputs.append(.ended(outcome)) }
        case .report(let input): if let records = report(input) { inputs.append(.snapshot(records)) }
        }
      }
    }
    if let deadline = agent.nextDeadline { timer?.arm(at: deadline) } else { timer?.disarm() }
  }
}

extension BacklogStore {
  /// Opens the store, and returns what was set aside.
  fileprivate static func open(
    directory: String, maxSize: Int64
  ) throws(BacklogStoreError) -> (store: BacklogStore, setAside: StoreAgent.SetAside?) {
    var setAside: StoreAgent.SetAside?
    let store = try open(directory: directory, maxSize: maxSize, setAside: &setAside)
    return (store, setAside)
  }
}
