// SPDX-License-Identifier: Apache-2.0

/// A vehicle on the live map: its track and its figures.
struct MappedVehicle: Sendable {
  /// A position and how it arrived.
  struct TrackPoint: Equatable, Sendable {
    var position: ReportedPosition
    /// It arrived in `pastLocations`.
    var isPast: Bool
    /// Milliseconds since 1970.
    var received: Int64

    var json: JSON {
      [
        "t": JSON(position.time), "lat": JSON(position.latitude), "lon": JSON(position.longitude),
        "speed": JSON(position.speed), "heading": JSON(position.heading), "accuracy": JSON(position.accuracy),
        "past": .bool(isPast), "received": JSON(received),
      ]
    }
  }

  /// Maximum positions of the track; older ones are removed.
  private static let maxPositions = 5000
  private static let maxDelays = 60
  private static let maxReasons = 50

  private let id: String
  var statistics = VehicleStatistics()
  /// Steady milliseconds.
  var lastHeard: Int64 = 0
  /// Milliseconds since 1970.
  var tokenIssued: Int64?
  /// Milliseconds since 1970.
  var tokenExpires: Int64?
  /// In order of the positions' times.
  private var track: [TrackPoint] = []
  private var position: TrackPoint?
  /// Delays of the last live positions from the fix to the server, in milliseconds.
  private var delays: [Int64] = []
  /// The times of the accepted updates of the last minute, in steady milliseconds.
  private var recentUpdates: [Int64] = []
  private var refusals: [String: Int] = [:]
  private var lastRefusal: (refusal: FleetEvent.Refusal, at: Int64)?
  /// Whether the last update was rejected or not answered.
  private(set) var hasFailed = false

  init(_ id: String) {
    self.id = id
  }

  /// - Parameter limit: maximum number of positions of the track; values outside 100 to `maxPositions` are clamped.
  /// - Returns: the live position as it is stored, and the past positions that are new.
  mutating func recordAccepted(
    _ live: ReportedPosition?, past: [ReportedPosition], keeping limit: Int, at now: ServerTime
  ) -> (live: TrackPoint?, past: [TrackPoint]) {
    hasFailed = false
    recentUpdates.removeAll { now.steady - $0 >= 60_000 }
    recentUpdates.append(now.steady)
    let added = past.map { TrackPoint(position: $0, isPast: true, received: now.wall) }.filter { add($0) }
    defer { track.removeFirst(max(0, track.count - min(max(limit, 100), Self.maxPositions))) }
    guard let live else { return (nil, added) }
    let point = TrackPoint(position: live, isPast: false, received: now.wall)
    add(point)
    position = point
    delays.append(now.wall - live.time)
    if delays.count > Self.maxDelays { delays.removeFirst() }
    return (point, added)
  }

  mutating func recordRefused(_ refusal: FleetEvent.Refusal, at now: ServerTime) {
    lastRefusal = (refusal, now.wall)
    hasFailed = true
    if refusals[refusal.reason] != nil || refusals.count < Self.maxReasons {
      refusals[refusal.reason, default: 0] += 1
    }
  }

  /// - Returns: false when the track already has a position of that time: it was sent twice.
  @discardableResult
  private mutating func add(_ point: TrackPoint) -> Bool {
    // The position is nearly always the newest.
    let index = track.lastIndex { $0.position.time <= point.position.time }.map { $0 + 1 } ?? 0
    if index > 0, track[index - 1].position.time == point.position.time { return false }
    track.insert(point, at: index)
    return true
  }

  /// - Parameter limit: maximum number of positions; the newest are included.
  func json(track limit: Int, at now: ServerTime) -> JSON {
    [
      "id": .string(id), "stats": openingStats(at: now), "position": position?.json ?? .null,
      "track": .array(track.suffix(limit).map(\.json)),
    ]
  }

  /// The figures of the panel, and the last delays, oldest first. The page itself adds later delays.
  private func openingStats(at now: ServerTime) -> JSON {
    var stats = stats(at: now)
    stats["delays"] = .array(delays.map { JSON($0) })
    return stats
  }

  /// The figures of the panel; times in milliseconds.
  func stats(at now: ServerTime) -> JSON {
    [
      "state": statistics.state.map { .string($0) } ?? .null, "accepted": JSON(statistics.acceptedCount),
      "refused": JSON(statistics.refusedCount), "warnings": JSON(statistics.warningCount),
      "past": JSON(statistics.pastLocationCount), "tokens": JSON(statistics.issuedTokenCount),
      "tokenFetches": JSON(statistics.tokenRequests),
      "bytes": JSON(statistics.receivedBytes),
      "bytesPerUpdate": JSON(statistics.acceptedCount == 0 ? 0 : statistics.acceptedBytes / statistics.acceptedCount),
      "updatesPerMinute": JSON(recentUpdates.count { now.steady - $0 < 60_000 }),
      "lastUpdate": JSON(statistics.lastUpdate?.wall), "delay": JSON(delays.last),
      "tokenIssued": JSON(tokenIssued), "tokenExpires": JSON(tokenExpires),
      "refusals": .object(refusals.sorted { $0.key < $1.key }.map { .init($0.key, JSON($0.value)) }),
      "lastRefusal": lastRefusal.map { last in
        [
          "at": JSON(last.at), "status": JSON(last.refusal.status), "reason": .string(last.refusal.reason),
          "message": .string(last.refusal.message),
        ]
      } ?? .null,
    ]
  }
}
