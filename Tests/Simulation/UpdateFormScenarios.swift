// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import Daemon
import Delivery
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

/// Servers that accept the compact form of updates, and servers that do not.
struct UpdateFormScenarios {
  /// Whether each update was compact, in the order of arrival.
  private func isCompact(_ world: World, _ seconds: Range<Int>) -> [Bool] {
    world.applied(seconds).map(\.isCompact)
  }

  @Test("a server that accepts compact updates gets only compact ones, and each position once")
  func accepted() throws {
    let world = try World.drive(Scenario(duration: 1800, faults: [Fault(.unreachable, 600..<900)]))
    expect(isCompact(world, 0..<1800).allSatisfy { $0 })
    expectEqual(world.attempts(0..<600), world.applied(0..<600).count)
    expect(world.events(.compactUpdatesRefused).isEmpty)
    expectNil(world.storedUpdateForm)
  }

  @Test(
    "a server that rejects compact updates gets plain ones within 2 s, and one more probe, even across a power cut",
    arguments: [
      Fault.FormRefusal.status(400, "INVALID_ARGUMENT"), .status(403, "PERMISSION_DENIED"), .status(500, "INTERNAL"),
      .status(501, "UNIMPLEMENTED"), .page(400), .page(406), .page(413), .page(415), .page(502),
    ])
  func refused(refusal: Fault.FormRefusal) throws {
    let world = try World.drive(
      Scenario(
        duration: 3000, faults: [Fault(.refusesCompact(1, refusal), 0..<3000)],
        acts: [(2000, .powerCut(afterEffects: 3, seconds: 20))]))
    let first = try #require(world.attempts.first)
    expect(try #require(world.server.applied.first).at < World.seconds(first.at) + 2)
    expect(isCompact(world, 0..<3000).allSatisfy { !$0 })
    expectEqual(world.events(.compactUpdatesRefused).count, 1)
    // Each rejected update is an additional attempt; the power cut may interrupt another attempt.
    let refused = world.attempts.count - world.server.applied.count
    expect((2...3).contains(refused))
    expectEqual(world.attempts(0..<500), world.applied(0..<500).count + 1)
    expect(world.longestGap(10..<1990) <= 13)
    expect(world.events(.offline).isEmpty && world.events(.interrupted).isEmpty)
    expect(world.fetches.count <= 2)
  }

  @Test("a firewall's page in response to compact updates is not treated as a rejection of that form; updates continue")
  func firewall() throws {
    let world = try World.drive(Scenario(duration: 4000, faults: [Fault(.refusesCompact(1, .page(403)), 0..<4000)]))
    expect(try #require(world.server.applied.first).at < 30)
    expect(world.longestGap(40..<3980) <= 13)
    // The compact form is tried again after 10 and 20 min.
    expect((4...5).contains(world.attempts.count - world.server.applied.count))
    expect(world.events(.compactUpdatesRefused).isEmpty)
  }

  @Test("a server that stops accepting compact updates gets plain ones after three rejections, and every position")
  func changedMind() throws {
    let world = try World.drive(
      Scenario(
        duration: 4000, faults: [Fault(.refusesCompact(1, .status(400, "INVALID_ARGUMENT")), 1000..<2000)]))
    expect(isCompact(world, 0..<1000).allSatisfy { $0 })
    expect(!isCompact(world, 1200..<1600).contains(true))
    expectEqual(world.mostFormRefusals, 3)
    // The first probe, after 10 min, is rejected too. The negotiation ends with this second pair of a rejection and an
    // acceptance.
    expectEqual(world.events(.compactUpdatesRefused).count, 1)
    expect(world.arrivedSeconds.count >= 390)
    expect(world.agent.delivery.backlog.isEmpty)
    expect(world.removals.allSatisfy { $0.reason == .delivered })
  }

  @Test("if a server rejects compact updates for five minutes only, they are tried again later, and accepted")
  func otherServer() throws {
    let world = try World.drive(
      Scenario(duration: 3000, faults: [Fault(.refusesCompact(1, .page(415)), 1000..<1300)]))
    expect(isCompact(world, 0..<1000).allSatisfy { $0 })
    expect(isCompact(world, 1800..<3000).allSatisfy { $0 })
    expect(world.events(.compactUpdatesRefused).isEmpty)
  }

  @Test(
    "a server that rejects one compact update in ten still gets compact updates, and no position is lost",
    arguments: 1...6 as ClosedRange<UInt64>)
  func sometimes(seed: UInt64) throws {
    let world = try World.drive(
      Scenario(
        seed: seed, duration: 3600,
        faults: [
          Fault(.refusesCompact(0.1, .status(400, "INVALID_ARGUMENT")), 0..<3600), Fault(.unreachable, 1000..<1300),
        ]))
    expect(world.mostFormRefusals <= 3)
    expect(world.removals.allSatisfy { $0.reason == .delivered })
    expect(world.longestGap(40..<3580) <= 40)
    expect(isCompact(world, 0..<3600).count { $0 } > 150)
  }

  @Test("after an hour of 503 responses, updates are still compact: an overloaded server says nothing about the form")
  func unavailable() throws {
    let world = try World.drive(Scenario(duration: 4200, faults: [Fault(.answers(503, "UNAVAILABLE"), 0..<3600)]))
    expect(isCompact(world, 3600..<4200).allSatisfy { $0 })
    expect(world.applied(3600..<3640).count > 0)
  }

  @Test(
    "if plain updates are rejected as well, the compact form is not the cause, and is not tried again within the hour")
  func otherCause() throws {
    func drive(_ status: Int, _ code: String) throws -> World {
      try World.drive(Scenario(duration: 3600, faults: [Fault(.answers(status, code), 0..<1800)]))
    }
    let world = try drive(400, "INVALID_ARGUMENT")
    let early = world.attempts.prefix(3).map { World.seconds($0.at) }
    expect(early[1] - early[0] < 2)
    expect(early[2] - early[1] > 2)
    expect(!world.applied(1800..<2110).isEmpty)
    // The compact form is not tried again within the hour.
    expect(!isCompact(world, 1800..<3600).contains(true))
    expect(world.events(.compactUpdatesRefused).isEmpty)
    expect(world.agent.delivery.backlog.isEmpty)
  }

  @Test("if a position is sent in both forms, 14 s apart, the next heartbeat is counted from the later update")
  func comparedLate() throws {
    let world = try World.drive(
      Scenario(
        seed: 53_676, duration: 117, drive: .random,
        faults: [Fault(.slow(14), 42..<43), Fault(.refusesCompact(1, .status(500, "INTERNAL")), 36..<43)], noise: 0))
    expectEqual(world.applied(57..<117).map { Int($0.at) }, [57, 107])
    expectEqual(world.applied(57..<117).map { World.second(of: $0.live) }, [42, 106])
  }

  @Test("a position whose compact update was rejected is not sent again if it proves to be from the future")
  func refusedFromFuture() throws {
    let world = try World.drive(
      Scenario(
        seed: 234_720, duration: 11, drive: .steady(14),
        faults: [
          Fault(.providerUndated(backdating: 60), 3..<4), Fault(.ahead(3600), 2..<9),
          Fault(.refusesCompact(1, .status(501, "UNIMPLEMENTED")), 3..<4),
        ], noise: 0, hasModem: true))
    expectEqual(world.applied(4..<11).map { World.second(of: $0.live) }, [8])
  }

  @Test("if a position is sent again in the plain form, the next heartbeat is counted from the plain update")
  func heartbeatAfterPlainForm() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_475_571, duration: 503, drive: .steady(0),
        faults: [Fault(.latency(6000), 368..<401), Fault(.badConnections(every: 2, .internalError), 290..<396)],
        acts: [(288, .clockSet), (365, .ask(.reload))], wallError: -138_778_322, noise: 0, settings: [.interval(5)],
        isDateless: true, hasInstallationFaults: true))
    expectEqual(world.applied(391..<503).map { World.second(of: $0.live) }, [390, 454])
  }

  @Test("the next heartbeat is also counted from the plain update if the compact one was denied after 14 s")
  func heartbeatAfterSlowDenial() throws {
    let world = try World.drive(
      Scenario(
        seed: 934_872, duration: 356, drive: .steady(0),
        faults: [
          Fault(.answers(500, "INTERNAL", retryAfter: nil, retryInfo: nil), 207..<239), Fault(.deniesPast, 266..<267),
          Fault(.slow(14), 210..<268),
        ], noise: 0))
    expectEqual(world.applied(280..<356).map { World.second(of: $0.live) }, [266, 330])
  }
}
