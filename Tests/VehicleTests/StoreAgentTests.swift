// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import FleetEngine
import Positioning
import Vehicle
import Testing
import Timekeeping

/// Transcripts: inputs, and the resulting file operations and reports.
struct StoreAgentTests {
  private static let truck = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-1")
  private static let other = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-2")

  private static func record(_ second: Int64) throws -> Backlog.Record {
    let coordinate = try #require(Coordinate(latitude: 48, longitude: 11))
    return Backlog.Record(VehicleLocation(coordinate: coordinate, time: Timestamp(seconds: second)))
  }

  private static func configuration(
    _ directory: String?, interval: Duration? = .seconds(5)
  ) -> StoreAgent.Configuration {
    var configuration = StoreAgent.Configuration()
    configuration.directory = directory
    configuration.commitInterval = interval
    return configuration
  }

  private struct Bench {
    var agent: StoreAgent
    /// Seconds since boot.
    var now = 0.0

    init(_ directory: String? = "/a", interval: Duration? = .seconds(5)) {
      agent = StoreAgent(configuration(directory, interval: interval), vehicle: truck, seed: 1)
    }

    /// An agent with an open file and nothing to write.
    static func open(interval: Duration? = .seconds(5)) -> Bench {
      var bench = Bench(interval: interval)
      _ = bench.handle(.start)
      _ = bench.handle(.ended(.opened(nil)))
      _ = bench.handle(.ended(.read([])))
      return bench
    }

    mutating func handle(_ input: StoreAgent.Input, at second: Double? = nil) -> [String] {
      now = second ?? now
      return agent.handle(input, at: BootInstant(nanoseconds: Int64((now * 1e9).rounded()))).map(brief)
    }

    mutating func add(_ second: Int64, at now: Double? = nil) throws -> [String] {
      handle(.changed(.added(try record(second))), at: now)
    }

    mutating func change(_ second: Int64, at now: Double? = nil) throws -> [String] {
      handle(.changed(.changed([try record(second)])), at: now)
    }

    mutating func remove(_ seconds: Int64..., at now: Double? = nil) -> [String] {
      handle(.changed(.removed(seconds.map(Timestamp.init(seconds:)), .delivered)), at: now)
    }

    mutating func fail(_ kind: StoreAgent.Failure.Kind, _ message: String = "why") -> [String] {
      handle(.ended(.failed(StoreAgent.Failure(kind, message))))
    }

    /// Advances to the next deadline. In a commit, `+` precedes the time in seconds of a written record, `-` that of a
    /// deleted one.
    mutating func advance() -> [String] {
      guard let deadline else { return ["no deadline"] }
      return handle(.deadline, at: deadline)
    }

    /// Seconds since boot.
    var deadline: Double? { agent.nextDeadline?.seconds }

    private func brief(_ effect: StoreAgent.Effect) -> String {
      switch effect {
      case .perform(.open(let directory, _)): "open \(directory)"
      case .perform(.replace(let directory, _, let why)): "replace \(directory): \(why)"
      case .perform(.commit(let writes)):
        "commit "
          + writes.map { write in
            let vehicle = write.key.vehicle == truck ? "" : "\(write.key.vehicle.vehicleID):"
            return "\(vehicle)\(write.record == nil ? "-" : "+")\(write.key.id.milliseconds / 1000)"
          }.joined(separator: " ")
      case .perform(.makeRoom(let writes, let vehicle)): "make room for \(writes) of \(vehicle.vehicleID)"
      case .perform(.read(let vehicle)): "read \(vehicle.vehicleID)"
      case .perform(.forgetOthers(let vehicle, let time)):
        "forget all but \(vehicle.vehicleID) before \(time.milliseconds / 1000)"
      case .perform(.close): "close"
      case .report(.restored(let records)): "restored \(records.map { $0.id.milliseconds / 1000 })"
      case .report(.store(.healthy)): "healthy"
      case .report(.store(.memoryOnly(let why))): "memory only: \(why)"
      case .report(.store(.off)): "off"
      case .report(.storeSetAside(let name, let why)): "set aside \(name): \(why)"
      case .report(.storeReplaced(let directory)): "replaced in \(directory)"
      case .report(.storeRowsDropped(let count, let reason)): "\(count) rows \(reason)"
      case .report(.storeStartsOver): "starts over"
      case .report(.othersDropped(let count)): "dropped \(count)"
      case .report: "?"
      }
    }
  }

  private static let setAside = StoreAgent.SetAside(name: "backlog.sqlite.corrupt-1", why: "damaged")

  // MARK: - What is written, and when

  @Test("at the start the file is opened, and the stored positions of the vehicle are reported once")
  func start() throws {
    var bench = Bench()
    expectNil(bench.deadline)
    expectEqual(bench.handle(.start), ["open /a"])
    expectEqual(bench.handle(.ended(.opened(nil))), ["read truck-1"])
    expectNil(bench.deadline)
    expectEqual(bench.handle(.ended(.read([try Self.record(1)]))), ["restored [1]", "healthy"])
    expectEqual(bench.handle(.start), [])
    expectNil(bench.deadline)
  }

  @Test("a record that is removed before it is written is never written")
  func cancels() throws {
    var bench = Bench.open()
    try expectEqual(bench.add(1), [])
    expectEqual(bench.deadline, 5)
    expectEqual(bench.remove(1, at: 1), [])
    expectNil(bench.deadline)
    expectEqual(bench.handle(.deadline, at: 100), [])
  }

  @Test("changes are written together, one commit interval after the oldest of them")
  func together() throws {
    var bench = Bench.open()
    _ = try bench.add(1)
    try expectEqual(bench.add(2, at: 4), [])
    expectEqual(bench.handle(.deadline, at: 4.999), [])
    expectEqual(bench.handle(.deadline, at: 5), ["commit +1 +2"])
    expectNil(bench.deadline)
    expectEqual(bench.handle(.ended(.committed)), [])
    // A record that was written has to be deleted from the file.
    expectEqual(bench.remove(1, 2, at: 6), [])
    expectEqual(bench.advance(), ["commit -1 -2"])
    expectEqual(bench.now, 11)
  }

  @Test("a changed record is written again; a removed one is deleted from the file, unless it was never written")
  func changes() throws {
    var bench = Bench.open()
    _ = try bench.change(1)
    _ = bench.remove(1)
    _ = try bench.add(2)
    _ = try bench.change(2)
    _ = bench.remove(2)
    _ = try bench.change(3)
    expectEqual(bench.advance(), ["commit -1 +3"])
  }

  @Test("a record that is removed and added again is written again, and deleted when it is removed again")
  func comesAgain() throws {
    var bench = Bench.open()
    _ = bench.remove(1)
    _ = try bench.add(1)
    expectEqual(bench.advance(), ["commit +1"])
    _ = bench.handle(.ended(.committed))
    _ = bench.remove(1)
    _ = try bench.add(1)
    _ = bench.remove(1)
    expectEqual(bench.advance(), ["commit -1"])
  }

  @Test("with a commit interval of zero each change is written at once")
  func atOnce() throws {
    var bench = Bench.open(interval: .zero)
    try expectEqual(bench.add(1, at: 3), ["commit +1"])
  }

  @Test("in a long outage changes are collected for a minute, or until the vehicle's agent requests a commit")
  func outage() throws {
    var bench = Bench.open(interval: nil)
    expectEqual(bench.handle(.outage(true), at: 0), [])
    _ = try bench.add(1)
    expectEqual(bench.deadline, 60)
    _ = try bench.add(2, at: 50)
    expectEqual(bench.handle(.deadline, at: 60), ["commit +1 +2"])
    _ = bench.handle(.ended(.committed))
    _ = try bench.add(3, at: 70)
    expectEqual(bench.handle(.commit), ["commit +3"])
    _ = bench.handle(.ended(.committed))
    expectEqual(bench.handle(.commit), [])
    _ = try bench.add(4, at: 80)
    expectEqual(bench.deadline, 140)
    // The end of the outage also applies to pending changes.
    expectEqual(bench.handle(.outage(false), at: 90), [])
    expectEqual(bench.deadline, 95)
    _ = bench.remove(4)
    _ = try bench.add(5, at: 100)
    expectEqual(bench.deadline, 105)
  }

  @Test("a configured interval also applies in a long outage")
  func intervalInOutage() throws {
    var bench = Bench.open(interval: .seconds(20))
    _ = bench.handle(.outage(true), at: 0)
    _ = try bench.add(1)
    expectEqual(bench.handle(.commit), [])
    expectEqual(bench.deadline, 20)
  }

  @Test("changes during a write are written next, and a record that is being written is treated as stored")
  func during() throws {
    var bench = Bench.open(interval: .zero)
    try expectEqual(bench.add(1), ["commit +1"])
    expectEqual(bench.remove(1), [])
    try expectEqual(bench.add(2), [])
    expectEqual(bench.handle(.ended(.committed)), ["commit -1 +2"])
    expectEqual(bench.remove(2), [])
    expectEqual(bench.handle(.ended(.committed)), ["commit -2"])
    expectEqual(bench.handle(.ended(.committed)), [])
  }

  @Test("a record that is removed during a write that fails is not written again")
  func duringFailure() throws {
    var bench = Bench.open(interval: .zero)
    _ = try bench.add(1)
    _ = bench.remove(1)
    _ = try bench.add(2)
    expectEqual(bench.fail(.other), ["close", "memory only: why"])
    expectEqual(bench.advance(), ["open /a"])
    expectEqual(bench.handle(.ended(.opened(nil))), ["commit +2"])
  }

  @Test("a record that is added again during its deletion is in the store afterwards, even if the deletion fails")
  func againDuringDeletion() throws {
    for hasFailed in [false, true] {
      var bench = Bench.open(interval: .zero)
      expectEqual(bench.remove(1), ["commit -1"])
      try expectEqual(bench.add(1), [])
      if hasFailed {
        _ = bench.fail(.other)
        // The file still has the record, so removing it again deletes it there.
        expectEqual(bench.remove(1), [])
        _ = bench.advance()
        expectEqual(bench.handle(.ended(.opened(nil))), ["commit -1"])
      } else {
        expectEqual(bench.handle(.ended(.committed)), ["commit +1"])
        expectEqual(bench.handle(.ended(.committed)), [])
      }
    }
  }

  // MARK: - Failures

  @Test("after a failure the file is closed, nothing is lost, and the backoff grows up to five minutes")
  func failures() throws {
    var bench = Bench.open()
    _ = try bench.add(1)
    expectEqual(bench.advance(), ["commit +1"])
    expectEqual(bench.fail(.other, "I/O error"), ["close", "memory only: I/O error"])
    var waits = [Double]()
    for second in Int64(2)...9 {
      waits.append(try #require(bench.deadline) - bench.now)
      let deadline = bench.deadline
      // A change does not postpone the retry, and is not lost.
      try expectEqual(bench.add(second), [])
      expectEqual(bench.deadline, deadline)
      expectEqual(bench.advance(), ["open /a"])
      // The same failure is reported only once.
      expectEqual(bench.fail(.other, "I/O error"), ["close"])
    }
    for (wait, bound) in zip(waits, [5.0, 10, 20, 40, 80, 160, 300, 300]) {
      expect(wait > bound / 2 && wait < bound)
    }
    expectEqual(bench.advance(), ["open /a"])
    expectEqual(bench.handle(.ended(.opened(nil))), ["commit +1 +2 +3 +4 +5 +6 +7 +8 +9"])
    expectEqual(bench.handle(.ended(.committed)), ["healthy"])
    expectNil(bench.deadline)
    // The backoff has been reset.
    bench.now += 100
    _ = bench.handle(.forgetOthers(before: Timestamp(seconds: 1)))
    expectEqual(bench.fail(.other), ["close", "memory only: why"])
    expect(try #require(bench.deadline) - bench.now < 5)
  }

  @Test("opening the file is retried after a failure, even with nothing to write")
  func openFails() throws {
    var bench = Bench()
    _ = bench.handle(.start)
    expectEqual(bench.fail(.full, "disk full"), ["close", "memory only: disk full"])
    expectEqual(bench.advance(), ["open /a"])
    expectEqual(bench.handle(.ended(.opened(nil))), ["read truck-1"])
    // The file's contents are reported once they can be read.
    expectEqual(bench.fail(.other, "I/O error"), ["close", "memory only: I/O error"])
    _ = bench.advance()
    _ = bench.handle(.ended(.opened(nil)))
    expectEqual(bench.handle(.ended(.read([]))), ["restored []", "healthy"])
  }

  @Test("after a failure, a second `start` opens the file at once, without waiting for the retry")
  func startAgain() throws {
    var bench = Bench()
    _ = bench.handle(.start)
    _ = bench.fail(.other)
    expectEqual(bench.handle(.start), ["open /a"])
  }

  // MARK: - Limits

  @Test("if the disk is full, records of other vehicles are dropped until a commit fits, and their number is reported")
  func makesRoom() throws {
    var bench = Bench.open()
    _ = try bench.add(1)
    _ = try bench.add(2)
    expectEqual(bench.advance(), ["commit +1 +2"])
    expectEqual(bench.fail(.full), ["make room for 2 of truck-1"])
    expectEqual(bench.handle(.ended(.madeRoom(dropped: 500))), ["commit +1 +2"])
    expectEqual(bench.fail(.full), ["make room for 2 of truck-1"])
    expectEqual(bench.handle(.ended(.madeRoom(dropped: 7))), ["commit +1 +2"])
    expectEqual(bench.handle(.ended(.committed)), ["dropped 507"])
    expectNil(bench.deadline)
  }

  @Test("if the disk is full and nothing can be dropped, the backlog stays in memory, and that is reported")
  func noRoom() throws {
    var bench = Bench.open()
    _ = try bench.add(1)
    _ = bench.advance()
    _ = bench.fail(.full, "disk full")
    _ = bench.handle(.ended(.madeRoom(dropped: 3)))
    _ = bench.fail(.full, "disk full")
    expectEqual(bench.handle(.ended(.madeRoom(dropped: 0))), ["dropped 3", "close", "memory only: disk full"])
    expectEqual(bench.advance(), ["open /a"])
    expectEqual(bench.handle(.ended(.opened(nil))), ["commit +1"])
    // Dropping positions can fail as well.
    _ = bench.fail(.full, "disk full")
    expectEqual(bench.fail(.other, "I/O error"), ["close", "memory only: I/O error"])
  }

  // MARK: - New, empty files

  @Test("the replacement of a damaged file is filled from memory, and pending deletions are discarded")
  func setAsideAtStart() throws {
    var bench = Bench()
    _ = bench.remove(1)
    _ = try bench.add(2)
    expectEqual(bench.handle(.start), ["open /a"])
    expectEqual(
      bench.handle(.ended(.opened(Self.setAside))), ["set aside backlog.sqlite.corrupt-1: damaged", "starts over"])
    expectNil(bench.deadline)
    expectEqual(bench.handle(.snapshot([try Self.record(5), try Self.record(2)])), ["commit +2 +5"])
    expectEqual(bench.handle(.ended(.committed)), ["read truck-1"])
    expectEqual(bench.handle(.ended(.read([]))), ["restored []", "healthy"])
  }

  @Test(
    "an unusable file is replaced at once, but only once in each attempt", arguments: ["commit", "room", "read"])
  func replaces(during operation: String) throws {
    var bench = Bench()
    _ = bench.handle(.start)
    _ = try bench.add(1)
    expectEqual(bench.handle(.ended(.opened(nil))), ["commit +1"])
    if operation == "room" { _ = bench.fail(.full) }
    if operation == "read" { expectEqual(bench.handle(.ended(.committed)), ["read truck-1"]) }
    expectEqual(bench.fail(.unusable, "malformed"), ["replace /a: malformed"])
    expectEqual(
      bench.handle(.ended(.opened(Self.setAside))), ["set aside backlog.sqlite.corrupt-1: damaged", "starts over"])
    // The backlog changes while the file is being replaced.
    try expectEqual(bench.add(2), [])
    expectEqual(bench.handle(.snapshot([try Self.record(1), try Self.record(2)])), ["commit +1 +2"])
    expectEqual(bench.fail(.unusable, "malformed"), ["close", "memory only: malformed"])
    // The next attempt may replace the file again.
    expectEqual(bench.advance(), ["open /a"])
    expectEqual(bench.handle(.ended(.opened(nil))), ["commit +1 +2"])
    expectEqual(bench.fail(.unusable, "malformed"), ["replace /a: malformed"])
    expectEqual(bench.fail(.full, "disk full"), ["close", "memory only: disk full"])
  }

  @Test("a record that is removed while a new file is filled from memory is deleted from that file afterwards")
  func deletesAfterStartOver() throws {
    var bench = Bench()
    _ = bench.handle(.start)
    _ = bench.handle(.ended(.opened(Self.setAside)))
    _ = bench.handle(.snapshot([try Self.record(1), try Self.record(2)]))
    _ = bench.remove(1)
    _ = bench.handle(.ended(.committed))
    _ = bench.handle(.ended(.read([])))
    expectEqual(bench.advance(), ["commit -1"])
  }

  // MARK: - Other vehicles

  @Test("expired positions of other vehicles are deleted only while the file is open and idle")
  func forgetsOthers() throws {
    var bench = Bench()
    expectEqual(bench.handle(.forgetOthers(before: Timestamp(seconds: 50))), [])
    bench = .open(interval: .zero)
    expectEqual(bench.handle(.forgetOthers(before: Timestamp(seconds: 50))), ["forget all but truck-1 before 50"])
    try expectEqual(bench.add(1), [])
    expectEqual(bench.handle(.ended(.forgotten)), ["commit +1"])
    expectEqual(bench.handle(.forgetOthers(before: Timestamp(seconds: 50))), [])
    _ = bench.handle(.ended(.committed))
    // A file that is found damaged is replaced when it is opened again.
    _ = bench.handle(.forgetOthers(before: Timestamp(seconds: 50)))
    expectEqual(bench.fail(.unusable, "malformed"), ["close", "memory only: malformed"])
  }

  @Test("another vehicle's positions are restored after pending changes of the previous vehicle are written")
  func otherVehicle() throws {
    var bench = Bench.open()
    _ = try bench.add(7)
    expectEqual(bench.handle(.configured(Self.configuration("/a"), Self.other)), [])
    // The previous vehicle is still in use.
    _ = try bench.add(3)
    expectEqual(bench.handle(.settingsInUse), ["commit +3 +7"])
    _ = try bench.add(7)
    _ = try bench.add(1)
    expectEqual(bench.handle(.ended(.committed)), ["read truck-2"])
    expectEqual(bench.handle(.ended(.read([try Self.record(9)]))), ["restored [9]"])
    expectEqual(bench.advance(), ["commit truck-2:+1 truck-2:+7"])
    _ = bench.handle(.ended(.committed))
    expectEqual(bench.remove(7), [])
    expectEqual(bench.advance(), ["commit truck-2:-7"])
  }

  @Test("if a write is due when the vehicle changes, the new vehicle's positions are read once the settings are in use")
  func dueAtNewSettings() throws {
    var bench = Bench.open()
    _ = try bench.add(7, at: 0)
    expectEqual(bench.handle(.configured(Self.configuration("/a"), Self.other), at: 5), ["commit +7"])
    expect(!bench.agent.isSettled)
    expectEqual(bench.handle(.ended(.committed)), [])
    expect(bench.agent.isSettled)
    expectEqual(bench.handle(.settingsInUse), ["read truck-2"])
    expectEqual(bench.handle(.ended(.read([try Self.record(9)]))), ["restored [9]"])
  }

  @Test("until the settings of another vehicle are in use, changes are the previous vehicle's, and nothing is restored")
  func previousVehicle() throws {
    var bench = Bench()
    _ = try bench.add(2)
    expectEqual(bench.handle(.configured(Self.configuration("/a"), Self.other)), [])
    expectEqual(bench.handle(.start), ["open /a"])
    expect(!bench.agent.isSettled)
    expectEqual(bench.handle(.ended(.opened(nil))), ["commit +2"])
    expectEqual(bench.handle(.ended(.committed)), ["healthy"])
    expect(bench.agent.isSettled)
    expectEqual(bench.handle(.settingsInUse), ["read truck-2"])
    expectEqual(bench.handle(.ended(.read([try Self.record(9)]))), ["restored [9]"])
  }

  @Test("stored positions that were being read when the settings named another vehicle are not restored")
  func readingAtNewSettings() throws {
    var bench = Bench()
    _ = bench.handle(.start)
    expectEqual(bench.handle(.ended(.opened(nil))), ["read truck-1"])
    expectEqual(bench.handle(.configured(Self.configuration("/a"), Self.other)), [])
    expect(!bench.agent.isSettled)
    // The damaged row is still there, and is found again; the orphaned ones are deleted.
    let read = StoreAgent.Outcome.read([try Self.record(1)], damaged: [Timestamp(seconds: 7)], orphaned: 3)
    expectEqual(bench.handle(.ended(read)), ["3 rows damaged"])
    expect(bench.agent.isSettled)
    expectEqual(bench.handle(.settingsInUse), ["read truck-2"])
    expectEqual(bench.handle(.ended(.read([]))), ["restored []", "healthy"])
  }

  // MARK: - Settings and the end

  @Test("a new directory gets everything that is in memory, after pending changes are written to the old one")
  func moves() throws {
    var bench = Bench.open()
    _ = try bench.add(1)
    expectEqual(bench.handle(.configured(Self.configuration("/b"), Self.truck)), ["commit +1"])
    expectEqual(bench.handle(.ended(.committed)), ["close", "starts over"])
    expectEqual(bench.handle(.snapshot([try Self.record(1), try Self.record(0)])), [])
    expect(bench.agent.isSettled)
    expectEqual(bench.handle(.settingsInUse), ["open /b"])
    expectEqual(bench.handle(.ended(.opened(nil))), ["commit +0 +1"])
    expectEqual(bench.handle(.ended(.committed)), ["read truck-1"])
    expectEqual(bench.handle(.ended(.read([]))), ["restored []"])
  }

  @Test(
    "when vehicle and directory change together, records in memory are written for the vehicle to which they belong")
  func movesWithVehicle() throws {
    var bench = Bench()
    _ = bench.handle(.start)
    _ = bench.fail(.other, "read-only")
    _ = try bench.add(1)
    expectEqual(bench.handle(.configured(Self.configuration("/b"), Self.other)), ["close", "starts over"])
    expectEqual(bench.handle(.snapshot([try Self.record(1)])), [])
    // Nothing is written before the settings are in use, and the new file does not wait for the retry of the old one.
    expectNil(bench.deadline)
    _ = try bench.add(2)
    expectEqual(bench.handle(.settingsInUse), ["open /b"])
    _ = try bench.add(3)
    expectEqual(bench.handle(.ended(.opened(nil))), ["commit +1 +2 truck-2:+3"])
    expectEqual(bench.handle(.ended(.committed)), ["read truck-2"])
  }

  @Test("an old file that cannot be written does not block the new one")
  func movesAfterFailure() throws {
    var bench = Bench.open()
    _ = try bench.add(1)
    _ = bench.handle(.configured(Self.configuration("/b"), Self.truck))
    expectEqual(bench.fail(.other), ["close", "memory only: why", "close", "starts over"])
    _ = bench.handle(.snapshot([try Self.record(1)]))
    expectEqual(bench.handle(.settingsInUse), ["open /b"])
  }

  @Test("a store that is started while its directory changes opens its file in the new one")
  func startWhileMoving() throws {
    var bench = Bench.open()
    expectEqual(bench.handle(.configured(Self.configuration("/b"), Self.truck)), ["close", "starts over"])
    expectEqual(bench.handle(.start), [])
    expectEqual(bench.handle(.snapshot([])), [])
    expectEqual(bench.handle(.settingsInUse), ["open /b"])
  }

  @Test("without a directory the store reports that it is off; when a directory is set, all records are written")
  func off() throws {
    var bench = Bench(nil)
    expectEqual(bench.handle(.start), ["off"])
    try expectEqual(bench.add(1), [])
    expectNil(bench.deadline)
    expectEqual(bench.handle(.start), [])
    expectEqual(bench.handle(.configured(Self.configuration("/a"), Self.truck)), ["close", "starts over"])
    _ = bench.handle(.snapshot([try Self.record(1)]))
    try expectEqual(bench.add(2), [])
    expectEqual(bench.handle(.settingsInUse), ["open /a"])
    expectEqual(bench.handle(.ended(.opened(nil))), ["commit +1 +2"])
    _ = bench.handle(.ended(.committed))
    expectEqual(bench.handle(.ended(.read([]))), ["restored []", "healthy"])
    expectEqual(bench.handle(.configured(Self.configuration(nil), Self.truck)), ["close", "starts over"])
    _ = bench.handle(.snapshot([try Self.record(1)]))
    expectEqual(bench.handle(.settingsInUse), ["off"])
    // What is delivered without a file is not stored later, not even if the settings name another vehicle in between.
    _ = bench.remove(1)
    expectEqual(bench.handle(.configured(Self.configuration(nil), Self.other)), [])
    _ = bench.handle(.settingsInUse)
    expectEqual(bench.handle(.configured(Self.configuration("/b"), Self.other)), ["close", "starts over"])
    _ = bench.handle(.snapshot([]))
    expectEqual(bench.handle(.settingsInUse), ["open /b"])
    expectEqual(bench.handle(.ended(.opened(nil))), ["read truck-2"])
    expectEqual(bench.handle(.ended(.read([]))), ["restored []", "healthy"])
    expectEqual(bench.handle(.configured(Self.configuration(nil), Self.other)), ["close", "starts over"])
    _ = bench.handle(.snapshot([]))
    expectEqual(bench.handle(.settingsInUse), ["off"])
    expectEqual(bench.handle(.close), ["close"])
  }

  @Test("a new maximum size applies at once: the file is opened again, before anything else is written")
  func limit() throws {
    var bench = Bench.open()
    _ = try bench.add(1)
    var larger = Self.configuration("/a")
    larger.maxSize *= 2
    expectEqual(bench.handle(.configured(larger, Self.truck)), [])
    expectEqual(bench.handle(.settingsInUse), ["close", "open /a"])
    expectEqual(bench.handle(.ended(.opened(nil))), ["commit +1"])
    expectEqual(bench.handle(.ended(.committed)), [])
    expectEqual(bench.handle(.configured(larger, Self.truck)), [])
    expectEqual(bench.handle(.settingsInUse), [])
  }

  @Test("a maximum size that changes during a write applies after it")
  func limitDuringCommit() throws {
    var bench = Bench.open()
    _ = try bench.add(1)
    expectEqual(bench.advance(), ["commit +1"])
    var larger = Self.configuration("/a")
    larger.maxSize *= 2
    expectEqual(bench.handle(.configured(larger, Self.truck)), [])
    expect(!bench.agent.isSettled)
    expectEqual(bench.handle(.ended(.committed)), [])
    expectEqual(bench.handle(.settingsInUse), ["close", "open /a"])
    expectEqual(bench.handle(.ended(.opened(nil))), [])
  }

  @Test("a new interval applies from the next change on")
  func interval() throws {
    var bench = Bench.open()
    _ = bench.handle(.configured(Self.configuration("/a", interval: .seconds(30)), Self.truck))
    expectEqual(bench.handle(.settingsInUse), [])
    _ = try bench.add(1)
    expectEqual(bench.deadline, 30)
  }

  @Test("at the end pending changes are written, even while a retry is pending, and the file is closed")
  func close() throws {
    var bench = Bench.open()
    expectEqual(bench.handle(.close), ["commit "])
    expectEqual(bench.handle(.ended(.committed)), ["close"])
    expect(bench.agent.hasStoredAll)
    try expectEqual(bench.add(1), [])
    expectEqual(bench.handle(.start), [])
    bench = .open()
    _ = try bench.add(1)
    expectEqual(bench.handle(.close), ["commit +1"])
    expectEqual(bench.handle(.ended(.committed)), ["close"])
    bench = .open()
    _ = try bench.add(1)
    _ = bench.advance()
    _ = bench.fail(.other)
    expectEqual(bench.handle(.close), ["open /a"])
    expectEqual(bench.handle(.ended(.opened(nil))), ["commit +1"])
    // The last write is attempted only once.
    expectEqual(bench.fail(.other), ["close", "close"])
    expectNil(bench.deadline)
    expect(!bench.agent.hasStoredAll)
    // After a failed last commit the file may also lack earlier writes.
    bench = .open()
    _ = bench.handle(.close)
    expectEqual(bench.fail(.other), ["close", "memory only: why", "close"])
    expect(!bench.agent.hasStoredAll)
  }

  @Test("a deleted file is reported, and its replacement gets everything that is in memory")
  func replaced() throws {
    var bench = Bench.open()
    _ = try bench.add(3)
    expectEqual(bench.advance(), ["commit +3"])
    expectEqual(bench.fail(.replaced, "deleted"), ["close", "open /a"])
    expectEqual(bench.handle(.ended(.openedAnother)), ["replaced in /a", "starts over"])
    expectEqual(bench.handle(.snapshot([try Self.record(2), try Self.record(3)])), ["commit +2 +3"])
    // The replacement may be a restored backup, which contains positions.
    expectEqual(bench.handle(.ended(.committed)), ["read truck-1"])
    expectEqual(bench.handle(.ended(.read([try Self.record(1)]))), ["restored [1]"])
    // If the replacement is deleted too, the next attempt waits as after any other failure.
    _ = try bench.add(4)
    _ = bench.advance()
    expectEqual(bench.fail(.replaced), ["close", "open /a"])
    _ = bench.handle(.ended(.openedAnother))
    _ = bench.handle(.snapshot([try Self.record(4)]))
    expectEqual(bench.fail(.replaced), ["close", "memory only: why"])
  }

  @Test("the replacement of a deleted file gets everything in memory, even if it can be opened only later")
  func replacedLater() throws {
    var bench = Bench.open()
    _ = try bench.add(3)
    _ = bench.advance()
    _ = bench.fail(.replaced, "deleted")
    expectEqual(bench.fail(.other, "no directory"), ["close", "memory only: no directory"])
    expectEqual(bench.advance(), ["open /a"])
    expectEqual(bench.handle(.ended(.openedAnother)), ["replaced in /a", "starts over"])
    expectEqual(bench.handle(.snapshot([try Self.record(2), try Self.record(3)])), ["commit +2 +3"])
    expectEqual(bench.handle(.ended(.committed)), ["read truck-1"])
    expectEqual(bench.handle(.ended(.read([]))), ["restored []", "healthy"])
  }

  @Test("at the end, the replacement of a deleted file gets everything in memory before it is closed")
  func replacedAtEnd() throws {
    var bench = Bench.open()
    expectEqual(bench.handle(.close), ["commit "])
    expectEqual(bench.fail(.replaced, "deleted"), ["close", "open /a"])
    expectEqual(bench.handle(.ended(.openedAnother)), ["replaced in /a", "starts over"])
    expectEqual(bench.handle(.snapshot([try Self.record(1)])), ["commit +1"])
    expectEqual(bench.handle(.ended(.committed)), ["close"])
  }

  @Test("stored positions that were not read by the end of a run stay in the file for the next run")
  func unreadAtEnd() throws {
    var bench = Bench()
    _ = try bench.add(1)
    _ = bench.handle(.start)
    _ = bench.handle(.ended(.opened(nil)))
    expectEqual(bench.fail(.other), ["close", "memory only: why"])
    expectEqual(bench.handle(.close), ["open /a"])
    expectEqual(bench.handle(.ended(.opened(nil))), ["commit +1"])
    expectEqual(bench.handle(.ended(.committed)), ["healthy", "close"])
  }

  @Test("the number of invalid rows is reported, and the rows are deleted with the next commit")
  func damagedRows() throws {
    var bench = Bench()
    _ = bench.handle(.start)
    _ = bench.handle(.ended(.opened(nil)))
    let rows = [Timestamp(seconds: 7), Timestamp(seconds: 9)]
    expectEqual(
      bench.handle(.ended(.read([try Self.record(1)], damaged: rows, orphaned: 3))),
      [
        "5 rows damaged", "restored [1]", "healthy",
      ])
    expectEqual(bench.advance(), ["commit -7 -9"])
  }

  @Test("a file that is found damaged at the end is replaced as at any other time")
  func damagedAtEnd() throws {
    var bench = Bench.open()
    _ = try bench.add(3)
    _ = bench.handle(.close)
    expectEqual(bench.fail(.unusable, "malformed"), ["replace /a: malformed"])
    expectEqual(
      bench.handle(.ended(.opened(Self.setAside))), ["set aside backlog.sqlite.corrupt-1: damaged", "starts over"])
    expectEqual(bench.handle(.snapshot([try Self.record(1), try Self.record(3)])), ["commit +1 +3"])
    expectEqual(bench.handle(.ended(.committed)), ["close"])
  }

  /// The number of writes in each commit from the next deadline on.
  private func commits(_ bench: inout Bench) throws -> [Int] {
    var sizes: [Int] = []
    let first = try #require(bench.agent.nextDeadline)
    while let now = bench.agent.nextDeadline {
      expectEqual(now, first + .milliseconds(10 * sizes.count))
      guard case .perform(.commit(let writes))? = bench.agent.handle(.deadline, at: now).first else { break }
      sizes.append(writes.count)
      expectEqual(bench.agent.handle(.ended(.committed), at: now), [])
    }
    return sizes
  }

  @Test("thousands of changes are written in several commits with short pauses, and at the end without pauses")
  func batches() throws {
    var bench = Bench.open()
    for second in 0..<10_000 { _ = try bench.add(Int64(second)) }
    try expectEqual(commits(&bench), [4096, 4096, 1808])
    // Writes that are left after a failure are committed later, together with later changes.
    for second in 0..<9000 { _ = try bench.change(Int64(second)) }
    let now = try #require(bench.agent.nextDeadline)
    _ = bench.agent.handle(.deadline, at: now)
    _ = bench.agent.handle(.ended(.committed), at: now)
    _ = bench.agent.handle(.deadline, at: try #require(bench.agent.nextDeadline))
    _ = try bench.change(8999)
    _ = bench.fail(.other)
    _ = bench.remove(5000)
    let retry = try #require(bench.agent.nextDeadline)
    _ = bench.agent.handle(.deadline, at: retry)
    let effects = bench.agent.handle(.ended(.opened(nil)), at: retry)
    guard case .perform(.commit(let writes))? = effects.first else {
      Issue.record("no commit: \(effects)")
      return
    }
    expect(writes.count == 4096 && writes.first?.key.id == Timestamp(seconds: 4096))
    expectEqual(writes.filter { $0.record == nil }.map(\.key.id), [Timestamp(seconds: 5000)])
    expectEqual(bench.agent.handle(.ended(.committed), at: retry), [])
    guard case .perform(.commit(let rest))? = bench.agent.handle(.close, at: retry).first else {
      Issue.record("nothing is written at the end")
      return
    }
    expectEqual(rest.count, 9000 - 8192)
  }

  @Test("a commit never separates thinned positions from the record with their interpolation error")
  func wholeSegments() throws {
    var bench = Bench.open()
    for second in 0..<4090 { _ = try bench.change(Int64(second)) }
    _ = bench.handle(.changed(.removed((4090..<4200).map { Timestamp(seconds: $0) }, .thinned)))
    for second in 4200..<4300 { _ = try bench.change(Int64(second)) }
    try expectEqual(commits(&bench), [4201, 99])
  }

  @Test("changes in any order are written in the order of time, and a record that was added and removed is not written")
  func order() throws {
    var bench = Bench.open()
    var random = SplitMix64(seed: 7)
    for second in (0..<500).shuffled(using: &random) { _ = try bench.add(Int64(second)) }
    for second in (0..<500).shuffled(using: &random) where second % 3 == 0 { _ = bench.remove(Int64(second)) }
    _ = bench.remove(900, 700, 800)
    let effects = bench.agent.handle(.deadline, at: try #require(bench.agent.nextDeadline))
    guard case .perform(.commit(let writes))? = effects.first else {
      Issue.record("no commit: \(effects)")
      return
    }
    let expected = (0..<500).filter { $0 % 3 != 0 } + [700, 800, 900]
    expectEqual(writes.map(\.key.id), expected.map { Timestamp(seconds: Int64($0)) })
    expectEqual(writes.filter { $0.record == nil }.count, 3)
  }
}

extension BootInstant {
  /// Seconds since boot.
  fileprivate var seconds: Double { Double((self - .boot).nanoseconds) / 1e9 }
}
