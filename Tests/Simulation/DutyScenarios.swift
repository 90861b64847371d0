// SPDX-License-Identifier: Apache-2.0
import Delivery
import Expectations
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

/// The state of a vehicle of on-demand trips follows its driver's duty commands. In every scenario, the simulation
/// checks that nothing but OFFLINE is sent during a pause, that OFFLINE is never sent on duty, and that OFFLINE is sent
/// no more often than needed.
struct DutyScenarios {
  private static let trips = [Scenario.Setting.trips()]

  private func states(_ world: World, from second: Int = 0, of vehicle: String = "truck-1") -> [Bool] {
    world.server.states.filter { $0.at >= Double(second) && $0.vehicle == vehicle }.map(\.isOnline)
  }

  @Test(
    "on duty each update sets ONLINE; a pause sets OFFLINE once, within a second; the first fix afterwards sets ONLINE")
  func plain() throws {
    let world = try World.drive(Scenario(duration: 900, acts: [(301, .pause), (600, .resume)], settings: Self.trips))
    expectEqual(states(world).prefix { $0 }.count, world.applied(0..<301).count)
    expect(world.server.states.filter { !$0.isOnline }.map(\.at).allSatisfy { 301 < $0 && $0 < 302 })
    expectEqual(states(world, from: 301).filter { !$0 }.count, 1)
    expectEqual(world.attempts(301..<600), 1)
    expect(world.applied(600..<602).count == 1 && states(world, from: 600).allSatisfy { $0 })
    expectEqual(world.events(.stateOffline).count, 1)
  }

  @Test(
    "if there is no network when a pause begins, OFFLINE is accepted after the network's return",
    arguments: [true, false])
  func networkDies(isSilent: Bool) throws {
    let world = try World.drive(
      Scenario(
        duration: 900, faults: [Fault(isSilent ? .silent : .unreachable, 299..<500)], acts: [(301, .pause)],
        settings: Self.trips))
    expect(world.applied(301..<900).isEmpty)
    expectEqual(world.server.states.last?.isOnline, false)
    expectEqual(world.server.states.last.map { $0.at > 500 && $0.at < 535 }, true)
    expectEqual(world.events(.stateOfflineFailed).count, 1)
    expect(world.attempts(300..<500) > 5)
  }

  @Test(
    "if the power fails at any effect of a pause, and the driver then repeats the pause, OFFLINE is accepted",
    arguments: 0..<6)
  func powerCut(effects: Int) throws {
    let world = try World.drive(
      Scenario(
        duration: 600, acts: [(301, .powerCut(afterEffects: effects, seconds: 20)), (301, .pause), (340, .pause)],
        settings: Self.trips))
    expectEqual(world.runNumber, 1)
    expectEqual(world.pauseNote?.offlineVehicle, "trips/provider/truck-1")
    expectEqual(world.server.states.last?.isOnline, false)
  }

  @Test(
    "if the power fails while OFFLINE is pending, it is sent after the restart without another command",
    arguments: [Scenario.Act.pause, .goOffline])
  func powerCutWhilePending(command: Scenario.Act) throws {
    let world = try World.drive(
      Scenario(
        duration: 600, faults: [Fault(.unreachable, 295..<330)],
        acts: [(301, command), (303, .powerCut(afterEffects: 0, seconds: 20))], settings: Self.trips))
    expectEqual(world.runNumber, 1)
    expectEqual(states(world, from: 301).first, false)
    expectEqual(world.server.states.last?.isOnline, false)
  }

  @Test(
    "a server that rejects positions of an OFFLINE vehicle gets the state, and the track once the vehicle is ONLINE")
  func offlinePositionsRefused() throws {
    let world = try World.drive(
      Scenario(
        duration: 1500, faults: [Fault(.refusesOfflinePositions, 0..<1500)],
        acts: [(301, .goOffline), (600, .goOnline)], settings: Self.trips))
    expectEqual(states(world, from: 301).first, false)
    expect(world.applied(302..<600).isEmpty && world.attempts(302..<600) < 20)
    expectEqual(world.server.states.last?.isOnline, true)
    // `online` ends the backoff of the last rejection.
    expect(!world.applied(600..<612).isEmpty)
    expect(world.longestGap(10..<1480) <= 13)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("after a restart during a pause whose OFFLINE was accepted, no token is requested and nothing is sent")
  func restartOffline() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, acts: [(301, .pause), (400, .powerCut(afterEffects: 0, seconds: 20)), (401, .pause)],
        settings: Self.trips))
    expectEqual(world.attempts(330..<600), 0)
    expect(world.fetches.allSatisfy { $0 < World.time(301) })
  }

  @Test("if the token has expired and the token provider is down, OFFLINE is sent with the next token")
  func token() throws {
    let world = try World.drive(
      Scenario(
        duration: 900, faults: [Fault(.providerDown, 150..<500)], acts: [(400, .pause)], tokenLife: 120,
        settings: Self.trips))
    expectEqual(states(world, from: 400), [false])
    expectEqual(world.server.states.last.map { $0.at > 500 }, true)
  }

  @Test(
    "an OFFLINE that Fleet Engine rejects is retried until it is accepted, with the same backoff as a position",
    arguments: [
      (401, "UNAUTHENTICATED"), (403, "PERMISSION_DENIED"), (404, "NOT_FOUND"), (429, "RESOURCE_EXHAUSTED"),
      (503, "UNAVAILABLE"), (400, "INVALID_ARGUMENT"),
    ])
  func refused(http: Int, status: String) throws {
    let world = try World.drive(
      Scenario(
        duration: 1800, faults: [Fault(.answers(http, status), 300..<400)], acts: [(301, .pause)],
        settings: Self.trips))
    expectEqual(states(world, from: 301).last, false)
    expect(world.applied(301..<1800).isEmpty)
    expectEqual(world.events(.stateOfflineFailed).isEmpty, false)
    expect((2...12).contains(world.attempts(300..<400)))
  }

  @Test(
    "if a pause ends while OFFLINE is in flight, ONLINE is the final state, whether or not that request is cancelled",
    arguments: 0..<10)
  func resume(number: Int) throws {
    // OFFLINE takes 7 s to 14 s to arrive; later requests arrive at once. The vehicle is parked, so that no later
    // update corrects a wrong final state.
    let world = try World.drive(
      Scenario(
        seed: UInt64(3 * number + 1), duration: 325, drive: .steady(0), faults: [Fault(.latency(7000), 300..<303)],
        acts: [(0, .network(true)), (301, .pause), (303, .resume)] + (number < 5 ? [] : [(304, .networkUp)]),
        settings: Self.trips))
    expect(states(world, from: 301).contains(false))
    expectEqual(world.server.states.last?.isOnline, true)
    expect(!world.agent.isPaused)
  }

  @Test(
    "if a position is in flight when a pause begins, and may arrive after OFFLINE, OFFLINE is the final state",
    arguments: 0..<10)
  func inFlight(offset: Int) throws {
    // Requests every 5 s that take 4 s to 8 s: one is in flight when the pause begins.
    let world = try World.drive(
      Scenario(
        duration: 400, faults: [Fault(.latency(4000), 250..<400)], acts: [(300 + offset, .pause)],
        settings: Self.trips + [.interval(5)]))
    expectEqual(world.server.states.last?.isOnline, false)
    expect(world.pauseNote?.offlineVehicle != nil)
    expect(world.attempts((300 + offset)..<400) <= 5)
  }

  @Test(
    "if a server applies a position seconds after its connection closed unanswered, OFFLINE is the final state",
    arguments: [1, 2], 0..<5)
  func closedUnanswered(seed: Int, second: Int) throws {
    let world = try World.drive(
      Scenario(
        seed: UInt64(seed), duration: 600, faults: [Fault(.closedUnanswered(1, appliedWithin: 12), 296..<306)],
        acts: [(301 + second, .pause)], settings: Self.trips + [.interval(5)]))
    expect(world.abandonedIDs.count >= 1)
    expectEqual(world.server.states.last?.isOnline, false)
    expect(world.pauseNote?.offlineVehicle != nil)
    expect(world.events(.stateOfflineMissing).isEmpty)
  }

  @Test("a pause before the first fix sends OFFLINE, because the previous day may have ended ONLINE")
  func beforeFirstFix() throws {
    let world = try World.drive(
      Scenario(duration: 300, faults: [Fault(.noFix, 0..<300)], acts: [(3, .pause)], settings: Self.trips))
    expectEqual(states(world), [false])
    expect(world.server.applied.isEmpty)
  }

  @Test(
    "a stop before OFFLINE is accepted makes one last attempt; if it fails, OFFLINE stays pending for the next start")
  func stopWithOfflinePending() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, faults: [Fault(.silent, 200..<600)], acts: [(301, .pause), (400, .stop(within: 3))],
        settings: Self.trips))
    expectEqual(world.finishedAt.map { $0 <= World.time(403) }, true)
    expect(world.pauseNote != nil && world.pauseNote?.offlineVehicle == nil)
    expectEqual(
      world.events(.stateOfflineMissing),
      ["Fleet Engine has not accepted OFFLINE for vehicle truck-1: it is sent again after the next start"])
  }

  @Test("a stop during the backoff after a rejected OFFLINE makes the last attempt at once, and OFFLINE is accepted")
  func stopInTime() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, faults: [Fault(.answers(404, "NOT_FOUND"), 290..<399)],
        acts: [(301, .pause), (400, .stop(within: 3))],
        settings: Self.trips))
    expectEqual(states(world, from: 301), [false])
    expect(world.events(.stateOfflineMissing).isEmpty)
  }

  @Test(
    "going off duty sets OFFLINE within a second, and positions are still sent; going on duty sets ONLINE within 7 s")
  func offDuty() throws {
    let world = try World.drive(
      Scenario(duration: 900, acts: [(301, .goOffline), (600, .goOnline)], settings: Self.trips))
    expectEqual(states(world, from: 301).first, false)
    expectEqual(world.server.states.first { !$0.isOnline }.map { $0.at < 302 }, true)
    expect(world.server.states.filter { 301 < $0.at && $0.at < 600 }.allSatisfy { !$0.isOnline })
    expectEqual(world.server.states.first { $0.at > 600 }.map { $0.isOnline && $0.at < 606.5 }, true)
    expect(world.longestGap(10..<898) <= 13)
    expectEqual(world.events(.stateOffline).count, 1)
  }

  @Test("without a fix, going off duty sets OFFLINE; after going on duty, the first fix sets ONLINE")
  func offDutyWithoutFix() throws {
    let world = try World.drive(
      Scenario(
        duration: 300, faults: [Fault(.noFix, 0..<200)], acts: [(3, .goOffline), (100, .goOnline)],
        settings: Self.trips))
    expectEqual(world.server.states.first.map { !$0.isOnline && $0.at < 10 }, true)
    expectEqual(world.server.states.filter { $0.at < 200 }.count, 1)
    expectEqual(world.server.states.last?.isOnline, true)
  }

  @Test("after a pause, ONLINE is sent with the first fix, not with a position that was queued before the pause")
  func resumeWithoutFix() throws {
    let world = try World.drive(
      Scenario(
        duration: 900, faults: [Fault(.unreachable, 280..<350), Fault(.noFix, 590..<700)],
        acts: [(300, .pause), (600, .resume)], settings: Self.trips))
    expect(world.server.states.filter { 350 < $0.at && $0.at < 700 }.allSatisfy { !$0.isOnline })
    expectEqual(world.server.states.first { $0.at >= 700 }.map { $0.isOnline && $0.at < 707 }, true)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("after a restart during a pause, ONLINE is sent with the first fix, not with a queued position")
  func resumeWithoutFixAfterRestart() throws {
    let world = try World.drive(
      Scenario(
        duration: 900, faults: [Fault(.unreachable, 280..<350), Fault(.noFix, 400..<700)],
        acts: [(300, .pause), (420, .powerCut(afterEffects: 0, seconds: 20)), (421, .pause), (600, .resume)],
        settings: Self.trips))
    expect(world.server.states.filter { 350 < $0.at && $0.at < 700 }.allSatisfy { !$0.isOnline })
    expectEqual(world.server.states.first { $0.at >= 700 }.map { $0.isOnline && $0.at < 707 }, true)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("after a suspend off duty, ONLINE is sent with the first fix, not with the place from before the suspend")
  func onDutyAfterSuspend() throws {
    let world = try World.drive(
      Scenario(
        duration: 400, faults: [Fault(.noFix, 60..<300)],
        acts: [(50, .goOffline), (60, .suspend(200)), (265, .goOnline)], settings: Self.trips))
    expect(world.server.states.filter { 60 < $0.at && $0.at < 300 }.allSatisfy { !$0.isOnline })
    expectEqual(world.server.states.first { $0.at >= 300 }.map { $0.isOnline && $0.at < 306.5 }, true)
  }

  @Test(
    "if the power fails at any effect of going off duty, and the driver then repeats the command, OFFLINE is accepted",
    arguments: 0..<6)
  func offDutyPowerCut(effects: Int) throws {
    let world = try World.drive(
      Scenario(
        duration: 600,
        acts: [(301, .powerCut(afterEffects: effects, seconds: 20)), (301, .goOffline), (340, .goOffline)],
        settings: Self.trips))
    expectEqual(world.runNumber, 1)
    expect(world.dutyNote?.vehicle == "trips/provider/truck-1" && world.dutyNote?.isOfflineAccepted == true)
    expect(states(world, from: 345).allSatisfy { !$0 })
    expect(world.applied(345..<600).count > 15)
  }

  @Test(
    "if a driver goes off duty while positions with late or lost responses are in flight, OFFLINE is the final state",
    arguments: 0..<10)
  func offDutyUnanswered(offset: Int) throws {
    let world = try World.drive(
      Scenario(
        seed: UInt64(offset + 1), duration: 400,
        faults: [
          offset < 5 ? Fault(.latency(4000), 250..<400) : Fault(.closedUnanswered(1, appliedWithin: 12), 296..<306)
        ],
        acts: [(300 + offset, .goOffline)], settings: Self.trips + [.interval(5)]))
    expectEqual(world.server.states.last?.isOnline, false)
    expectEqual(world.dutyNote?.isOfflineAccepted, true)
  }

  @Test(
    "if an OFFLINE without a response arrives after ONLINE, a parked vehicle is soon set ONLINE again",
    arguments: 0..<5)
  func onlineUnanswered(seed: Int) throws {
    let world = try World.drive(
      Scenario(
        seed: UInt64(seed), duration: 330, drive: .steady(0),
        faults: [Fault(.closedUnanswered(1, appliedWithin: 12), 301..<302)],
        acts: [(301, .goOffline), (303, .goOnline)], settings: Self.trips))
    expect(states(world, from: 301).contains(false))
    expectEqual(world.server.states.last.map { $0.isOnline && $0.at < 325 }, true)
  }

  @Test(
    "a pause while off duty sends nothing; `resume` applies the last duty command, even one given during the pause",
    arguments: [true, false])
  func pauseOffDuty(goesOnline: Bool) throws {
    let world = try World.drive(
      Scenario(
        duration: 600,
        acts: [(200, .goOffline), (301, .pause), (400, .resume)] + (goesOnline ? [(350, .goOnline)] : []),
        settings: Self.trips))
    expectEqual(world.attempts(301..<400), 0)
    expectEqual(world.server.states.first { $0.at > 400 }?.isOnline, goesOnline)
    expectEqual(world.server.states.last?.isOnline, goesOnline)
  }

  @Test("after a reload to another vehicle, that vehicle is on duty, even if the previous one was off duty")
  func reloadOffDuty() throws {
    let world = try World.drive(
      Scenario(duration: 600, acts: [(200, .goOffline), (350, .reload(vehicle: "truck-2"))], settings: Self.trips))
    expectEqual(states(world).last, false)
    expect(!states(world, of: "truck-2").isEmpty && states(world, of: "truck-2").allSatisfy { $0 })
    expectNil(world.dutyNote)
  }

  @Test("with offline_on_stop, a vehicle that is off duty stays OFFLINE at a stop, and no missing OFFLINE is reported")
  func offlineOnStopOffDuty() throws {
    let world = try World.drive(
      Scenario(
        duration: 400, acts: [(200, .goOffline), (303, .stop(within: 3))], settings: [.trips(offlineOnStop: true)]))
    expect(states(world, from: 200).allSatisfy { !$0 })
    expect(world.events(.stateOfflineMissing).isEmpty)
  }

  @Test("without offline_on_stop, a stop of the service does not change the vehicle's state")
  func stop() throws {
    let world = try World.drive(Scenario(duration: 400, acts: [(300, .stop(within: 3))], settings: Self.trips))
    expect(states(world).allSatisfy { $0 })
  }

  @Test("offline_on_stop sends the last position, then OFFLINE, within the stop timeout")
  func offlineOnStop() throws {
    let world = try World.drive(
      Scenario(duration: 400, acts: [(303, .stop(within: 3))], settings: [.trips(offlineOnStop: true)]))
    let states = states(world, from: 303)
    expect(states.last == false && states.count { !$0 } == 1)
    expectEqual(world.finishedAt.map { $0 <= World.time(306) }, true)
    expect(world.events(.stateOfflineMissing).isEmpty)
  }

  @Test("offline_on_stop reserves half of the stop timeout for OFFLINE, even when the update of a position hangs")
  func offlineOnStopLate() throws {
    let world = try World.drive(
      Scenario(
        duration: 400, faults: [Fault(.silent, 290..<302)], acts: [(301, .stop(within: 4))],
        settings: [.trips(offlineOnStop: true)]))
    expectEqual(states(world, from: 301).last, false)
    let unaccepted = try World.drive(
      Scenario(
        duration: 400, faults: [Fault(.silent, 290..<400)], acts: [(301, .stop(within: 4))],
        settings: [.trips(offlineOnStop: true)]))
    expectEqual(unaccepted.finishedAt, World.time(305))
    expectEqual(
      unaccepted.events(.stateOfflineMissing),
      ["Fleet Engine has not accepted OFFLINE for vehicle truck-1: the vehicle's state stays as it was"])
  }

  @Test(
    "when a source ends, its positions and then OFFLINE are sent; an OFFLINE that is not accepted is reported",
    arguments: [true, false])
  func drained(isLate: Bool) throws {
    let world = try World.drive(
      Scenario(
        duration: 600, faults: isLate ? [Fault(.unreachable, 100..<600)] : [Fault(.unreachable, 100..<310)],
        acts: [(300, .sourceEnded)], settings: [.trips(offlineOnStop: true)]))
    expectEqual(world.finishedAt.map { $0 <= World.time(360) }, true)
    expect((states(world).last == false) != isLate)
    expectEqual(world.events(.stateOfflineMissing).count, (isLate ? 1 : 0))
  }

  @Test("a run that ends in a pause with OFFLINE pending reads the backlog file, although it delivers nothing from it")
  func fileInPause() throws {
    let world = try World.drive(
      Scenario(
        seed: 4162, duration: 217, drive: .steady(14.0),
        faults: [
          Fault(.answers(404, "NOT_FOUND", retryAfter: nil, retryInfo: nil), 53..<54), Fault(.latency(6000), 125..<225),
        ],
        acts: [
          (25, .kill(afterEffects: 2, seconds: 18)), (113, .suspend(25)), (173, .sourceEnded),
          (130, .powerCut(afterEffects: 5, seconds: 17)), (128, .pause),
        ], noise: 0.0, settings: [.trips(reportsState: true, offlineOnStop: true)], hasModem: true))
    expect(!world.agent.delivery.isStorePending)
  }

  @Test("at the end of a run, a missing OFFLINE is reported even if only a lost ONLINE has followed the last OFFLINE")
  func lostOnline() throws {
    let world = try World.drive(
      Scenario(
        seed: 242636, duration: 359, drive: .steady(14.0),
        faults: [
          Fault(.answersLate, 107..<187), Fault(.answers(200, "INTERNAL", retryAfter: nil, retryInfo: nil), 195..<347),
        ],
        acts: [(334, .stop(within: 5)), (60, .pause), (117, .resume)], noise: 0.0,
        settings: [.trips(reportsState: true, offlineOnStop: true)]))
    expectEqual(world.events(.stateOfflineMissing).count, 1)
  }

  @Test("with report_state = false only positions are sent, and a pause sends nothing")
  func otherOwner() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, acts: [(301, .pause), (400, .resume)], settings: [.trips(reportsState: false)]))
    expect(world.server.states.isEmpty)
    expectEqual(world.attempts(301..<400), 0)
    expect(world.longestGap(10..<298) <= 13)
  }

  @Test(
    "a reload during a pause sets the new vehicle OFFLINE, and reports that the previous one is not OFFLINE")
  func reload() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, faults: [Fault(.unreachable, 295..<400)],
        acts: [(301, .pause), (350, .reload(vehicle: "truck-2"))], settings: Self.trips))
    expectEqual(states(world, of: "truck-2"), [false])
    expectEqual(states(world).last, true)
    expectEqual(world.events(.stateOfflineMissing).count, 1)
    expectEqual(world.pauseNote?.offlineVehicle, "trips/provider/truck-2")
  }

  @Test("after a suspend and a change of network while OFFLINE is in flight, OFFLINE is sent again at once")
  func suspend() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, faults: [Fault(.silent, 299..<330)],
        acts: [(0, .network(true)), (301, .pause), (320, .suspend(30)), (360, .networkUp)], settings: Self.trips))
    expectEqual(world.server.states.last.map { !$0.isOnline && $0.at < 372 }, true)
  }

  @Test("positions queued before a pause are delivered after it, as for vehicles of scheduled tasks")
  func backlog() throws {
    let world = try World.drive(
      Scenario(
        duration: 1200, faults: [Fault(.unreachable, 100..<350)], acts: [(301, .pause), (600, .resume)],
        settings: Self.trips))
    expect(world.longestGap(10..<298) <= 13)
    expectEqual(world.agent.delivery.pendingCount, 0)
    expectEqual(world.server.states.last?.isOnline, true)
  }

  @Test(
    "if an OFFLINE without a response arrives after ONLINE and a power cut, the first update afterwards sets ONLINE")
  func cutAfterOnline() throws {
    let world = try World.drive(
      Scenario(
        seed: 22_775, duration: 110, drive: .steady(14),
        faults: [Fault(.closedUnanswered(1, appliedWithin: 12), 78..<79)],
        acts: [(78, .goOffline), (78, .goOnline), (78, .powerCut(afterEffects: 2, seconds: 25))], noise: 0,
        settings: Self.trips))
    expectEqual(states(world, from: 78), [true, false, true])
  }

  @Test("if an ONLINE from before a power cut arrives after the final OFFLINE, the next update sets OFFLINE again")
  func onlineFromBeforeReboot() throws {
    let world = try World.drive(
      Scenario(
        seed: 429_015, duration: 272, drive: .steady(14),
        faults: [Fault(.latency(6000), 4..<24), Fault(.closedUnanswered(1, appliedWithin: 12), 247..<248)],
        acts: [
          (94, .suspend(152)), (209, .goOffline), (258, .goOffline), (247, .goOnline),
          (247, .powerCut(afterEffects: 5, seconds: 6)),
        ], noise: 0, settings: [.interval(5), .trips(reportsState: true, offlineOnStop: false)]))
    // The next update sets OFFLINE again.
    expectEqual(Array(states(world, from: 258).prefix(3)), [false, true, false])
  }

  @Test("if a driver goes on duty while the service is stopping, the vehicle does not become OFFLINE")
  func onDutyWhileStopping() throws {
    let world = try World.drive(
      Scenario(
        seed: 140_763, duration: 135, drive: .steady(14), faults: [Fault(.unreachable, 95..<131)],
        acts: [(129, .stop(within: 9)), (128, .goOffline), (131, .goOnline)], noise: 0, settings: Self.trips))
    expect(states(world).allSatisfy { $0 })
  }

  @Test("a vehicle that is configured during a pause becomes OFFLINE, even if the pause is requested again")
  func otherVehicleInPause() throws {
    let world = try World.drive(
      Scenario(
        seed: 215_383, duration: 557, drive: .steady(14),
        acts: [(548, .reload(vehicle: "truck-2")), (241, .pause), (548, .pause)], noise: 0, settings: Self.trips))
    expectEqual(states(world, from: 548, of: "truck-2"), [false])
  }

  @Test("a vehicle that is configured again during a pause becomes OFFLINE, whatever the state of the previous vehicle")
  func configuredAgainInPause() throws {
    let world = try World.drive(
      Scenario(
        seed: 472_944, duration: 60, drive: .steady(14),
        faults: [
          Fault(.answers(413, "INVALID_ARGUMENT"), 37..<38), Fault(.closedUnanswered(0.1, appliedWithin: 11), 11..<12),
        ],
        acts: [
          (14, .reload(vehicle: "truck-2")), (34, .reload(vehicle: "truck-1")), (17, .goOffline), (33, .pause),
        ], noise: 0, settings: [.interval(5), .trips(reportsState: true, offlineOnStop: true)], hasCertificates: true))
    expectEqual(states(world).last, false)
  }

  @Test("while the token provider does not know the vehicle, the OFFLINE of a pause stays pending")
  func noTokenForOffline() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_015_088, duration: 195, drive: .steady(14), faults: [Fault(.credentialMissing, 0..<16)],
        acts: [(154, .pause), (32, .edit(isTokenWrong: true, confirm: 60))], noise: 0, settings: Self.trips,
        hasInstallationFaults: true))
    expect(world.isOfflinePending)
  }

  @Test(
    "OFFLINE is final even if the settings named another vehicle in between, while a position was in flight",
    arguments: 1...10 as ClosedRange<UInt64>)
  func offlineAfterVehicleAndBack(seed: UInt64) throws {
    let world = try World.drive(
      Scenario(
        seed: seed, duration: 140, drive: .steady(14),
        faults: [Fault(.closedUnanswered(1, appliedWithin: 12), 96..<102)],
        acts: [(102, .reload(vehicle: "truck-2")), (104, .reload(vehicle: "truck-1")), (105, .pause)], noise: 0,
        settings: [.interval(5), .trips()]))
    expectEqual(states(world).last, false)
  }

  @Test(
    "an OFFLINE that arrives late remains in force while there is no token",
    arguments: [10_000_003, 10_000_014, 10_000_037])
  func lateOfflineWithoutToken(seed: UInt64) throws {
    _ = try World.drive(
      Scenario(
        seed: seed, duration: 340, drive: .steady(14),
        faults: [Fault(.closedUnanswered(1, appliedWithin: 12), 290..<293)],
        acts: [(200, .edit(isTokenWrong: true, confirm: 180)), (290, .goOffline), (290, .goOnline)], tokenLife: 300,
        noise: 0, settings: Self.trips, hasInstallationFaults: true))
  }

  @Test("after Fleet Engine has rejected several tokens, OFFLINE may follow a quarter of an hour later")
  func offlineAfterRejectedTokens() throws {
    let world = try World.drive(
      Scenario(
        duration: 660, faults: [Fault(.answers(401, "UNAUTHENTICATED"), 20..<270)], acts: [(30, .goOffline)],
        settings: Self.trips))
    expect(world.isOfflinePending && !world.events(.tokenRefused).isEmpty)
  }

  @Test("settings with a wrong token provider that are reverted at the end of a run leave no time for OFFLINE")
  func revertedAtEnd() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_000_001, duration: 220, drive: .steady(14),
        acts: [(100, .edit(isTokenWrong: true, confirm: 120)), (175, .goOffline)], tokenLife: 40, noise: 0,
        settings: [.trips()], hasInstallationFaults: true))
    expect(world.dutyNote != nil && !world.installation.inForce.isTokenWrong)
  }
}
