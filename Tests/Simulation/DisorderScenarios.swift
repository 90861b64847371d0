// SPDX-License-Identifier: Apache-2.0
import Delivery
import Expectations
import FleetEngine
import Positioning
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

struct DisorderScenarios {
  @Test("late responses that arrive while the next request is in flight are ignored, and no position is lost")
  func lateAnswers() throws {
    let world = try World.drive(Scenario(duration: 1500, faults: [Fault(.answersLate, 200..<500)]))
    expect(world.longestGap(10..<1480) <= 16)
    expectEqual(world.agent.delivery.pendingCount, 0)
    expectEqual(world.events(.offline).count, 1)
  }

  @Test("if several responses in a row are lost, only the positions of their requests are sent again")
  func lostAnswers() throws {
    let world = try World.drive(
      Scenario(duration: 1500, faults: [Fault(.unreachable, 100..<400), Fault(.answersLost, 400..<520)]))
    let acknowledged = Set(world.attempts.filter(\.isAccepted).map(\.id))
    let lost = world.server.applied.filter { !acknowledged.contains($0.request) }
    expect(lost.count >= 5)
    // A lost response looks like a network failure: the requests carry eight positions, not a hundred.
    expect(lost.dropFirst(2).allSatisfy { $0.past.count <= 8 })
    let repeats = Dictionary(grouping: world.server.applied.flatMap(\.past), by: \.time).values.map(\.count)
    expect(repeats.max() ?? 0 <= lost.count + 1)
    expect(world.longestGap(10..<1480) <= 13)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("when 404, 503, 429, 401, 500, a captive portal and DNS failures alternate, the whole track is delivered")
  func turns() throws {
    var faults: [Fault] = []
    let kinds: [Fault.Kind] = [
      .answers(404, "NOT_FOUND"), .answers(503, "UNAVAILABLE"), .answers(429, "RESOURCE_EXHAUSTED"), .revoked,
      .answers(500, "INTERNAL"), .captivePortal, .unresolved,
    ]
    for (index, from) in stride(from: 100, to: 1500, by: 40).enumerated() {
      faults.append(Fault(kinds[index % kinds.count], from..<(from + 25)))
    }
    let world = try World.drive(Scenario(duration: 3600, faults: faults))
    expect(world.longestGap(10..<3580) <= 16)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("two failures that alternate for two hours cause few log messages")
  func alternatingFailures() throws {
    let faults = stride(from: 100, to: 7300, by: 20).flatMap {
      [Fault(.unreachable, $0..<($0 + 10)), Fault(.answers(503, "UNAVAILABLE"), ($0 + 10)..<($0 + 20))]
    }
    let world = try World.drive(Scenario(duration: 7300, faults: faults))
    expect(world.events(.offline).count + world.events(.stillOffline).count <= 28)
  }

  @Test("during reloads to another vehicle and back every few seconds, each vehicle keeps its own minimum interval")
  func thereAndBack() throws {
    for step in 1...4 {
      let acts = stride(from: 100, to: 160, by: step).enumerated().map {
        ($1, Scenario.Act.reload(vehicle: $0 % 2 == 0 ? "truck-2" : "truck-1"))
      }
      let world = try World.drive(Scenario(duration: 400, acts: acts))
      for name in ["truck-1", "truck-2"] {
        let times = world.server.applied.filter { $0.vehicle == name }.map(\.at)
        expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 4.9 }, "\(name), every \(step) s")
      }
    }
  }

  @Test("when the token provider and the network fail in turn, no position is lost")
  func providerAndNetwork() throws {
    let faults = stride(from: 100, to: 1500, by: 60).flatMap {
      [Fault(.providerDown, $0..<($0 + 40)), Fault(.silent, ($0 + 30)..<($0 + 60))]
    }
    let world = try World.drive(Scenario(duration: 3000, faults: faults, tokenLife: 120))
    expect(world.longestGap(10..<2980) <= 16)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }
}
