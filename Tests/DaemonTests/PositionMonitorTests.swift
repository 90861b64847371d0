// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Daemon
import Expectations
import FixSources
import Observability
import Positioning
import Testing
import Timekeeping
import Vehicle

/// The replies to programs that monitor positions, and the conditions for their socket.
struct PositionMonitorTests {
  private var daemon: Daemon
  /// The effects of the start.
  private var start: [Daemon.Effect]

  init() throws {
    (daemon, start) = try Self.daemon(servesPositions: true)
    _ = daemon.handle(.vehicle(.sources([AgentFixture.source])), at: Self.moment(0))
    _ = daemon.handle(.vehicle(.source(0, .reading("/dev/gps0"))), at: Self.moment(0))
  }

  private static func daemon(servesPositions: Bool) throws -> (Daemon, [Daemon.Effect]) {
    var daemon = Daemon(seed: 1, waitsForSettings: true, buildDate: Timestamp(seconds: 0), at: .boot)
    var effects = daemon.handle(.launched, at: moment(0))
    effects += daemon.handle(.settingsRead(.valid(try configuration(servesPositions))), at: moment(0))
    effects += daemon.handle(.start, at: moment(0))
    return (daemon, effects)
  }

  private static func configuration(_ servesPositions: Bool) throws -> Daemon.Configuration {
    Daemon.Configuration(
      vehicle: try AgentFixture.configuration(), store: StoreAgent.Configuration(), settingsText: nil,
      servesPositions: servesPositions)
  }

  private static func moment(_ second: Double) -> Moment {
    let elapsed = Duration.milliseconds(Int64((second * 1000).rounded()))
    return Moment(boot: .boot + elapsed, wall: AgentFixture.start + elapsed)
  }

  private mutating func handle(_ input: Daemon.Input, _ second: Double) -> [Daemon.Effect] {
    daemon.handle(input, at: Self.moment(second))
  }

  /// A fix of a vehicle that drives north.
  private mutating func fix(
    _ second: Double, speed: Double = 11, north: Double? = nil, satellites: Int = 9
  ) throws -> [Daemon.Effect] {
    let coordinate = try #require(Coordinate(latitude: 48 + (north ?? second * 0.0001), longitude: 11))
    var fix = Fix(coordinate: coordinate, time: .utc(Self.moment(second).wall))
    (fix.speed, fix.heading, fix.horizontalAccuracy, fix.satellites) = (speed, 0, 3, satellites)
    return handle(.vehicle(.source(0, .fix(fix))), second)
  }

  @Test("each accepted position is sent as the receiver reported it, until the last client has disconnected")
  mutating func positions() throws {
    try expectEqual(fix(0).positions, [])
    let response = handle(.request(id: 1, .monitorPositions), 0.5)
    expectEqual(response, [.respond(id: 1, .monitoringPositions)])
    try expectEqual(
      fix(1).positions,
      [
        VehiclePosition(
          latitude: 48.0001, longitude: 11, time: Self.moment(1).wall.canonicalJSON, accuracy: 3, speed: 11, course: 0)
      ])
    // The filter rejects this fix.
    try expectEqual(fix(2, north: 3).positions, [])
    for second in 3...20 { try expectEqual(fix(Double(second)).positions.count, 1) }
    expectEqual(handle(.positionsUnmonitored, 20.5), [])
    try expectEqual(fix(21).positions, [])
  }

  @Test(
    "a parked vehicle's positions are sent as the receiver reported them, one per fix"
  )
  mutating func parked() throws {
    _ = handle(.request(id: 1, .monitorPositions), 0)
    for second in 0...60 {
      let north = Double(second % 3) * 0.000_01
      let positions = try fix(Double(second), speed: 0.1, north: north).positions
      expectEqual(positions.map(\.latitude), [48 + north], "\(second)")
    }
    expectEqual(daemon.run?.vehicle.snapshot(at: Self.moment(60)).isParked, true)
  }

  @Test("during a pause, clients get no positions, although fixes are read until the time is known")
  mutating func pause() throws {
    _ = handle(.request(id: 1, .monitorPositions), 0)
    try expectEqual(fix(0).positions.count, 1)
    _ = handle(.request(id: 2, .driverCommand(.pause)), 0.5)
    for second in 1...30 { try expectEqual(fix(Double(second)).positions, []) }
    // A client that asks during the pause gets a reply without a position.
    expect(handle(.request(id: 3, .monitorPositions), 31).contains(.respond(id: 3, .monitoringPositions)))
    try expectEqual(fix(32).positions, [])
    _ = handle(.request(id: 4, .driverCommand(.resume)), 32.5)
    try expectEqual(fix(33).positions.count, 1)
  }

  @Test("the positions socket is opened at the start, retried at a reload, and closed at a reload without the setting")
  mutating func settings() throws {
    expectEqual(start.filter(\.isOfSocket), [.servePositions(true)])
    expectEqual(start.firstIndex(of: .servePositions(true)), start.firstIndex(of: .useSettings).map { $0 + 1 })
    _ = handle(.request(id: 1, .monitorPositions), 1)
    _ = handle(.reload, 2)
    expectEqual(
      handle(.settingsRead(.valid(try Self.configuration(true))), 2).filter(\.isOfSocket), [.servePositions(true)])
    try expectEqual(fix(3).positions.count, 1)
    _ = handle(.reload, 4)
    expectEqual(
      handle(.settingsRead(.valid(try Self.configuration(false))), 4).filter(\.isOfSocket), [.servePositions(false)])
    try expectEqual(fix(5).positions, [])
    _ = handle(.reload, 6)
    expectEqual(handle(.settingsRead(.valid(try Self.configuration(false))), 6).filter(\.isOfSocket), [])
  }

  @Test(
    "without the setting, there is no positions socket; while the daemon is stopping, clients are refused")
  mutating func refused() throws {
    expectEqual(try Self.daemon(servesPositions: false).1.filter(\.isOfSocket), [])
    _ = handle(.vehicle(.stop(within: .seconds(3), signal: "SIGTERM")), 1)
    guard case .respond(id: 1, .refused(.stopping, _))? = handle(.request(id: 1, .monitorPositions), 1.5).first else {
      Issue.record("not refused")
      return
    }
  }
}

extension Daemon.Effect {
  fileprivate var isOfSocket: Bool { if case .servePositions = self { true } else { false } }
}

extension [Daemon.Effect] {
  fileprivate var positions: [VehiclePosition] {
    compactMap { if case .position(let position) = $0 { position } else { nil } }
  }
}
