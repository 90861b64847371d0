// SPDX-License-Identifier: Apache-2.0
import Expectations
import SourceSelection
import Reporting
import Delivery
import AgentTesting
import FleetEngine
import Foundation
import HTTPMessages
import Positioning
import Testing
import Timekeeping

@testable import Vehicle
@testable import Observability

struct StatusReportTests {
  private func report(_ fixture: AgentFixture) -> StatusReport { StatusReport(fixture.snapshot()) }

  private func id(_ effects: [VehicleAgent.Effect]) throws -> UInt64 {
    try #require(effects.compactMap { if case .sendUpdate(let id, _) = $0 { id } else { nil } }.first)
  }

  /// Drives second by second; each update is answered half a second later.
  private func drive(
    _ fixture: inout AgentFixture, _ seconds: ClosedRange<Int>, speed: Double = 14,
    answer: HTTPOutcomeOfSecond = { _ in AgentFixture.accepted }
  ) throws {
    for second in seconds {
      var effects = try fixture.drive(to: Double(second), speed: speed)
      while let effect = effects.popLast() {
        switch effect {
        case .fetchToken(let id, _):
          effects += fixture.handle(.tokenEnded(id: id, fixture.token()), at: Double(second) + 0.1)
        case .sendUpdate(let id, _):
          effects += fixture.handle(.updateEnded(id: id, answer(second)), at: fixture.now + 0.5)
        default: break
        }
      }
    }
  }

  private typealias HTTPOutcomeOfSecond = (Int) -> HTTPOutcome

  @Test("the report has the vehicle, the last outcome, and when the next update is due")
  func updates() throws {
    var fixture = try AgentFixture()
    expectNil(report(fixture).nextUpdate)
    try drive(&fixture, 0...25)
    let report = report(fixture)
    expectEqual(report.vehicle, "truck-1")
    expectEqual(report.isUpdating, false)
    expectEqual(report.lastOutcome?.result, "accepted")
    expectEqual(report.lastOutcome?.milliseconds, 500)
    expectEqual(report.nextUpdate?.kind, "report")
    let due = try #require(report.nextUpdate?.due)
    expectEqual(due, 5)
    expectEqual(report.lastMinutes?.last?[1], 0)
    expectEqual((report.lastMinutes ?? []).reduce(0) { $0 + $1[0] }, fixture.agent.statistics.accepted)
  }

  @Test("the report has the form of updates, and the reason if it is not the compact one")
  func updateForm() throws {
    var fixture = try AgentFixture()
    try drive(&fixture, 0...25)
    expectEqual(report(fixture).updateForm, StatusReport.UpdateForm(form: "compact", reason: nil, isSet: false))
    var refusals = 0
    var events: [Event] = []
    var refusing = try AgentFixture()
    for second in 0...900 {
      var effects = try refusing.drive(to: Double(second), speed: 14)
      while let effect = effects.popLast() {
        switch effect {
        case .fetchToken(let id, _):
          effects += refusing.handle(.tokenEnded(id: id, refusing.token()), at: Double(second) + 0.1)
        case .sendUpdate(let id, let request):
          let isRefused = request.contentCoding == .gzip
          refusals += isRefused ? 1 : 0
          let answer = isRefused ? AgentFixture.error(415, "INVALID_ARGUMENT") : AgentFixture.accepted
          effects += refusing.handle(.updateEnded(id: id, answer), at: refusing.now + 0.2)
        case .event(let event): events.append(event)
        default: break
        }
      }
      if second == 100 {
        expectEqual(
          report(refusing).updateForm?.reason?.hasPrefix("compact ones failed, and are tried again in 8 min"), true)
      }
    }
    expect(refusals == 2 && events.contains(.compactUpdatesRefused(httpStatus: 415)))
    expect(!events.contains { $0.kind == .offline || $0.kind == .interrupted })
    expectEqual(report(refusing).updateForm?.reason, "the server refuses compact ones (HTTP 415)")
  }

  @Test("right after an update, the next one is due an interval later, or at the heartbeat if the vehicle is parked")
  func expected() throws {
    var fixture = try AgentFixture()
    try drive(&fixture, 0...10)
    expectEqual(fixture.agent.policy.newest?.time, fixture.agent.delivery.delivered?.time)
    expectEqual(report(fixture).nextUpdate, StatusReport.NextUpdate(due: 10, kind: "report"))
    var parked = try AgentFixture()
    try drive(&parked, 0...70, speed: 0)
    let next = try #require(report(parked).nextUpdate)
    expectEqual(next.kind, "heartbeat")
    expectEqual(next.due, 40)
  }

  @Test("a failure is reported with its category, and the next update is a retry")
  func failure() throws {
    var fixture = try AgentFixture()
    try drive(&fixture, 0...12, answer: { _ in AgentFixture.error(503, "UNAVAILABLE") })
    let report = report(fixture)
    expectEqual(report.lastOutcome?.result, "unavailable")
    expectEqual(report.nextUpdate?.kind, "retry")
    let minutes = try #require(report.lastMinutes)
    expect(!minutes.isEmpty && minutes.allSatisfy { $0[0] == 0 && $0[1] > 0 })
  }

  @Test("while a request is in flight, the report has no time for the next update")
  func inFlight() throws {
    var fixture = try AgentFixture()
    let effects = try fixture.drive(to: 0)
    let fetch = effects.compactMap { if case .fetchToken(let id, _) = $0 { id } else { nil } }.first
    _ = fixture.handle(.tokenEnded(id: try #require(fetch), fixture.token()), at: 0.1)
    expectEqual(report(fixture).isUpdating, true)
    expectNil(report(fixture).nextUpdate)
  }

  @Test("the track has a point every five seconds for at most ten minutes, in metres from the newest position")
  func track() throws {
    var fixture = try AgentFixture()
    try drive(&fixture, 0...60)
    let track = try #require(report(fixture).track)
    // The vehicle drives north at 14 m/s.
    expectEqual(track.points.last, [0, 0])
    expect(track.points.allSatisfy { $0[0] == 0 && $0[1] <= 0 })
    expect(abs(track.points[0][1] + 14 * 60) <= 2)
    expectEqual(track.points.count, 13)
    expectEqual(track.seconds, 60)
    try drive(&fixture, 61...1500)
    let long = try #require(report(fixture).track)
    expect(long.points.count <= RecentTrack.capacity + 1)
    expect(long.seconds <= 600)
  }

  @Test("the report contains no coordinates, although it has the track")
  func noCoordinates() throws {
    var fixture = try AgentFixture()
    fixture.longitude = 11.5
    try drive(&fixture, 0...100)
    let text = String(decoding: try JSONEncoder().encode(report(fixture)), as: UTF8.self)
    expect(text.contains("\"track\""))
    expect(!text.contains("48."))
    expect(!text.contains("11.5"))
  }

  @Test("a pause deletes the track, and no track is recorded during a pause")
  func pause() throws {
    var fixture = try AgentFixture()
    try drive(&fixture, 0...60)
    _ = fixture.handle(.pause(nil), at: 61)
    for second in 62...120 { _ = try fixture.drive(to: Double(second)) }
    expectNil(report(fixture).track)
    expectNil(report(fixture).nextUpdate)
    _ = fixture.handle(.resume, at: 121)
    try drive(&fixture, 122...140)
    let track = try #require(report(fixture).track)
    expect(track.seconds <= 18)
  }

  @Test("a receiver that is not read during a pause is reported with the reason")
  func unread() throws {
    var fixture = try AgentFixture()
    var source = AgentFixture.source
    source.isPausable = true
    _ = fixture.handle(.sources([source]), at: 0)
    try drive(&fixture, 0...20)
    expectNil(report(fixture).sourceTrouble)
    _ = fixture.handle(.pause(nil), at: 21)
    expectEqual(report(fixture).sourceTrouble, "not read while paused")
    _ = fixture.handle(.resume, at: 500)
    expectNil(report(fixture).sourceTrouble)
  }

  @Test("after a change of the vehicle, the report has no data of the previous vehicle")
  func otherVehicle() throws {
    var fixture = try AgentFixture()
    try drive(&fixture, 0...60)
    _ = fixture.handle(.configure(try AgentFixture.configuration(vehicle: "truck-2")), at: 61)
    expectNil(report(fixture).track)
    expectNil(report(fixture).lastOutcome)
    expectNil(report(fixture).lastMinutes)
  }
}
