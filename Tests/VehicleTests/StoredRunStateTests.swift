// SPDX-License-Identifier: Apache-2.0
import Delivery
import AgentTesting
import Expectations
import FleetEngine
import HTTPMessages
import Testing
import Timekeeping

@testable import ClockEstimation
@testable import Vehicle

/// The limits of requests to Fleet Engine hold across runs.
struct StoredRunStateTests {
  private func storedText(_ effects: [VehicleAgent.Effect]) -> String? {
    effects.compactMap { if case .storeRunState(let text) = $0 { text } else { nil } }.last
  }

  @Test("the minimum interval of five seconds holds across a restart, per vehicle")
  func floor() throws {
    var fixture = try AgentFixture { $0.boot = "b1" }
    _ = try fixture.drive(to: 0)
    let sent = fixture.handle(.tokenEnded(id: 1, fixture.token()), at: 0.1)
    let accepted = fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 0.2)
    let (inFlight, ended) = (try #require(storedText(sent)), try #require(storedText(accepted)))
    // The run state is written before the request is sent.
    let places = sent.indices.filter {
      switch sent[$0] {
      case .storeRunState, .sendUpdate: true
      default: false
      }
    }
    guard case .storeRunState = sent[places[0]] else { Issue.record("sent before it was written"); return }
    for (text, vehicle, boot, expected) in [
      (ended, "truck-1", "b1", 5.2), (inFlight, "truck-1", "b1", 6.0), (ended, "truck-2", "b1", 1.1),
      (ended, "truck-1", "b2", 0),
    ] {
      let configuration = try AgentFixture.configuration(vehicle: vehicle)
      var next = try AgentFixture {
        $0 = configuration
        $0.boot = boot
      }
      _ = next.handle(.runStateFound(text), at: 1)
      expectEqual((next.agent.delivery.earliest.at - .boot).inSeconds, expected, "\(vehicle) \(boot)")
    }
  }

  @Test("the limit of twelve requests a minute holds across restarts")
  func minute() throws {
    let attempts = (0..<12).map { BootInstant.boot + .seconds($0 * 2) }
    let vehicle = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-1")
    let text = StoredRunState(
      boot: "b1", vehicle: vehicle, attempts: attempts, inFlight: nil, floorStart: attempts.last, bounds: nil
    ).text
    var fixture = try AgentFixture { $0.boot = "b1" }
    _ = fixture.handle(.runStateFound(text), at: 23)
    expectEqual(fixture.agent.delivery.earliest.at, .boot + .seconds(60))
    expectEqual(fixture.agent.delivery.rateLimitHistory.attempts, attempts)
  }

  @Test("a server time from the previous run is used")
  func time() throws {
    var estimator = TimeEstimator(buildDate: AgentFixture.start - .seconds(864_000))
    for _ in 0..<2 {
      estimator.observe(.fleetEngine, AgentFixture.start, sentAt: .boot, at: .boot + .milliseconds(200))
    }
    let bounds = try #require(
      estimator.estimate(at: Moment(boot: .boot + .seconds(1), wall: Timestamp(seconds: 0)))?.serverBounds)
    let vehicle = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-1")
    let runState = StoredRunState(
      boot: "b1", vehicle: vehicle, attempts: [], inFlight: nil, floorStart: nil, bounds: bounds)
    expectEqual(StoredRunState(runState.text, at: .boot + .seconds(2)), runState)
    var fixture = try AgentFixture { $0.boot = "b1" }
    _ = fixture.handle(.runStateFound(runState.text), at: 2)
    expectEqual(fixture.agent.clock.assessment.bounds, bounds)
  }

  @Test("the time is stored as soon as a response confirms it, because the run may end before the next response")
  func timeOfFirstAnswer() throws {
    var fixture = try AgentFixture { $0.boot = "b1" }
    _ = try fixture.drive(to: 0)
    _ = fixture.handle(.tokenEnded(id: 1, fixture.token()), at: 0.1)
    let answer = HTTPResponse(
      status: 200, headers: [("Date", "Tue, 01 Dec 2026 00:00:00 GMT")], body: [UInt8](#"{"name":"v"}"#.utf8))
    let text = try #require(storedText(fixture.handle(.updateEnded(id: 1, .response(answer)), at: 0.2)))
    let bounds = try #require(StoredRunState(text, at: .boot + .seconds(1))?.bounds)
    expectEqual(fixture.agent.clock.assessment.bounds, bounds)
  }

  @Test(
    "a file that is damaged or not the daemon's changes no limit, and is reported",
    arguments: [
      "", "fleet-locationd limits 1\n", "fleet-locationd limits 2\nboot b1\n", "\u{0}\u{0}",
      "fleet-locationd limits 1\nboot b1\nvehicle v\nattempts 99999999999999\nunderway 0\naccepted\ntime\nend\n",
      "fleet-locationd limits 1\nboot b1\nvehicle v\nattempts 2 1\nunderway 0\naccepted\ntime\nend\n",
      "fleet-locationd limits 1\nboot b1\nvehicle v\nattempts -1\nunderway 0\naccepted\ntime\nend\n",
      "fleet-locationd limits 1\nboot b1\nvehicle v\nattempts\nunderway 3\naccepted\ntime\nend\n",
      "fleet-locationd limits 1\nboot b1\nvehicle v\nattempts\nunderway 0\naccepted\ntime 1 2\nend\n",
      "fleet-locationd limits 1\nboot b1\nvehicle v\nattempts 1 1 1 1 1 1 1 1 1 1 1 1 1\nunderway 0\naccepted\ntime\nend\n",
    ])
  func damaged(text: String) throws {
    var fixture = try AgentFixture { $0.boot = "b1" }
    let before = fixture.agent.delivery.earliest.at
    expectEqual(fixture.handle(.runStateFound(text), at: 5).events, [.settingsWarning])
    expectEqual(fixture.agent.delivery.earliest.at, before)
  }

  @Test(
    "whichever bits of the file are flipped, the daemon does not trap, and an update is a minute late at most",
    arguments: 0..<20)
  func flipped(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let vehicle = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-1")
    let attempts = (0..<12).map { BootInstant.boot + .seconds($0 * 5) }
    let bounds = TimeBounds(
      AgentFixture.start, precision: .seconds(1), since: .boot, until: .boot + .milliseconds(300))
    let arrivals: [DeliveryAgent.RequestKind: BootInstant] = [
      .position: .boot + .seconds(70), .offline: .boot + .seconds(65),
    ]
    let good = Array(
      StoredRunState(
        boot: "b1", vehicle: vehicle, attempts: attempts, inFlight: .position,
        arrivals: arrivals, floorStart: attempts.last, bounds: bounds, delivered: AgentFixture.start
      ).text.utf8)
    for _ in 0..<500 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      }
      if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
      var fixture = try AgentFixture { $0.boot = "b1" }
      _ = fixture.handle(.runStateFound(String(decoding: bytes, as: UTF8.self)), at: 60)
      expect(fixture.agent.delivery.earliest.at <= .boot + .seconds(120))
      _ = try fixture.drive(to: 61)
    }
  }

  @Test("a request that was in flight when the previous run ended, a quarter of an hour ago, delays no update")
  func inFlight() throws {
    let vehicle = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-1")
    let text = StoredRunState(
      boot: "b1", vehicle: vehicle, attempts: [.boot + .seconds(10)], inFlight: .position, floorStart: nil, bounds: nil
    ).text
    var fixture = try AgentFixture { $0.boot = "b1" }
    _ = fixture.handle(.runStateFound(text), at: 1000)
    expect(fixture.agent.delivery.earliest.at < .boot + .seconds(1000))
  }

  @Test("an OFFLINE in flight at the end of a run may arrive until its deadline; ONLINE is sent again after that")
  func offlineInFlight() throws {
    var fixture = try AgentFixture {
      $0 = try AgentFixture.tripsConfiguration()
      $0.boot = "b1"
    }
    try fixture.comeOnline()
    let text = try #require(storedText(fixture.handle(.pause(nil), at: 5)))
    expect(text.contains("\nunderway 2\n"))
    var next = try AgentFixture {
      $0 = try AgentFixture.tripsConfiguration()
      $0.boot = "b1"
    }
    _ = next.handle(.runStateFound(text), at: 7)
    expectEqual(next.agent.delivery.offlineMayArriveUntil, .boot + .seconds(20))
    expect(next.agent.delivery.earliest.at < .boot + .seconds(7))
    // An earlier release stored only the request in flight.
    let earlier = try #require(text.split(separator: "arrivals").first)
    var upgraded = try AgentFixture {
      $0 = try AgentFixture.tripsConfiguration()
      $0.boot = "b1"
    }
    _ = upgraded.handle(.runStateFound(String(earlier)), at: 7)
    expectEqual(upgraded.agent.delivery.offlineMayArriveUntil, .boot + .seconds(20))
    // Once accepted, OFFLINE delays nothing.
    let accepted = try #require(storedText(fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 6)))
    next = try AgentFixture {
      $0 = try AgentFixture.tripsConfiguration()
      $0.boot = "b1"
    }
    _ = next.handle(.runStateFound(accepted), at: 7)
    expect(next.agent.delivery.earliest.at < .boot + .seconds(8))
  }

  @Test("the next run knows the newest delivered position; a file of an earlier release does not contain one")
  func delivered() throws {
    var fixture = try AgentFixture { $0.boot = "b1" }
    _ = try fixture.drive(to: 0)
    let token = fixture.token()
    _ = fixture.handle(.tokenEnded(id: 1, token), at: 0.1)
    let text = try #require(storedText(fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 0.2)))
    expectEqual(StoredRunState(text, at: .boot + .seconds(1))?.delivered, AgentFixture.start)
    let line = "delivered \(AgentFixture.start.milliseconds)\n"
    expect(text.contains(line))
    let before = try #require(StoredRunState(text.replacing(line, with: ""), at: .boot + .seconds(1)))
    expect(before.delivered == nil && before.floorStart != nil)
  }
}
