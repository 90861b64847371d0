// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import Delivery
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

struct ServerScenarios {
  @Test("a server that takes fourteen seconds to respond gets one request at a time, and every position")
  func slowServer() throws {
    let world = try World.drive(Scenario(duration: 1200, faults: [Fault(.slow(14), 200..<1000)]))
    expect(world.longestGap(10..<1180) <= 16)
    expect(world.agent.delivery.backlog.isEmpty)
    expect(world.events(.offline).isEmpty)
  }

  @Test("during twenty minutes of 503 few requests are sent, and no position is lost")
  func storm() throws {
    let world = try World.drive(Scenario(duration: 2400, faults: [Fault(.answers(503, "UNAVAILABLE"), 300..<1500)]))
    expect(world.attempts(300..<1500) < 140)
    expect(!world.applied(1500..<1532).isEmpty)
    expect(world.longestGap(10..<2380) <= 13)
  }

  @Test(
    "a server that asks for a wait of two minutes, by Retry-After or RetryInfo, gets no request for that time",
    arguments: [
      Fault.Kind.answers(429, "RESOURCE_EXHAUSTED", retryAfter: "120"),
      .answers(429, "RESOURCE_EXHAUSTED", retryInfo: "120s"),
      .answers(503, "UNAVAILABLE", retryAfter: "120"),
    ])
  func retryAfter(kind: Fault.Kind) throws {
    let world = try World.drive(Scenario(duration: 600, faults: [Fault(kind, 300..<310)], acts: [(330, .networkUp)]))
    expectEqual(world.attempts(300..<310), 1)
    expectEqual(world.attempts(311..<420), 0)
    // The usual backoff follows.
    expect(!world.applied(420..<445).isEmpty)
    expect(world.longestGap(10..<590) <= 13)
  }

  @Test(
    "Retry-After as a date is relative to the response's own date, whatever the machine's clock shows",
    arguments: [0, nil])
  func retryAfterDate(wallError: Int64?) throws {
    // The date is 450 s after boot.
    let fault = Fault(.answers(429, "RESOURCE_EXHAUSTED", retryAfter: "Tue, 01 Dec 2026 00:07:30 GMT"), 300..<310)
    let world = try World.drive(Scenario(duration: 600, faults: [fault], wallError: wallError))
    expectEqual(world.attempts(311..<449), 0)
    expect(!world.applied(449..<475).isEmpty)
  }

  @Test("a 401 during a drive causes one additional token fetch and one additional update")
  func unauthenticated() throws {
    let world = try World.drive(Scenario(duration: 900, faults: [Fault(.revoked, 400..<900)]))
    expectEqual(world.fetches.count, 2)
    expectEqual(world.attempts.count, world.server.applied.count + 1)
    expect(world.longestGap(10..<880) <= 13)
    expect(world.events(.tokenRefused).isEmpty)
  }

  @Test("a permanent 403 is reported, and causes few updates and token fetches an hour")
  func deniedForEver() throws {
    let world = try World.drive(
      Scenario(duration: 7500, faults: [Fault(.answers(403, "PERMISSION_DENIED"), 300..<7500)]))
    expect(world.attempts(300..<3900) < 60)
    expect(world.attempts(3900..<7500) < 30)
    expect(world.fetches.count < 60)
    expect(!world.events(.tokenRefused).isEmpty)
  }

  @Test("a role that is missing from the start is reported once, and at most three requests are made in a minute")
  func deniedFromStart() throws {
    let world = try World.drive(
      Scenario(duration: 60, faults: [Fault(.answers(403, "PERMISSION_DENIED"), 0..<60)]))
    expect((1...3).contains(world.attempts(0..<60)))
    expectEqual(world.events(.offline).count, 1)
    expectEqual(world.events(.tokenRefused).count, 1)
    expect(world.events(.backfillRefused).isEmpty)
  }

  @Test("past positions that are denied are omitted from requests, and live updates continue")
  func pastDenied() throws {
    let world = try World.drive(
      Scenario(duration: 1200, faults: [Fault(.unreachable, 200..<400), Fault(.deniesPast, 0..<1200)]))
    expectEqual(world.events(.backfillRefused).count, 1)
    expectEqual(world.fetches.count, 1)
    expect(world.applied(430..<1190).count > 70)
    expect(world.agent.delivery.backlog.count > 15)
  }

  @Test("one bad past position is isolated and dropped, and all others are delivered")
  func badPosition() throws {
    let steady = try World.drive(Scenario(duration: 1500, faults: [Fault(.unreachable, 200..<600)]))
    let past = steady.server.applied.flatMap(\.past).map(World.second).sorted()
    let bad = past[past.count / 2]
    let world = try World.drive(
      Scenario(duration: 1500, faults: [Fault(.unreachable, 200..<600), Fault(.rejectsPositions([bad]), 0..<1500)]))
    expectEqual(world.removals.filter { $0.reason == .rejected }.count, 1)
    expect(world.agent.delivery.backlog.isEmpty)
    expectEqual(past.filter { !world.arrivedSeconds.contains($0) }, [bad])
    // Live updates continue while the position is isolated.
    expect(world.applied(615..<1500).count > 80)
  }

  @Test("if a server rejects past positions that it already has, the others stay queued, and live updates continue")
  func repeatsRefused() throws {
    let world = try World.drive(
      Scenario(
        duration: 1500,
        faults: [Fault(.unreachable, 200..<400), Fault(.answersLost, 400..<430), Fault(.refusesRepeats, 0..<1500)]))
    expect(world.attempts(430..<1500) > world.applied(430..<1500).count)
    expect(world.applied(440..<1500).count > 80)
    // The server looks like one that accepts no past positions.
    expect(!world.events(.backfillRefused).isEmpty)
    expect((1..<50).contains(world.agent.delivery.pendingCount))
    expect(!world.removals.contains { [.rejected, .thinned, .full, .expired].contains($0.reason) })
  }

  @Test("for a vehicle that does not exist, few updates are attempted, and the remedy is reported")
  func missing() throws {
    let world = try World.drive(Scenario(duration: 4200, faults: [Fault(.answers(404, "NOT_FOUND"), 0..<3600)]))
    expect(world.attempts(0..<3600) < 120)
    expect(world.events(.offline).contains { $0.contains("the backend must create the vehicle first") })
    expect(!world.applied(3600..<3695).isEmpty)
    expect(world.fetches.count <= 2)
  }

  @Test(
    "a wait that the server has asked for ends when the run ends or the settings change",
    arguments: zip(
      [
        Scenario(
          seed: 10_170_075, duration: 209, drive: .steady(14),
          faults: [Fault(.answers(503, "UNAVAILABLE", retryAfter: "30"), 201..<202)],
          acts: [(198, .deleteDirectory(noticedAfter: 7706))], noise: 0, hasInstallationFaults: true),
        Scenario(
          seed: 10_167_228, duration: 119, drive: .steady(14),
          faults: [Fault(.answers(429, "RESOURCE_EXHAUSTED", retryAfter: "45"), 107..<108)],
          acts: [(55, .edit(isTokenWrong: true, confirm: 60))], noise: 0, hasInstallationFaults: true),
        Scenario(
          seed: 10_182_148, duration: 200, drive: .steady(14),
          faults: [
            Fault(.answers(429, "RESOURCE_EXHAUSTED", retryInfo: "12.5s"), 184..<185), Fault(.slow(3), 184..<185),
            Fault(.settingsWrong(mayConcernVehicle: false), 34..<46), Fault(.credentialMissing, 0..<52),
          ],
          acts: [(185, .deleteDirectory(noticedAfter: 560))], noise: 0, hasInstallationFaults: true),
        Scenario(
          seed: 10_199_058, duration: 351, drive: .city,
          faults: [Fault(.answers(429, "RESOURCE_EXHAUSTED", retryAfter: "45"), 342..<343)],
          acts: [(199, .suspend(137)), (318, .deleteDirectory(noticedAfter: 9073))], noise: 0,
          hasInstallationFaults: true),
        Scenario(
          seed: 324_444, duration: 399, drive: .steady(0),
          faults: [Fault(.answers(429, "RESOURCE_EXHAUSTED", retryAfter: "45"), 327..<377)],
          acts: [(328, .sourceEnded)], noise: 0, settings: [.trips(reportsState: true, offlineOnStop: true)]),
        Scenario(
          seed: 345_530, duration: 125, drive: .steady(14),
          faults: [
            Fault(.answers(429, "RESOURCE_EXHAUSTED", retryInfo: "12.5s"), 90..<113), Fault(.slow(3), 87..<113),
            Fault(.answersSometimes(0.3, 200, "UNAVAILABLE"), 8..<82), Fault(.refusesCompact(1, .page(406)), 1..<2),
          ],
          acts: [(113, .stop(within: 17))], noise: 0),
        Scenario(
          seed: 10_319_742, duration: 552, drive: .steady(14),
          faults: [Fault(.answers(429, "RESOURCE_EXHAUSTED", retryInfo: "12.5s"), 438..<538)],
          acts: [(488, .kill(afterEffects: 1, seconds: 34)), (448, .edit(isTokenWrong: false, confirm: 60))], noise: 0,
          hasInstallationFaults: true),
      ], [202..<208, 108..<119, 187..<188, 345..<346, 376..<399, 113..<125, 533..<534]))
  func askedWaitEnds(scenario: Scenario, seconds: Range<Int>) throws {
    let world = try World.drive(scenario)
    expect(world.attempts(seconds) > 0)
  }
}
