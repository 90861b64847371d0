// SPDX-License-Identifier: Apache-2.0
import Delivery
import Expectations
import FixSources
import AgentTesting
import Daemon
import PositionBacklog
import Observability
import Vehicle
import FleetEngine
import HTTPMessages
import Positioning
import Testing
import Timekeeping

struct DaemonTests {
  private var daemon: Daemon
  private let truck = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-1")
  private let other = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-2")

  init() throws {
    daemon = Daemon(running: try DaemonTests.configuration(), seed: 1)
  }

  private static func configuration(
    vehicle: String = "truck-1", directory: String = "/a", settingsText: String? = "settings"
  ) throws -> Daemon.Configuration {
    var store = StoreAgent.Configuration()
    store.directory = directory
    return Daemon.Configuration(
      vehicle: try AgentFixture.configuration(vehicle: vehicle), store: store, settingsText: settingsText)
  }

  private static func moment(_ second: Double) -> Moment {
    let elapsed = Duration.milliseconds(Int64((second * 1000).rounded()))
    return Moment(boot: .boot + elapsed, wall: AgentFixture.start + elapsed)
  }

  private mutating func handle(_ input: Daemon.Input, at second: Double) -> [Daemon.Effect] {
    daemon.handle(input, at: DaemonTests.moment(second))
  }

  private mutating func open(at second: Double) -> [StoreAgent.Operation] {
    _ = handle(.start, at: 0)
    return handle(.deadline, at: second).operations
  }

  /// A fix, a token, and Fleet Engine's response to the update.
  private mutating func comeOnline() throws -> [Daemon.Effect] {
    _ = handle(.vehicle(.sources([AgentFixture.source])), at: 0)
    var fix = Fix(coordinate: try #require(Coordinate(latitude: 48, longitude: 11)), time: .utc(AgentFixture.start))
    fix.horizontalAccuracy = 3
    fix.satellites = 9
    var fixture = try AgentFixture()
    _ = handle(.vehicle(.source(0, .fix(fix))), at: 0)
    _ = handle(.vehicle(.tokenEnded(id: 1, fixture.token())), at: 0.1)
    return handle(.vehicle(.updateEnded(id: 1, AgentFixture.accepted)), at: 0.2)
  }

  @Test("the backlog file is opened 3 s after the start if there is no request, and read into the vehicle's backlog")
  mutating func reading() throws {
    let opens = open(at: 3)
    expectEqual(opens, [.open(directory: "/a", maxSize: StoreAgent.Configuration().maxSize)])
    expectEqual(handle(.storeEnded(.opened(nil)), at: 3).operations, [.read(truck)])
    let place = try #require(Coordinate(latitude: 48, longitude: 11))
    let record = Backlog.Record(VehicleLocation(coordinate: place, time: AgentFixture.start))
    expect(handle(.storeEnded(.read([record])), at: 3).operations.isEmpty)
    expectEqual(daemon.run?.vehicle.delivery.pendingCount, 1)
  }

  @Test(
    "new settings are applied once the store has finished its current operation; then the new vehicle's backlog is read"
  )
  mutating func configureWhileOpening() throws {
    _ = open(at: 3)
    let new = try DaemonTests.configuration(vehicle: "truck-2")
    expect(handle(.settingsRead(.valid(new)), at: 3).operations.isEmpty)
    expectEqual(daemon.run?.vehicle.snapshot(at: DaemonTests.moment(3)).vehicle, "truck-1")
    expectEqual(handle(.storeEnded(.opened(nil)), at: 3).operations, [.read(other)])
    expectEqual(daemon.run?.vehicle.snapshot(at: DaemonTests.moment(3)).vehicle, "truck-2")
  }

  @Test("settings that arrive while the store is busy replace those that are pending")
  mutating func configureTwice() throws {
    _ = open(at: 3)
    _ = handle(.settingsRead(.valid(try DaemonTests.configuration(vehicle: "truck-2"))), at: 3)
    _ = handle(.settingsRead(.valid(try DaemonTests.configuration(vehicle: "truck-3"))), at: 3)
    _ = handle(.storeEnded(.opened(nil)), at: 3)
    expectEqual(daemon.run?.vehicle.snapshot(at: DaemonTests.moment(3)).vehicle, "truck-3")
  }

  @Test("when backlog.directory changes, the old file is closed and the new one is opened")
  mutating func configureDirectory() throws {
    _ = open(at: 3)
    _ = handle(.storeEnded(.opened(nil)), at: 3)
    _ = handle(.storeEnded(.read([])), at: 3)
    let new = try DaemonTests.configuration(directory: "/b")
    let operations = handle(.settingsRead(.valid(new)), at: 4).operations
    expectEqual(operations, [.close, .open(directory: "/b", maxSize: StoreAgent.Configuration().maxSize)])
  }

  @Test("a run finishes when the backlog file is closed, not before")
  mutating func finish() throws {
    _ = open(at: 3)
    _ = handle(.storeEnded(.opened(nil)), at: 3)
    _ = handle(.storeEnded(.read([])), at: 3)
    let stop = handle(.vehicle(.stop(within: .zero, signal: "SIGTERM")), at: 4)
    expect(stop.contains(.stopping(within: .zero)))
    expectEqual(stop.operations, [.commit([])])
    expect(!stop.contains { if case .finished = $0 { true } else { false } })
    expectEqual(handle(.storeEnded(.committed), at: 4).suffix(2), [.store(.close), .measure])
    expectEqual(
      handle(.measured(Measurement()), at: 4).last,
      .finished(Lifecycle.Ending(undelivered: 0, isStored: true, statistics: nil)))
    expectNil(daemon.nextDeadline)
  }

  @Test("settings are stored after their first accepted update, unless they are stored already")
  mutating func settings() throws {
    expect(try comeOnline().contains(.storeSettings("settings")))
    daemon = Daemon(running: try DaemonTests.configuration(settingsText: nil), seed: 1)
    expect(try !comeOnline().contains { if case .storeSettings = $0 { true } else { false } })
  }

  @Test("a clock step between two readings of the clocks is reported once")
  mutating func clocks() {
    func read(_ second: Int64, wall: Int64) -> [Event.Kind] {
      let now = Moment(boot: .boot + .seconds(second), wall: AgentFixture.start + .seconds(wall))
      return daemon.clocksRead(now, awake: .seconds(second)).compactMap {
        if case .event(let event) = $0 { event.kind } else { nil }
      }
    }
    _ = handle(.start, at: 0)
    expect(read(10, wall: 10).isEmpty)
    expect(read(20, wall: 20).isEmpty)
    expectEqual(read(30, wall: 4000), [.clockStepped])
    expect(read(40, wall: 4010).isEmpty)
  }

  @Test("an observer gets the messages between vehicle and store, and one when the vehicle has settled")
  mutating func observer() throws {
    _ = open(at: 3)
    _ = handle(.storeEnded(.opened(nil)), at: 3)
    var messages: [Daemon.Message] = []
    _ = daemon.handle(.storeEnded(.read([])), at: DaemonTests.moment(3)) { message, _ in messages.append(message) }
    expectEqual(messages, [.toVehicle(.restored([])), .toVehicle(.store(.healthy)), .settled])
  }
}

extension [Daemon.Effect] {
  fileprivate var operations: [StoreAgent.Operation] {
    compactMap { if case .store(let operation) = $0 { operation } else { nil } }
  }
}
