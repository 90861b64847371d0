// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Positioning
import Delivery
import Testing
import Timekeeping

@Suite struct StoreAgentTests {
  private let truck = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-1")
  private let other = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-2")

  private func record(_ second: Int64) throws -> Backlog.Record {
    let coordinate = try #require(Coordinate(latitude: 48, longitude: 11))
    return Backlog.Record(VehicleLocation(coordinate: coordinate, time: Timestamp(seconds: second)))
  }

  private func added(_ second: Int64) throws -> Backlog.Change { .added(try record(second)) }

  private func removed(_ seconds: Int64...) -> Backlog.Change {
    .removed(seconds.map(Timestamp.init(seconds:)), .delivered)
  }

  /// `+` what is put and `-` what goes, by its second.
  private func batch(_ agent: StoreAgent) -> [String] {
    agent.batch.map { "\($0.record == nil ? "-" : "+")\($0.key.id.milliseconds / 1000)" }
  }

  @Test("what comes and goes before it is written is never written")
  func cancels() throws {
    var agent = StoreAgent(interval: .seconds(5), seed: 1)
    agent.follow(try added(1), of: truck, at: .boot)
    #expect(agent.deadline == .boot + .seconds(5))
    agent.follow(removed(1), of: truck, at: .boot + .seconds(1))
    #expect(agent.deadline == nil)
    #expect(agent.isEmpty)
  }

  @Test("changes are written together, when the first of them has waited for the interval")
  func together() throws {
    var agent = StoreAgent(interval: .seconds(5), seed: 1)
    agent.follow(try added(1), of: truck, at: .boot)
    agent.follow(try added(2), of: truck, at: .boot + .seconds(4))
    #expect(!agent.isDue(at: .boot + .milliseconds(4999)))
    #expect(agent.isDue(at: .boot + .seconds(5)))
    #expect(batch(agent) == ["+1", "+2"])
    agent.written()
    #expect(agent.deadline == nil)
    // What is written has to be deleted.
    agent.follow(removed(1, 2), of: truck, at: .boot + .seconds(6))
    #expect(batch(agent) == ["-1", "-2"])
  }

  @Test("what changes is written anew, and deleted when it goes; unless it was never written")
  func changes() throws {
    var agent = StoreAgent(interval: .seconds(5), seed: 1)
    agent.follow(.changed([try record(1)]), of: truck, at: .boot)
    #expect(batch(agent) == ["+1"])
    agent.follow(removed(1), of: truck, at: .boot)
    #expect(batch(agent) == ["-1"])
    agent.written()
    agent.follow(try added(2), of: truck, at: .boot)
    agent.follow(.changed([try record(2)]), of: truck, at: .boot)
    agent.follow(removed(2), of: truck, at: .boot)
    #expect(agent.isEmpty)
  }

  @Test("a time that goes and comes again is written anew, and goes for good as often as it does")
  func comesAgain() throws {
    var agent = StoreAgent(interval: .seconds(5), seed: 1)
    agent.follow(removed(1), of: truck, at: .boot)
    agent.follow(try added(1), of: truck, at: .boot)
    #expect(batch(agent) == ["+1"])
    agent.follow(removed(1), of: truck, at: .boot)
    #expect(batch(agent) == ["-1"])
  }

  @Test("without an interval each change is due at once")
  func atOnce() throws {
    var agent = StoreAgent(interval: .zero, seed: 1)
    agent.follow(try added(1), of: truck, at: .boot + .seconds(3))
    #expect(agent.isDue(at: .boot + .seconds(3)))
  }

  @Test("after a failure nothing is forgotten, and the waits grow up to five minutes")
  func failures() throws {
    var agent = StoreAgent(interval: .seconds(5), seed: 1)
    agent.follow(try added(1), of: truck, at: .boot)
    var now = BootInstant.boot + .seconds(5)
    var waits = [Duration]()
    for _ in 0..<8 {
      agent.failed(at: now)
      let next = try #require(agent.deadline)
      waits.append(next - now)
      now = next
      agent.follow(try added(now.nanoseconds / 1_000_000_000), of: truck, at: now - .seconds(1))
      #expect(agent.deadline == next)
    }
    for (wait, bound) in zip(waits, [5, 10, 20, 40, 80, 160, 300, 300]) {
      #expect(wait > .milliseconds(500 * bound) && wait < .seconds(bound))
    }
    #expect(agent.batch.count == 9)
    agent.written()
    #expect(agent.deadline == nil)
    // Also when there is nothing to write: the store has to be opened.
    agent.failed(at: now)
    #expect(agent.deadline.map { $0 - now <= .seconds(5) } == true)
  }

  @Test("vehicles are kept apart, and the batch is in the order of vehicles and times")
  func vehicles() throws {
    var agent = StoreAgent(interval: .seconds(5), seed: 1)
    agent.follow(try added(7), of: other, at: .boot)
    agent.follow(try added(7), of: truck, at: .boot)
    agent.follow(try added(3), of: truck, at: .boot)
    agent.follow(removed(7), of: other, at: .boot)
    #expect(batch(agent) == ["+3", "+7"])
    agent.follow(try added(1), of: other, at: .boot)
    #expect(agent.batch.map(\.key.vehicle.vehicleID) == ["truck-1", "truck-1", "truck-2"])
  }

  @Test("an empty store gets all that is in memory, and is not told to delete")
  func startOver() throws {
    var agent = StoreAgent(interval: .seconds(5), seed: 1)
    agent.follow(removed(1), of: truck, at: .boot)
    agent.follow(try added(2), of: truck, at: .boot)
    agent.follow(try added(9), of: other, at: .boot)
    agent.startOver([try record(5), try record(2)], of: truck, at: .boot)
    #expect(batch(agent) == ["+2", "+5", "+9"])
    agent.follow(removed(5), of: truck, at: .boot)
    #expect(batch(agent) == ["+2", "+9"])
  }
}
