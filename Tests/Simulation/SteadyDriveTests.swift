// SPDX-License-Identifier: Apache-2.0
import Testing
import Timekeeping

@Suite struct SteadyDriveTests {
  @Test("a drive on a good network reports every ten seconds and fetches a token an hour")
  func steady() throws {
    let world = try World.run(Scenario(duration: 3600))
    #expect(try World.complaint(about: world) == nil)
    #expect((358...362).contains(world.server.applied.count))
    #expect(world.fetches.count <= 2)
    #expect(world.attempts.count == world.server.applied.count)
  }

  @Test("an hour of driving takes no longer than the performance that makes thousands of runs cheap")
  func performance() throws {
    let clock = ContinuousClock()
    let took = try clock.measure { _ = try World.run(Scenario(duration: 3600)) }
    print("one simulated hour: \(took)")
  }
}
