// SPDX-License-Identifier: Apache-2.0
import Delivery
import Expectations
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

/// Two daemons on one machine with the same vehicle: the first to lock the vehicle's file reports the vehicle, and the
/// other one waits. In every scenario, the simulation checks that a waiting daemon sends, records and fetches nothing.
struct LockScenarios {
  private static func other(_ seconds: Range<Int>, vehicle: String = "truck-1") -> Fault {
    Fault(.otherDaemon(vehicle: vehicle), seconds)
  }

  @Test("while another daemon has locked the vehicle, nothing is sent; soon after it exits, the first update follows")
  func plain() throws {
    let world = try World.drive(Scenario(duration: 900, faults: [Self.other(0..<300)]))
    expectEqual(world.attempts(0..<300), 0)
    expect(world.fetches.allSatisfy { $0 >= World.time(300) })
    expect(world.applied(300..<305).isEmpty)
    // The daemon tries the lock every 5 s, and Fleet Engine requires 5 s between updates; the other daemon may just
    // have sent one.
    expect(!world.applied(305..<312).isEmpty)
    expect(world.longestGap(312..<880) <= 13)
    expectEqual(world.events(.vehicleInUse).count, 1)
    expectEqual(world.events(.vehicleFree).count, 1)
  }

  @Test("a second daemon does not disturb the first")
  func second() throws {
    let world = try World.drive(Scenario(duration: 900, faults: [Self.other(300..<600)]))
    expect(world.longestGap(10..<880) <= 13)
    expect(world.events(.vehicleInUse).isEmpty)
  }

  @Test(
    "if a daemon is killed while another one waits for its vehicle, the restarted daemon waits for the other to exit")
  func killed() throws {
    let world = try World.drive(
      Scenario(
        duration: 900, faults: [Self.other(200..<600)], acts: [(300, .kill(afterEffects: 0, seconds: 6))]))
    expectEqual(world.attempts(310..<600), 0)
    expect(!world.applied(600..<612).isEmpty)
  }

  @Test(
    "after a reload to a vehicle that another daemon has locked, nothing is sent; after one to a free vehicle, updates resume"
  )
  func reload() throws {
    let world = try World.drive(
      Scenario(
        duration: 900, faults: [Self.other(0..<900, vehicle: "truck-2")],
        acts: [(300, .reload(vehicle: "truck-2")), (600, .reload(vehicle: "truck-1"))]))
    expectEqual(world.attempts(300..<600), 0)
    expect(!world.applied(600..<612).isEmpty)
    expect(world.applied(0..<900).allSatisfy { $0.vehicle == "truck-1" })
  }

  @Test(
    "while another daemon has locked the vehicle, no position is queued; those queued before are delivered afterwards")
  func backlog() throws {
    let world = try World.drive(
      Scenario(
        duration: 1200, faults: [Fault(.unreachable, 100..<250), Self.other(200..<600)],
        acts: [(240, .kill(afterEffects: 0, seconds: 6))]))
    expectEqual(world.attempts(250..<600), 0)
    expect(!world.arrivedSeconds.contains { (250..<599).contains($0) })
    expect(world.arrivedSeconds.contains { (150..<200).contains($0) })
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test(
    "a pause that begins while another daemon has locked the vehicle is in force afterwards, unless it has ended by then"
  )
  func pause() throws {
    let world = try World.drive(
      Scenario(duration: 900, faults: [Self.other(0..<300)], acts: [(100, .pause), (500, .resume)]))
    expectEqual(world.attempts(0..<500), 0)
    expect(!world.applied(500..<503).isEmpty)
    let ended = try World.drive(
      Scenario(duration: 900, faults: [Self.other(0..<300)], acts: [(100, .pause), (200, .resume)]))
    expectEqual(ended.attempts(0..<300), 0)
    expect(!ended.applied(300..<312).isEmpty)
  }

  @Test("while another daemon has locked the vehicle, the OFFLINE of a pause is not sent; it is sent afterwards")
  func offline() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, faults: [Self.other(0..<300)], acts: [(100, .pause)],
        settings: [.trips(offlineOnStop: true)]))
    expectEqual(world.attempts(0..<300), 0)
    expectEqual(world.server.states.last?.isOnline, false)
  }

  @Test("on a stop while another daemon has locked the vehicle, the daemon exits at once, without a request")
  func stop() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, faults: [Self.other(0..<600)], acts: [(200, .stop(within: 5))],
        settings: [.trips(offlineOnStop: true)]))
    expectEqual(world.finishedAt, World.time(200))
    expectEqual(world.attempts(0..<600), 0)
  }

  @Test("a source that another daemon's lock keeps closed does not end: it is opened when the vehicle is free")
  func endOfUnopened() throws {
    let world = try World.drive(
      Scenario(
        seed: 36_916, duration: 449, drive: .steady(14), faults: [Fault(.unplugged, 366..<367), Self.other(0..<40)],
        acts: [(36, .sourceEnded)], noise: 0, hasModem: true))
    expect(!world.applied(385..<398).isEmpty)
  }

  @Test("after a reload to a vehicle that is in use, and back, the receiver's baud rate is detected again")
  func inUseForAnInstant() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_131_699, duration: 296, drive: .steady(14),
        faults: [Fault(.otherDaemon(vehicle: "truck-2"), 269..<270)],
        acts: [(269, .reload(vehicle: "truck-2")), (269, .reload(vehicle: "truck-1"))], noise: 0, baud: 38_400,
        isAutobaud: true, hasInstallationFaults: true, hasCertificates: true))
    expect(!world.applied(290..<296).isEmpty)
  }

  @Test(
    "while settings with a vehicle that another daemon has locked are being read, the previous vehicle is still reported"
  )
  func readWhileInUse() throws {
    let world = try World.drive(
      Scenario(
        seed: 656_790, duration: 169, drive: .steady(14),
        faults: [
          Fault(.diskDeleted, 166..<167), Fault(.unplugged, 52..<142),
          Fault(.otherDaemon(vehicle: "truck-2"), 166..<167),
        ],
        acts: [(166, .reload(vehicle: "truck-2"))], noise: 0, settings: [.commitInterval(1)], hasModem: true))
    expectEqual(world.attempts.last.map { $0.vehicle }, "truck-1")
  }
}
