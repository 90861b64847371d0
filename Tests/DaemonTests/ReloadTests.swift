// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Daemon
import Expectations
import Vehicle
import Observability
import Testing
import Timekeeping

/// A reload: new settings are read and prepared, then applied or rejected.
struct ReloadTests {
  private var daemon: Daemon

  init() throws {
    daemon = Daemon(running: try ReloadTests.configuration(), seed: 1)
    _ = daemon.handle(.start, at: ReloadTests.moment(0))
  }

  private static func configuration(
    vehicle: String = "truck-1", hash: String = "a", warnings: [String] = []
  ) throws -> Daemon.Configuration {
    var store = StoreAgent.Configuration()
    store.directory = "/a"
    return Daemon.Configuration(
      vehicle: try AgentFixture.configuration(vehicle: vehicle), store: store, settingsText: "settings",
      settings: SettingsStatus(hash: hash), warnings: warnings)
  }

  private static func moment(_ second: Double) -> Moment {
    let elapsed = Duration.milliseconds(Int64((second * 1000).rounded()))
    return Moment(boot: .boot + elapsed, wall: AgentFixture.start + elapsed)
  }

  private mutating func handle(_ input: Daemon.Input, at second: Double = 1) -> [Daemon.Effect] {
    daemon.handle(input, at: ReloadTests.moment(second)).filter { if case .showStatus = $0 { false } else { true } }
  }

  private var vehicle: String? { daemon.run?.vehicle.snapshot(at: ReloadTests.moment(9)).vehicle }

  @Test("valid settings are applied, logged with their warnings, and then the request is answered")
  mutating func valid() throws {
    expectEqual(handle(.request(id: 4, .reload)), [.readSettings])
    let new = try Self.configuration(vehicle: "truck-2", warnings: ["x is odd"])
    let effects = handle(.settingsRead(.valid(new)))
    expectEqual(effects.first, .useSettings)
    expectEqual(
      effects.suffix(4),
      [.event(.reloaded), .event(.settingsWarning("x is odd")), .ready, .respond(id: 4, .done(remark: nil))])
    expectEqual(vehicle, "truck-2")
  }

  @Test("settings with a mistake change nothing, and the response contains the mistake")
  mutating func invalid() throws {
    _ = handle(.request(id: 4, .reload))
    expectEqual(
      handle(.settingsRead(.invalid("f:1: no"))),
      [
        .event(.reloadRefused("f:1: no")), .ready, .respond(id: 4, .refused(.settingsRefused, "f:1: no")),
      ])
    expectEqual(vehicle, "truck-1")
  }

  @Test("the outcome of a reload by SIGHUP is only in the journal")
  mutating func signal() throws {
    expectEqual(handle(.reload), [.readSettings])
    expectEqual(handle(.settingsRead(.invalid("f:1: no"))), [.event(.reloadRefused("f:1: no")), .ready])
  }

  @Test("a reload request while settings are being read causes another read, whose outcome answers both requests")
  mutating func again() throws {
    _ = handle(.request(id: 1, .reload))
    expect(handle(.request(id: 2, .reload)).isEmpty)
    // These settings may be older than the second request.
    expectEqual(handle(.settingsRead(.valid(try Self.configuration(vehicle: "truck-2")))), [.readSettings])
    expectEqual(vehicle, "truck-1")
    let effects = handle(.settingsRead(.valid(try Self.configuration(vehicle: "truck-3"))))
    expectEqual(effects.suffix(2), [.respond(id: 1, .done(remark: nil)), .respond(id: 2, .done(remark: nil))])
    expectEqual(vehicle, "truck-3")
  }

  @Test("while the store is busy, valid settings are pending until later valid ones replace them; invalid ones do not")
  mutating func busy() throws {
    _ = handle(.deadline, at: 3)
    _ = handle(.request(id: 1, .reload), at: 3)
    expect(handle(.settingsRead(.valid(try Self.configuration(vehicle: "truck-2"))), at: 3).isEmpty)
    _ = handle(.request(id: 2, .reload), at: 3)
    expectEqual(
      handle(.settingsRead(.invalid("no")), at: 3),
      [.event(.reloadRefused("no")), .respond(id: 2, .refused(.settingsRefused, "no"))])
    _ = handle(.request(id: 3, .reload), at: 3)
    _ = handle(.settingsRead(.valid(try Self.configuration(vehicle: "truck-3"))), at: 3)
    let effects = handle(.storeEnded(.opened(nil)), at: 3)
    expectEqual(effects.filter { $0 == .useSettings || $0 == .ready }.count, 2)
    expectEqual(effects.suffix(2), [.respond(id: 1, .done(remark: nil)), .respond(id: 3, .done(remark: nil))])
    expectEqual(vehicle, "truck-3")
  }

  @Test("a daemon that is stopping reads no new settings")
  mutating func stopping() {
    _ = handle(.vehicle(.stop(within: .seconds(5), signal: "SIGTERM")))
    expect(handle(.reload).isEmpty)
    expectEqual(handle(.request(id: 1, .reload)), [.respond(id: 1, .refused(.stopping, "the daemon is stopping"))])
  }
}
