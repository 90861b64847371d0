// SPDX-License-Identifier: Apache-2.0
import Expectations
import FleetModel
import Testing

/// A short form of `make fleet`, which simulates ten thousand vehicles in every scenario.
struct FleetTests {
  @Test("a simulated fleet gives the same result with any number of threads, and a different result with another seed")
  func threads() async throws {
    let scenario = try #require(FleetScenario.named("start")).shortened(to: 90)
    let one = await FleetModel(vehicles: 21, seed: 7, threads: 1, fixPeriod: 5).run(scenario)
    let three = await FleetModel(vehicles: 21, seed: 7, threads: 3, fixPeriod: 5).run(scenario)
    expectEqual(one.seconds, three.seconds)
    let other = await FleetModel(vehicles: 21, seed: 8, threads: 1, fixPeriod: 5).run(scenario)
    expect(one.seconds != other.seconds)
  }

  @Test("a fleet stays within its rate limits during and after an outage of Fleet Engine")
  func limits() async throws {
    let model = FleetModel(vehicles: 150, threads: 2, fixPeriod: 5)
    let normal = await model.run(try #require(FleetScenario.named("normal")).shortened(to: 450))
    expectEqual(normal.violations(normal: normal.mean), [])
    let outage = try #require(FleetScenario.named("unavailable")).shortened(to: 450, fault: 120..<280)
    let run = await model.run(outage)
    expectEqual(run.violations(normal: normal.mean), [])
    expect(run.seconds.contains { $0.accepted < $0.updates })
    expect((run.seconds.map(\.pending).max() ?? 0) > 150)
  }
}
