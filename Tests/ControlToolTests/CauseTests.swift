// SPDX-License-Identifier: Apache-2.0
import Expectations
import Reporting
import Delivery
import Diagnosis
import FixSources
import AgentTesting
import Authorization
import Connectivity
import SourceSelection
import Vehicle
import ExternalInput
import Foundation
import HTTPMessages
import Observability
import Positioning
import Testing
import Timekeeping

@testable import ControlTool

/// Every cause for which the agent waits, as STATUS=, `status`, `status --json` and `explain` describe it.
struct CauseTests {
  struct Case: Sendable {
    var name: String
    /// When the daemon is queried.
    var second: Double
    var prepare: @Sendable (inout AgentFixture) throws -> Void
  }

  /// A kind of wait. A new `Cause`, `Limit` or `Next` does not compile until it is added here, and then a case must
  /// reach it.
  enum Wait: String, CaseIterable {
    case stopping, stopped, paused, goingOffline, noSource, noFixYet, noFixSince, held, noNetwork, noToken, firstToken,
      failed, vehicleInUse
    case floor, attempts, waking, inFlight, notDue

    init(_ cause: Cause) {
      self =
        switch cause {
        case .stopping(until: .some, _): .stopping
        case .stopping(until: nil, _): .stopped
        case .paused(_, offline: nil): .paused
        case .paused(_, offline: .some): .goingOffline
        case .noSource: .noSource
        case .noFix(since: nil, _): .noFixYet
        case .noFix(since: .some, _): .noFixSince
        case .held: .held
        case .noNetwork: .noNetwork
        case .noToken(nil, _): .firstToken
        case .noToken(.some, _): .noToken
        case .failed: .failed
        case .vehicleInUse: .vehicleInUse
        case .rateLimited(_, by: .floor): .floor
        case .rateLimited(_, by: .attempts): .attempts
        case .rateLimited(_, by: .waking): .waking
        case .inFlight: .inFlight
        case .notDue: .notDue
        }
    }
  }

  /// A kind of next step. A new one does not compile either until it is added here.
  enum Next: String, CaseIterable {
    case none, report, heartbeat, retry, offline, tokenLater, tokenFetched

    init(_ next: Plan.Next?) {
      self =
        switch next {
        case nil: .none
        case .report: .report
        case .heartbeat: .heartbeat
        case .retry: .retry
        case .offline: .offline
        case .token(.some): .tokenLater
        case .token(nil): .tokenFetched
        }
    }
  }

  private static let refusal = AgentFixture.error(403, "PERMISSION_DENIED")

  private static func network(_ isUsable: Bool) -> VehicleAgent.Input {
    var state = NetworkState()
    guard isUsable else { return .network(state) }
    state.addresses = [NetworkTable.Address(link: 2, family: .ipv4, bytes: [10, 0, 0, 2])]
    state.routes = [NetworkTable.Route(family: .ipv4, links: [2], gateway: [10, 0, 0, 1], priority: 0)]
    return .network(state)
  }

  /// A fix that is too inaccurate to be accepted.
  private static func badFix(at second: Int) throws -> VehicleAgent.Input {
    var fix = Fix(
      coordinate: try #require(Coordinate(latitude: 48, longitude: 11)),
      time: .utc(AgentFixture.start + .seconds(second)))
    fix.horizontalAccuracy = 5000
    return .source(0, .fix(fix))
  }

  /// A fix of the second receiver, whose clock is 8 s behind.
  private static func lateFix(at second: Int) throws -> VehicleAgent.Input {
    let place = try #require(Coordinate(latitude: 48 + Double(second) * 14 / 111_200, longitude: 11))
    var fix = Fix(coordinate: place, time: .utc(AgentFixture.start + .seconds(second - 8)))
    fix.speed = 14
    fix.horizontalAccuracy = 3
    return .source(1, .fix(fix))
  }

  static let cases: [Case] = [
    Case(name: "no source", second: 5) { _ = $0.handle(.source(0, .lost("/dev/gps0 is not there")), at: 0) },
    Case(name: "no source any more, and no fix for a while", second: 50) {
      try $0.comeOnline()
      _ = $0.handle(.source(0, .lost("/dev/gps0 is not there")), at: 10)
      for second in 11...50 { _ = $0.handle(.deadline, at: Double(second)) }
    },
    Case(name: "no source any more, and a report was due", second: 15) {
      try $0.comeOnline()
      _ = $0.handle(.source(0, .lost("/dev/gps0 is open but silent")), at: 12)
    },
    Case(name: "a source is silent, and a report was due", second: 15) { try $0.comeOnline() },
    Case(name: "bytes, and no sentence at the speeds tried so far", second: 9) {
      _ = $0.handle(.sources([closed]), at: 0)
      _ = $0.handle(.source(1, .detecting("/dev/gps1 sends bytes, and no NMEA sentence yet")), at: 5)
    },
    Case(name: "no fix yet", second: 5) { _ in },
    Case(name: "no fix yet for a while, and some sky", second: 75) {
      _ = $0.handle(.source(0, .sky(inView: 3)), at: 2)
      _ = $0.handle(.deadline, at: 60)
    },
    Case(name: "no fix yet for a while, and no satellite", second: 75) {
      _ = $0.handle(.source(0, .sky(inView: 0)), at: 2)
      _ = $0.handle(.deadline, at: 60)
    },
    Case(name: "no fix but refused ones", second: 5) { _ = $0.handle(try badFix(at: 4), at: 4) },
    Case(name: "no fix any more", second: 45) {
      try $0.comeOnline()
      _ = $0.handle(.deadline, at: 31)
    },
    Case(name: "no network, and one try is under way all the same", second: 182) {
      _ = $0.handle(network(true), at: 0)
      try $0.comeOnline()
      _ = $0.handle(network(false), at: 1)
      for second in 2...182 { _ = try $0.drive(to: Double(second)) }
    },
    Case(name: "no network, and a try has failed", second: 240) {
      _ = $0.handle(network(true), at: 0)
      try $0.comeOnline()
      _ = $0.handle(network(false), at: 1)
      for second in 2...182 { _ = try $0.drive(to: Double(second)) }
      _ = $0.handle(.updateEnded(id: 2, AgentFixture.unreachable), at: 182.5)
      for second in 183...240 { _ = try $0.drive(to: Double(second)) }
    },
    Case(name: "the first token is being fetched", second: 8) { _ = try $0.drive(to: 0) },
    Case(name: "the provider gives no token", second: 15) {
      _ = try $0.drive(to: 0)
      _ = $0.handle(.tokenEnded(id: 1, .http(.response(HTTPResponse(status: 500, body: [])))), at: 1)
      _ = $0.handle(.deadline, at: 5)
      _ = $0.handle(.tokenEnded(id: 2, .http(.response(HTTPResponse(status: 500, body: [])))), at: 15)
    },
    Case(name: "Fleet Engine cannot be reached", second: 12) {
      try $0.comeOnline()
      _ = try $0.drive(to: 10)
      _ = $0.handle(.updateEnded(id: 2, AgentFixture.unreachable), at: 12)
    },
    Case(name: "the next try after a failure is under way", second: 30) {
      try $0.comeOnline()
      _ = try $0.drive(to: 10)
      _ = $0.handle(.updateEnded(id: 2, AgentFixture.unreachable), at: 12)
      _ = try $0.drive(to: 28)
    },
    Case(name: "Fleet Engine refuses every token: a wrong provider_id", second: 20) {
      _ = try $0.drive(to: 0)
      _ = $0.handle(.tokenEnded(id: 1, $0.token()), at: 1)
      _ = $0.handle(.updateEnded(id: 1, refusal), at: 2)
      // This update is in plain form.
      _ = $0.handle(.deadline, at: 3)
      _ = $0.handle(.updateEnded(id: 2, refusal), at: 3.5)
      _ = $0.handle(.deadline, at: 4.5)
      _ = $0.handle(.tokenEnded(id: 2, $0.token()), at: 5)
      _ = $0.handle(.updateEnded(id: 3, refusal), at: 6)
      _ = try $0.drive(to: 20)
    },
    Case(name: "Fleet Engine refuses every token: a wrong role", second: 20) {
      _ = try $0.drive(to: 0)
      _ = $0.handle(.tokenEnded(id: 1, AgentFixture.signedToken()), at: 1)
      _ = $0.handle(.updateEnded(id: 1, refusal), at: 2)
      // The second refusal is of an update in plain form.
      _ = $0.handle(.updateEnded(id: 2, refusal), at: 3)
    },
    Case(name: "Fleet Engine refuses a token that lives for a day", second: 20) {
      _ = try $0.drive(to: 0)
      _ = $0.handle(.tokenEnded(id: 1, AgentFixture.signedToken(life: 86_400)), at: 1)
      _ = $0.handle(.updateEnded(id: 1, AgentFixture.error(401, "UNAUTHENTICATED")), at: 2)
    },
    Case(name: "Fleet Engine refuses a token with another audience", second: 20) {
      _ = try $0.drive(to: 0)
      _ = $0.handle(.tokenEnded(id: 1, AgentFixture.signedToken(audience: "https://example.com/")), at: 1)
      _ = $0.handle(.updateEnded(id: 1, AgentFixture.error(401, "UNAUTHENTICATED")), at: 2)
    },
    Case(name: "due, and Fleet Engine's floor is not over", second: 23) {
      try $0.comeOnline()
      for second in 1...21 { _ = try $0.drive(to: Double(second)) }
      _ = $0.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 22)
    },
    Case(name: "due, and the machine has just woken", second: 20.5) {
      try $0.comeOnline()
      _ = try $0.drive(to: 10)
      _ = $0.handle(.resumed(after: .seconds(8)), at: 20)
    },
    Case(name: "a request is under way", second: 12) {
      try $0.comeOnline()
      _ = try $0.drive(to: 10)
    },
    Case(name: "due, and as many requests as are made in a minute were made", second: 58.5) {
      $0 = try AgentFixture { $0.reporting.interval = .seconds(5) }
      _ = try $0.drive(to: 0)
      var effects = $0.handle(.tokenEnded(id: 1, $0.token()), at: 0)
      // Every other request fails although it may have arrived, and is retried soon.
      let unanswered = HTTPOutcome.failure(TransportFailure(.timedOut, "no response within 15 s"))
      for step in 1...117 {
        for case .sendUpdate(let id, _) in effects {
          let outcome = id.isMultiple(of: 2) ? AgentFixture.accepted : unanswered
          _ = $0.handle(.updateEnded(id: id, outcome), at: Double(step) / 2 - 0.25)
        }
        let second = Double(step) / 2
        effects = step.isMultiple(of: 2) ? try $0.drive(to: second) : $0.handle(.deadline, at: second)
      }
    },
    Case(name: "the clock of the receiver after a failover is behind", second: 14) {
      let spare = SourceSelector.ConfiguredSource(id: 1, label: "/dev/gps1", silenceTimeout: .seconds(10))
      _ = $0.handle(.sources([AgentFixture.source, spare]), at: 0)
      _ = $0.handle(.source(1, .reading("/dev/gps1")), at: 0)
      try $0.comeOnline()
      for second in 1...10 {
        _ = try $0.drive(to: Double(second))
        _ = $0.handle(try lateFix(at: second), at: Double(second))
      }
      _ = $0.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 10.2)
      _ = $0.handle(.source(0, .lost("/dev/gps0 is not there")), at: 11)
      for second in 11...14 { _ = $0.handle(try lateFix(at: second), at: Double(second)) }
    },
    Case(name: "not due: the newest is at Fleet Engine", second: 3) { try $0.comeOnline() },
    Case(name: "not due: there is a newer one", second: 6) {
      try $0.comeOnline()
      for second in 1...6 { _ = try $0.drive(to: Double(second)) }
    },
    Case(name: "not due, and the last fix was refused", second: 5) {
      try $0.comeOnline()
      _ = $0.handle(try badFix(at: 4), at: 4)
    },
    Case(name: "not due: parked", second: 61) {
      _ = try $0.drive(to: 0, speed: 0)
      _ = $0.handle(.tokenEnded(id: 1, $0.token()), at: 0.1)
      _ = $0.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 0.2)
      for second in 1...61 {
        let effects = try $0.drive(to: Double(second), speed: 0)
        for case .sendUpdate(let id, _) in effects {
          _ = $0.handle(.updateEnded(id: id, AgentFixture.accepted), at: Double(second) + 0.1)
        }
      }
    },
    Case(name: "paused", second: 30) {
      try $0.comeOnline()
      _ = $0.handle(.pause(nil), at: 5)
      _ = try $0.drive(to: 10)
    },
    Case(name: "paused, OFFLINE under way", second: 6) {
      try trips(&$0)
      _ = $0.handle(.pause(nil), at: 5)
    },
    Case(name: "paused, OFFLINE accepted", second: 6) {
      try trips(&$0)
      _ = $0.handle(.pause(nil), at: 5)
      _ = $0.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 5.2)
    },
    Case(name: "paused, OFFLINE to be repeated as a position was under way", second: 14) {
      try trips(&$0)
      _ = try $0.drive(to: 11)
      _ = $0.handle(.pause(nil), at: 12)
      _ = $0.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 12.3)
    },
    Case(name: "paused, OFFLINE without a network", second: 65) {
      _ = $0.handle(network(true), at: 0)
      try trips(&$0)
      _ = $0.handle(network(false), at: 4)
      _ = $0.handle(.pause(nil), at: 5)
    },
    Case(name: "paused, OFFLINE refused", second: 6) {
      try trips(&$0)
      _ = $0.handle(.pause(nil), at: 5)
      _ = $0.handle(.updateEnded(id: 2, AgentFixture.error(404, "NOT_FOUND")), at: 5.2)
    },
    Case(name: "off duty, OFFLINE under way", second: 6) {
      try trips(&$0)
      _ = $0.handle(.goOffline(nil), at: 5)
    },
    Case(name: "off duty, OFFLINE accepted", second: 8) {
      try trips(&$0)
      _ = $0.handle(.goOffline(nil), at: 5)
      _ = $0.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 5.2)
      _ = try $0.drive(to: 8)
    },
    Case(name: "off duty, OFFLINE refused", second: 6) {
      try trips(&$0)
      _ = $0.handle(.goOffline(nil), at: 5)
      _ = $0.handle(.updateEnded(id: 2, AgentFixture.error(404, "NOT_FOUND")), at: 5.2)
    },
    Case(name: "off duty, OFFLINE to be repeated as a position may arrive after it", second: 12) {
      try trips(&$0)
      _ = try $0.drive(to: 10)
      _ = $0.handle(.resumed(after: .seconds(1)), at: 10.5)
      _ = $0.handle(.goOffline(nil), at: 11)
      _ = $0.handle(.deadline, at: 11.5)
      for id in 3...4 { _ = $0.handle(.updateEnded(id: UInt64(id), AgentFixture.accepted), at: 11.8) }
    },
    Case(name: "paused off duty, OFFLINE accepted before", second: 8) {
      try trips(&$0)
      _ = $0.handle(.goOffline(nil), at: 5)
      _ = $0.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 5.2)
      _ = $0.handle(.pause(nil), at: 7)
    },
    Case(name: "resumed, and OFFLINE, given up as the machine slept, may still arrive", second: 9) {
      try trips(&$0)
      _ = $0.handle(.pause(nil), at: 5)
      _ = $0.handle(.resume, at: 6)
      _ = $0.handle(.resumed(after: .seconds(1)), at: 7)
      _ = try $0.drive(to: 8)
    },
    Case(name: "paused before the first token", second: 6) {
      $0 = try AgentFixture { $0 = try AgentFixture.tripsConfiguration() }
      _ = $0.handle(.pause(nil), at: 5)
    },
    Case(name: "another service has the vehicle from the start", second: 5) {
      _ = $0.handle(.sources([]), at: 0)
      _ = $0.handle(.vehicleLocked(by: van), at: 0)
    },
    Case(name: "a process that a user has started has the vehicle of new settings", second: 75) {
      try $0.comeOnline()
      let settings = try AgentFixture.configuration(vehicle: "truck-2")
      _ = $0.handle(.configure(settings, lockedBy: VehicleHolder(unit: nil, processID: 4711)), at: 5)
    },
    Case(name: "another service has the vehicle, and the driver is off duty", second: 30) {
      try trips(&$0)
      _ = $0.handle(.vehicleLocked(by: van), at: 5)
      _ = $0.handle(.pause(nil), at: 6)
    },
    Case(name: "a recording has ended, and there is no network", second: 30) {
      _ = $0.handle(network(true), at: 0)
      try $0.comeOnline()
      _ = $0.handle(network(false), at: 1)
      _ = try $0.drive(to: 10)
      _ = $0.handle(.source(0, .ended), at: 20)
    },
    Case(name: "a recording has ended, and Fleet Engine is unavailable", second: 31) {
      try $0.comeOnline()
      _ = try $0.drive(to: 20)
      _ = $0.handle(.source(0, .ended), at: 20.5)
      for id in 2...9 {
        _ = $0.handle(.updateEnded(id: UInt64(id), AgentFixture.error(503, "UNAVAILABLE")), at: 30)
      }
    },
    Case(name: "asked to stop while a request is under way", second: 12) {
      try $0.comeOnline()
      _ = try $0.drive(to: 10)
      _ = $0.handle(.stop(within: .seconds(8), signal: "SIGTERM"), at: 11)
    },
    Case(name: "stopped", second: 13) {
      try $0.comeOnline()
      _ = $0.handle(.stop(within: .seconds(8), signal: "SIGTERM"), at: 11)
    },
  ]

  /// A source that has not reported anything yet.
  private static let closed = SourceSelector.ConfiguredSource(id: 1, label: "/dev/gps1", silenceTimeout: .seconds(10))
  private static let van = VehicleHolder(unit: "fleet-locationd@van.service", processID: 812)

  /// Replaces the fixture with a vehicle for on-demand trips that is online.
  private static func trips(_ fixture: inout AgentFixture) throws {
    fixture = try AgentFixture { $0 = try AgentFixture.tripsConfiguration() }
    try fixture.comeOnline()
  }

  /// The state of a case: as a snapshot, as a report, and as the lines of causes.txt.
  private func outputs(_ item: Case) throws -> (snapshot: VehicleAgent.Snapshot, report: StatusReport, text: String) {
    var fixture = try AgentFixture()
    try item.prepare(&fixture)
    let snapshot = fixture.snapshot(at: item.second)
    let report = StatusReport(snapshot)
    let state = try #require(report.state)
    let retry = report.failure.map { "; retryIn \($0.retryIn.map { "\($0)" } ?? "null")" } ?? ""
    let next = (report.nextUpdate.map { "\($0.kind) in \($0.due) s" } ?? "null") + retry
    let rows = StatusScreen.lines(of: StatusRows(report), width: nil, capabilities: .plain).map(\.text)
    let shown = rows.filter { $0.hasPrefix("State") || $0.hasPrefix("Next update") || $0.hasPrefix("Duty") }
    let lines = [
      "STATUS=  \(snapshot.publicStatusLine)", "state    \(state.cause), \(state.level)",
      "advice   \(state.advice ?? "none")", "next     \(next)",
      "explain  \(report.explanation.reason): \(report.explanation.sentence)",
    ]
    return (snapshot, report, "\(item.name)\n" + (lines + shown).map { "  \($0)\n" }.joined())
  }

  @Test("the texts of each cause match causes.txt; UPDATE_GOLDENS=1 rewrites the file")
  func golden() throws {
    let text = try CauseTests.cases.map { try outputs($0).text }.joined(separator: "\n")
    let golden = "/\(#filePath.split(separator: "/").dropLast().joined(separator: "/"))/causes.txt"
    if getenv("UPDATE_GOLDENS") != nil { try text.write(toFile: golden, atomically: true, encoding: .utf8) }
    try expectEqual(text, String(contentsOfFile: golden, encoding: .utf8))
  }

  @Test("there is a case for every cause and every next step")
  func complete() throws {
    let snapshots = try CauseTests.cases.map { try outputs($0).snapshot }
    expectEqual(Set(snapshots.map { Wait($0.cause) }), Set(Wait.allCases))
    expectEqual(Set(snapshots.map { Next($0.next) }), Set(Next.allCases))
  }

  @Test("just after a start doctor waits while a source detects its baud rate, and no longer when it is lost")
  func starting() throws {
    var fixture = try AgentFixture()
    func isStarting() -> Bool {
      var report = StatusReport(fixture.snapshot())
      report.uptime = 9
      return ServiceFindings.isStarting(.status(report))
    }
    _ = fixture.handle(.sources([CauseTests.closed]), at: 0)
    expect(isStarting())
    _ = fixture.handle(.source(1, .detecting("/dev/gps1 sends bytes, and no NMEA sentence yet")), at: 5)
    expect(isStarting())
    _ = fixture.handle(.source(1, .lost("/dev/gps1 is open but silent")), at: 9)
    expect(!isStarting())
  }

  @Test("the summary, `status`, `status --json` and `explain` name the same cause", arguments: CauseTests.cases)
  func oneCause(item: Case) throws {
    let report = try outputs(item).report
    let state = try #require(report.state)
    let line = "\(state.label)\(state.detail)"
    expect(report.summary.lowercased().hasPrefix(line.lowercased()))
    let rows = StatusScreen.lines(of: StatusRows(report), width: nil, capabilities: .plain).map(\.text)
    expect(rows.contains("State         \(line)"))
    expectEqual(StatusRows(report).state.text, state.label)
    // The problem is stated in one row.
    if state.level != "good", let problem = state.detail.parts(around: ": ")?.after {
      expectEqual(rows.filter { $0.contains(text: String(problem)) }.count, 1, "\(rows)")
    }
    // If nothing prevents updates, explain reports the outcome of the last fix.
    let isFree = ["notDue", "inFlight", "spacing"].contains(state.cause)
    if !isFree { expectEqual(report.explanation.reason, state.cause) }
    // The next update is never reported as due now.
    if let next = report.nextUpdate, next.kind != "token" { expect(next.due > 0) }
  }
}

extension CauseTests.Case: CustomTestStringConvertible {
  var testDescription: String { name }
}
