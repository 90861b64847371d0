// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Authorization
import Daemon
import Expectations
import FixSources
import HTTPMessages
import Observability
import Positioning
import Testing
import Timekeeping
import Vehicle

/// The replies to programs that monitor the daemon.
struct MonitorTests {
  private var daemon: Daemon

  init() throws {
    daemon = Daemon(
      running: Daemon.Configuration(
        vehicle: try AgentFixture.tripsConfiguration(), store: StoreAgent.Configuration(), settingsText: nil), seed: 1)
    _ = daemon.handle(.start, at: MonitorTests.moment(0))
    _ = handle(.vehicle(.sources([AgentFixture.source])), 0)
    _ = handle(.vehicle(.source(0, .reading("/dev/gps0"))), 0)
  }

  private static func moment(_ second: Double) -> Moment {
    let elapsed = Duration.milliseconds(Int64(second * 1000))
    return Moment(boot: .boot + elapsed, wall: AgentFixture.start + elapsed)
  }

  private mutating func handle(_ input: Daemon.Input, _ second: Double) -> [Daemon.Effect] {
    daemon.handle(input, at: Self.moment(second))
  }

  private mutating func fix(_ second: Double) throws -> [Daemon.Effect] {
    let coordinate = try #require(Coordinate(latitude: 48 + second * 0.0001, longitude: 11))
    var fix = Fix(coordinate: coordinate, time: .utc(Self.moment(second).wall))
    fix.speed = 11
    fix.horizontalAccuracy = 3
    fix.satellites = 9
    return handle(.vehicle(.source(0, .fix(fix))), second)
  }

  private func state(_ effects: [Daemon.Effect]) -> MonitorItem.State? {
    for case .respond(_, .monitoring(let state)) in effects { return state }
    return nil
  }

  @Test("a monitor gets the state first, then each update's outcome and each change of state, and nothing else")
  mutating func monitor() throws {
    expect(try fix(0).items.isEmpty)
    let first = try #require(state(handle(.request(id: 1, .monitor), 0.5)))
    expect(!first.isOnline && first.cause == "noToken" && first.duty == "ONLINE")
    let token = VehicleAgent.Input.tokenEnded(id: 1, Self.token)
    guard case .state(let sending)? = handle(.vehicle(token), 1).items.first else {
      Issue.record("the request has no token any more")
      return
    }
    expect(sending.cause == "inFlight" && !sending.isOnline)
    let accepted = handle(.vehicle(.updateEnded(id: 1, AgentFixture.accepted)), 1.25).items
    guard case .update(let update)? = accepted.first, case .state(let state)? = accepted.last else {
      Issue.record("\(accepted)")
      return
    }
    expect(accepted.count == 2 && state.isOnline && state.vehicleState == "ONLINE")
    expect(update.result == "accepted" && update.milliseconds == 250 && update.driverCode == nil)
    for second in 2...10 { try expectEqual(fix(Double(second)).items, []) }
    // Another request is in flight. A change of the cause is not reported while nothing prevents updates.
    try expectEqual(fix(11).items, [])
    let failed = handle(.vehicle(.updateEnded(id: 2, AgentFixture.error(503, "UNAVAILABLE"))), 11.5).items
    guard case .update(let failure)? = failed.first else {
      Issue.record("\(failed)")
      return
    }
    expect(failure.result == "unavailable" && failure.driverCode == "SERVICE_ERROR")
    expect(failure.message?.contains("UNAVAILABLE") == true && (failure.retryIn ?? 0) > 5)
    let paused = handle(.request(id: 2, .driverCommand(.pause)), 12).items
    guard case .state(let pause)? = paused.last else {
      Issue.record("\(paused)")
      return
    }
    expect(pause.isPaused && pause.isOfflinePending)
    _ = handle(.unmonitored, 13)
    expectEqual(handle(.request(id: 3, .driverCommand(.resume)), 14).items, [])
  }

  private static let token = TokenOutcome.http(
    .response(
      HTTPResponse(
        status: 200,
        body: [UInt8](
          #"{"token":"e30.eyJhdXRob3JpemF0aW9uIjp7InZlaGljbGVpZCI6InRydWNrLTEifX0.s","seconds":3600}"#.utf8))))

  @Test("a client that monitors while the daemon waits for settings gets the new state once settings are used")
  mutating func waiting() throws {
    var daemon = Daemon(seed: 1, waitsForSettings: true, buildDate: Timestamp(seconds: 0), at: .boot)
    _ = daemon.handle(.launched, at: Self.moment(0))
    _ = daemon.handle(.settingsRead(.missing("no x")), at: Self.moment(0))
    let first = try #require(state(daemon.handle(.request(id: 1, .monitor), at: Self.moment(1))))
    expect(first.cause == "noSettings" && first.summary.contains("no x"))
    let inputs: [Daemon.Input] = [
      .request(id: 2, .driverCommand(.pause)), .settingsRead(.missing("no x")),
      .request(id: 3, .driverCommand(.resume)), .settingsRead(.missing("no y")),
    ]
    let changes = inputs.flatMap { daemon.handle($0, at: Self.moment(1)).items }.compactMap { item in
      if case .state(let state) = item { "\(state.isPaused) \(state.summary.contains("no y"))" } else { nil }
    }
    expectEqual(changes, ["true false", "false false", "false true"])
    let configuration = Daemon.Configuration(
      vehicle: try AgentFixture.configuration(), store: StoreAgent.Configuration(), settingsText: nil)
    _ = daemon.handle(.settingsRead(.valid(configuration)), at: Self.moment(2))
    let items = daemon.handle(.start, at: Self.moment(2)).items
    guard case .state(let state)? = items.first else {
      Issue.record("\(items)")
      return
    }
    expect(state.cause != "noSettings" && items.count == 1)
  }
}

extension [Daemon.Effect] {
  fileprivate var items: [MonitorItem] {
    compactMap { if case .monitor(let item) = $0 { item } else { nil } }
  }
}
