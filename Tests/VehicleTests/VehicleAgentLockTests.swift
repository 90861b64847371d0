// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import Delivery
import AgentTesting
import Authorization
import HTTPMessages
import Testing
import Timekeeping

@testable import Vehicle

struct VehicleAgentLockTests {
  private static let van = VehicleHolder(unit: "fleet-locationd@van.service", processID: 812)

  @Test("while another process has locked the vehicle, nothing is sent, queued or fetched; the lock is tried every 5 s")
  func inUse() throws {
    var fixture = try AgentFixture()
    expectEqual(fixture.handle(.vehicleLocked(by: Self.van), at: 0).events, [.vehicleInUse])
    var attempts = [Double]()
    for second in 1...30 {
      let effects = try fixture.drive(to: Double(second))
      if effects.brief == ["lock vehicle"] {
        attempts.append(Double(second))
        expect(fixture.handle(.vehicleLocked(by: Self.van), at: Double(second)).isEmpty)
      } else {
        expect(effects.brief.isEmpty)
      }
    }
    expectEqual(attempts, [5, 10, 15, 20, 25, 30])
    expectEqual(fixture.agent.plan(at: .boot + .seconds(31)).cause, .vehicleInUse(by: Self.van, since: .boot))
  }

  @Test("after the other process has released the vehicle, a new fix is sent 5 s later, but no earlier fix")
  func free() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.vehicleLocked(by: Self.van), at: 0)
    for second in 1...9 { _ = try fixture.drive(to: Double(second)) }
    let effects = fixture.handle(.vehicleLocked(by: nil), at: 10)
    expectEqual(effects.events, [.vehicleFree])
    expect(effects.brief.isEmpty)
    // The other process may have sent an update just before it exited.
    for second in 11...14 { expect(try fixture.drive(to: Double(second)).brief.isEmpty) }
    expect(try fixture.drive(to: 15).brief.contains { $0.hasPrefix("fetch 1") })
    expect(fixture.handle(.tokenEnded(id: 1, fixture.token()), at: 15.5).brief.contains("send 1"))
    expectEqual(fixture.agent.delivery.backlog.count, 1)
    expect(fixture.agent.delivery.backlog.records.allSatisfy { AgentFixture.second($0.id) > 10 })
  }

  @Test("if no other process has locked the vehicle, updates are sent as usual")
  func unlocked() throws {
    var fixture = try AgentFixture()
    expect(fixture.handle(.vehicleLocked(by: nil), at: 0).isEmpty)
    _ = try fixture.drive(to: 0)
    _ = fixture.handle(.tokenEnded(id: 1, fixture.token()), at: 0.1)
    expect(
      fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 0.2).contains(
        .accepted(sentAt: .boot + .milliseconds(100))))
  }

  @Test("new settings with a locked vehicle cancel the request in flight; with a free vehicle updates resume")
  func configure() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    for second in 1...11 { _ = try fixture.drive(to: Double(second)) }
    let other = try AgentFixture.configuration(vehicle: "truck-2")
    let locked = fixture.handle(.configure(other, lockedBy: Self.van), at: 11.2)
    expect(locked.brief.contains("cancel update 2"))
    expectEqual(locked.events, [.vehicleInUse])
    expect(try fixture.drive(to: 12).brief.isEmpty)
    // A third vehicle, which is locked too, is reported again.
    let third = try AgentFixture.configuration(vehicle: "truck-3")
    expectEqual(fixture.handle(.configure(third, lockedBy: Self.van), at: 13).events, [.vehicleInUse])
    let free = fixture.handle(.configure(try AgentFixture.configuration(), lockedBy: nil), at: 14)
    expectEqual(free.events, [.vehicleFree])
    for second in 15...18 { expect(try fixture.drive(to: Double(second)).brief.isEmpty) }
    expect(try fixture.drive(to: 19).brief.contains { $0.hasPrefix("fetch") })
  }

  @Test("a process that has locked the vehicle is reported once, and a different one is reported again")
  func otherHolder() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.vehicleLocked(by: Self.van), at: 0)
    expect(fixture.handle(.vehicleLocked(by: Self.van), at: 5).events.isEmpty)
    let manual = VehicleHolder(unit: nil, processID: 4711)
    expectEqual(fixture.handle(.vehicleLocked(by: manual), at: 10).events, [.vehicleInUse])
    expectEqual(fixture.agent.plan(at: .boot + .seconds(11)).cause, .vehicleInUse(by: manual, since: .boot))
  }

  @Test("while another process has locked the vehicle, a stop takes effect at once, without a final attempt or OFFLINE")
  func stop() throws {
    var fixture = try AgentFixture {
      $0 = try AgentFixture.tripsConfiguration()
      $0.goesOfflineOnStop = true
    }
    _ = fixture.handle(.vehicleLocked(by: Self.van), at: 0)
    _ = try fixture.drive(to: 1)
    let effects = fixture.handle(.stop(within: .seconds(8), signal: "SIGTERM"), at: 2)
    expectEqual(effects.brief, ["stopping", "finished 0"])
    expect(!effects.events.contains(.stateOfflineMissing))
  }

  @Test("the OFFLINE of a pause is sent only after the other process has released the vehicle")
  func pause() throws {
    var fixture = try AgentFixture { $0 = try AgentFixture.tripsConfiguration() }
    try fixture.comeOnline()
    _ = fixture.handle(.vehicleLocked(by: Self.van), at: 5)
    expect(!fixture.handle(.pause(nil), at: 6).brief.contains { $0.hasPrefix("send") })
    expect(fixture.handle(.deadline, at: 9).brief.isEmpty)
    expectEqual(fixture.handle(.vehicleLocked(by: nil), at: 10).brief, ["send 2 OFFLINE"])
  }

  @Test(
    "if a token file changes while another process has the lock, it is read once the vehicle is free and not paused")
  func tokenFile() throws {
    for isPaused in [false, true] {
      var fixture = try AgentFixture()
      try fixture.comeOnline()
      _ = fixture.handle(.vehicleLocked(by: Self.van), at: 5)
      expect(fixture.handle(.tokenFileChanged, at: 6).brief.isEmpty)
      if isPaused { _ = fixture.handle(.pause(nil), at: 6.5) }
      let free = fixture.handle(.vehicleLocked(by: nil), at: 7)
      expectEqual(free.brief.contains { $0.hasPrefix("fetch 2") }, !isPaused)
      if isPaused { expect(fixture.handle(.resume, at: 8).brief.contains { $0.hasPrefix("fetch 2") }) }
    }
  }
}
