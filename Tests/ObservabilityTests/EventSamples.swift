// SPDX-License-Identifier: Apache-2.0
import Authorization
import ClockEstimation
import FleetEngine
import HTTPMessages
import Positioning
import Timekeeping
import Connectivity

import SourceSelection
import PositionBacklog
import Vehicle
import ExternalInput

/// Every kind of event, in each of its variants.
enum EventSamples {
  static func all() throws -> [Event] {
    try service + fixes() + updates() + tokens + backlog + surroundings
  }

  private static let service: [Event] = [
    .started(vehicle: "truck-17", version: "1.0.0"), .crashed("signal 11 in 1.0.0; a; b; c"), .crashed("signal 11"),
    .crashed(""), .stopping(.signal("SIGTERM")), .stopping(.sourcesEnded),
    .stopping(.directoryDeleted("/run/fleet-locationd")), .stopped(undelivered: 0),
    .stopped(undelivered: 1), .stopped(undelivered: 1, isStored: true),
    .stopped(undelivered: 12, isStored: true), .stopped(undelivered: 0, recording: recording(50)),
    .stopped(undelivered: 0, recording: recording(50, rejected: 50)),
    .stopped(undelivered: 0, recording: recording(50, rejected: 1)),
    .stopped(undelivered: 3, isStored: true, recording: recording(50, rejected: 20)),
    .stopped(undelivered: 0, recording: recording(0)), .reloaded, .reloadRefused("a.toml:3: what"),
    .settingsKept("a.toml:3: what\na.toml:4: why"), .confirmationAwaited(.seconds(600), obstacle: nil),
    .confirmationAwaited(.seconds(600), obstacle: "a credential has changed since the previous ones"),
    .settingsConfirmed, .settingsTakenBack("no update was accepted with them within 10 min, because no fix came"),
    .settingsUnconfirmed("no update was accepted with them within 10 min", obstacle: "a credential has changed"),
    .settingsAwaited("/run/key: there is no such file"),
    .settingsWarning("the warning"),
  ]

  private static func recording(_ fixes: Int, rejected: Int = 0) -> Statistics {
    var statistics = Statistics()
    statistics.fixes = fixes
    statistics.rejected = rejected > 0 ? [.inaccurate: rejected] : [:]
    return statistics
  }

  private static let sources = SourceOverview(
    sources: [
      SourceOverview.Source(
        id: 1, name: "/dev/gps0 at 9600 baud", condition: .lost("/dev/gps0: the device is gone")),
      SourceOverview.Source(id: 2, name: "/dev/gps1", condition: .good),
    ], used: 1)

  private static func fixes() throws -> [Event] {
    var returned = sources
    returned.reason = .failback(after: .seconds(10))
    return [
      .sourceOpened("/dev/gps0"), .sourceOpened("/dev/gps1", SourceNumber(1, of: 2)),
      .sourceLost("/dev/gps0: the device is gone"),
      .sourceLost("/dev/gps0: the device is gone", SourceNumber(0, of: 2)), .sourceChosen(1, in: sources),
      .sourceChosen(0, in: sources), .sourceChosen(0, in: returned), .sourceChosen(1, in: returned),
      .noSourceGood(sources), .simulatedSource(endpoint: "https://e.test"), .firstFix(try fix(.gnss, 3.2, 9)),
      .firstFix(try fix(.dgnss, nil, nil)), .firstFix(try fix(.simulated, 123_456, 4)), .fixLost(nil),
      .noFix(after: .seconds(60), inView: 3, nil), .noFix(after: .seconds(60), inView: 1, .stale),
      .noFix(after: .seconds(60), inView: nil, nil), .noFix(after: .seconds(60), inView: 0, nil),
      .fixLost(.frozen),
      .fixRegained(after: .seconds(200)), .fixRejected(.jump, suppressed: 0), .fixRejected(.stale, suppressed: 8),
    ]
  }

  private static func fix(_ quality: Fix.Quality, _ accuracy: Double?, _ satellites: Int?) throws -> Fix {
    var fix = Fix(coordinate: try place(), time: .utc(stamp))
    fix.quality = quality
    fix.horizontalAccuracy = accuracy
    fix.satellites = satellites
    return fix
  }

  private static let stamp = Timestamp(seconds: 1_796_083_200)

  private struct NoPlace: Error {}

  private static func place() throws -> Coordinate {
    guard let place = Coordinate(latitude: 48.5, longitude: 11.25) else { throw NoPlace() }
    return place
  }

  private static let role = UpdateFailure(
    .permissionDenied, "no", from: .deliveries, httpStatus: 403, status: "PERMISSION_DENIED", cause: .role)
  /// A token without a signature, with the algorithm "none".
  private static let unsigned = TokenInspection(of: Secret("eyJhbGciOiJub25lIn0.e30."), for: nil, at: nil)
  private static let failures =
    UpdateFailure.Category.allCases.map { UpdateFailure($0, "what it said", from: .deliveries) } + [
      role,
      UpdateFailure(.clockSkew, "no", from: .deliveries, httpStatus: 401, status: "UNAUTHENTICATED", cause: .expired),
      UpdateFailure(
        .unauthenticated, "no", from: .deliveries, httpStatus: 401, status: "UNAUTHENTICATED", cause: .notYetValid),
    ]
  private static let silence = UpdateFailure(.network, "no response", from: .deliveries)

  private static func updates() throws -> [Event] {
    var events: [Event] = [
      .online(after: nil, delivered: 0, pending: 0), .online(after: .seconds(70), delivered: 1, pending: 0),
      .online(after: .seconds(7000), delivered: 24, pending: 0),
      .online(after: .seconds(7200), delivered: 0, pending: 1),
      .online(after: .seconds(172_800), delivered: 100, pending: 7), .updateAccepted(past: 0, location: nil),
      .updateAccepted(past: 1, location: nil),
      .updateAccepted(past: 2, location: VehicleLocation(coordinate: try place(), time: stamp)),
      .offline(silence, after: .seconds(60), suppressed: 1),
      .offline(silence, after: .milliseconds(999), suppressed: 2),
      .stillOffline(silence, after: .seconds(600), attempts: 1), .compactUpdatesRefused(httpStatus: 415),
    ]
    for failure in failures {
      events += [
        .offline(failure, after: .zero, suppressed: 0), .interrupted(failure),
        .stillOffline(failure, after: .seconds(600), attempts: 44),
      ]
    }
    return events
  }

  private static let tokens: [Event] = [
    .tokenObtained(life: .seconds(3590), .relative, isFirst: true, after: nil),
    .tokenObtained(life: .seconds(3590), .relative, isFirst: false, after: .seconds(1140)),
    .tokenRestored(life: .seconds(3000), .relative), .tokenNotRestored("it has expired", reason: "expired"),
    .tokenNotKept("no directory"), .tokenFailed(TokenFailure(.status(500), "HTTP 500"), left: nil, suppressed: 0),
    .tokenFailed(TokenFailure(.notJWT, "not a JWT"), left: .seconds(600), suppressed: 4),
    .tokenRemark(ExternalText("hello")),
    .tokenRefused(nil, retryDelay: .seconds(60)), .tokenRefused(role, retryDelay: .seconds(60)),
    .tokenRefused(role.explained(by: unsigned), retryDelay: .seconds(900)),
  ]

  private static let backlog: [Event] =
    [
      .backfilled(1), .backfilled(361), .backfillRefused(silence, suppressed: 0),
      .backfillRefused(role, suppressed: 2), .othersDropped(1), .othersDropped(40), .backlogRestored(1),
      .backlogRestored(7), .backlogInMemory("no room", suppressed: 0), .backlogInMemory("no room", suppressed: 5),
      .backlogOnDisk(count: 3), .storeSetAside(name: "backlog.corrupt", why: "malformed"),
      .storeReplaced(directory: "/var/lib/fleet-locationd"),
    ]
    + Backlog.Removal.allCases.flatMap { reason -> [Event] in
      [
        .positionsDropped(1, reason, suppressed: 0),
        .positionsDropped(12, reason, interpolationError: 12.3, suppressed: 3),
      ]
    }

  private static func traffic(updates: UInt64) -> TrafficLedger.Day {
    let fleetEngine = TCPTraffic(
      sent: 1_005_000, received: 362_000, retransmitted: 12_345, segmentsSent: 5800, segmentsReceived: 2900,
      headerSize: 52)
    let tokenProvider = TCPTraffic(
      sent: 8000, received: 36_000, retransmitted: 0, segmentsSent: 96, segmentsReceived: 88, headerSize: 52)
    return TrafficLedger.Day(
      date: stamp.date,
      counts: TrafficLedger.Counts(fleetEngine: fleetEngine, tokenProvider: tokenProvider, updates: updates),
      month: TrafficLedger.Counts(
        fleetEngine: TCPTraffic(
          sent: 25_000_000, received: 9_000_000, retransmitted: 700_000, segmentsSent: 145_000,
          segmentsReceived: 72_000,
          headerSize: 52), tokenProvider: tokenProvider, updates: 72_000))
  }

  private static let surroundings: [Event] = [
    .clockUnset, .clockStepped(.milliseconds(-1250), suppressed: 0), .clockStepped(.seconds(500), suppressed: 3),
    .clockStepped(.milliseconds(119_990), suppressed: 1),
    .clockWrong(TimeEstimator.ClockError(offset: .seconds(-56), reference: .fleetEngine)),
    .clockWrong(TimeEstimator.ClockError(offset: .seconds(9000), reference: .gnss)),
    .clockWrong(TimeEstimator.ClockError(offset: .seconds(31), reference: .tokenProvider)),
    .clockWrong(TimeEstimator.ClockError(offset: .seconds(-1_795_000_000), reference: .fleetEngine)), .clockRight,
    .receiverClock(.seconds(18), suppressed: 0), .receiverClock(.seconds(-86_400), suppressed: 2),
    .receiverClock(.seconds(-1024 * 7 * 86_400), suppressed: 0), .receiverClock(.zero, suppressed: 0),
    .networkLost(suppressed: 0), .networkLost(suppressed: 3), .networkBack(["eth0", "wwan0"], after: .seconds(400)),
    .trafficOfDay(traffic(updates: 2880)), .trafficOfDay(traffic(updates: 1)), .trafficOfDay(traffic(updates: 0)),
    .networkUnwatched("socket: denied"), .resumed(after: .milliseconds(3_599_600)),
    .vehicleInUse(by: VehicleHolder(unit: "fleet-locationd@van.service", processID: 812)),
    .vehicleInUse(by: VehicleHolder(unit: nil, processID: 812)),
    .vehicleInUse(by: VehicleHolder(unit: nil, processID: nil)),
    .vehicleFree(after: .seconds(1800)), .vehicleNotLocked("the directory"),
    .paused(PauseRecord(since: nil), isRestored: false), .paused(PauseRecord(since: nil), isRestored: true),
    .paused(PauseRecord(since: stamp + .milliseconds(300)), isRestored: true), .pauseEnded(after: nil),
    .pauseEnded(after: .seconds(1800)), .pauseNotKept("the file"),
    .offDuty(DutyRecord(since: nil), isRestored: false), .offDuty(DutyRecord(since: stamp), isRestored: true),
    .onDuty(after: nil, isPaused: false), .onDuty(after: .seconds(1800), isPaused: true), .dutyNotKept("the file"),
    .stateOffline(after: nil), .stateOffline(after: .seconds(75)), .stateOfflineFailed(silence, suppressed: 0),
    .stateOfflineFailed(role, suppressed: 3), .stateOfflineMissing(vehicle: "taxi-1", isSentAtNextStart: true),
    .stateOfflineMissing(vehicle: "taxi-1", isSentAtNextStart: false),
  ]
}
