// SPDX-License-Identifier: Apache-2.0

/// The counters of one vehicle, and its violations of rules that the real Fleet Engine does not answer with an error,
/// such as updates that are too frequent or a position older than the previous one.
package struct VehicleStatistics: Sendable {
  /// A violation of a rule that is not answered with an error.
  package enum Warning: String, Sendable, CaseIterable {
    /// A position less than 5 s after the previous one.
    case tooSoon
    /// More than 60 s after the previous update.
    case tooLate
    /// `lastLocation` is older than the stored one, and has replaced it.
    case backwards
    /// A past location is newer than `lastLocation`.
    case pastIsNewer
    /// `lastLocation` is named in the mask but has no position.
    case noPosition
    /// A field of the body is not named in the mask: it was ignored.
    case ignoredField
    /// `vehicleState` is named in the mask but the body has none: the state is then unknown.
    case noState
  }

  /// Minimum milliseconds between two updates, by Fleet Engine's documentation.
  package static let minimumInterval: Int64 = 5000
  /// Tolerance of `minimumInterval` in milliseconds, because the delays of requests differ.
  private static let intervalTolerance: Int64 = 50
  private static let maximumInterval: Int64 = 60_000

  /// Updates that were accepted.
  package private(set) var acceptedCount = 0
  /// Updates that were rejected, by the HTTP status of the response; 0 for no response.
  package private(set) var refusedByStatus: [Int: Int] = [:]
  /// Tokens that were issued.
  package private(set) var issuedTokenCount = 0
  /// Requests for a token.
  package private(set) var tokenRequests = 0
  /// Bytes of the bodies of all updates.
  package private(set) var receivedBytes = 0
  /// Bytes of the bodies of the accepted updates.
  package private(set) var acceptedBytes = 0
  /// Positions received in `pastLocations`.
  package private(set) var pastLocationCount = 0
  /// Number of violations of each rule.
  package private(set) var warnings: [Warning: Int] = [:]
  /// When the last update was accepted.
  package private(set) var lastUpdate: ServerTime?
  /// When the last update with a live position was accepted.
  package private(set) var lastPosition: ServerTime?
  /// The shortest time in milliseconds from an accepted update with a live position to the next one.
  package private(set) var minimumGap: Int64?
  /// The longest time between two accepted updates in milliseconds, except while the vehicle is OFFLINE.
  package private(set) var maximumGap: Int64?
  /// Time of the last live position, milliseconds since 1970.
  package private(set) var lastFix: Int64?
  /// `ONLINE` or `OFFLINE`, for on-demand trips; nil until an update has contained a state.
  package private(set) var state: String?

  package init() {}

  /// The number of rejected updates.
  package var refusedCount: Int { refusedByStatus.values.reduce(0, +) }

  /// The number of violations of all rules.
  package var warningCount: Int { warnings.values.reduce(0, +) }

  /// Counts a token request, accepted or not.
  package mutating func countTokenRequest() {
    tokenRequests += 1
  }

  /// Counts an issued token.
  package mutating func countToken() {
    issuedTokenCount += 1
  }

  /// Counts a rejected update.
  ///
  /// - Parameter status: the HTTP status of the response; 0 if there was none.
  package mutating func recordRefused(status: Int, bytes: Int) {
    refusedByStatus[status, default: 0] += 1
    receivedBytes += bytes
  }

  /// Counts an accepted update.
  ///
  /// - Parameter minimumInterval: minimum milliseconds after the previous update.
  /// - Returns: the rules that it violates.
  package mutating func recordAccepted(
    _ vehicle: JSON, mask: UpdateMask, bytes: Int, at now: ServerTime,
    minimumInterval: Int64 = VehicleStatistics.minimumInterval
  ) -> [Warning] {
    var found: [Warning] = []
    acceptedCount += 1
    receivedBytes += bytes
    acceptedBytes += bytes
    let named = mask.topLevel
    let newState = named.contains("vehicleState") ? vehicle["vehicleState"]?.string : state
    // The interval limits positions; a change of state alone may be sent at any time.
    if named.contains("lastLocation") {
      if let lastPosition {
        let gap = now.steady - lastPosition.steady
        if gap < minimumInterval - Self.intervalTolerance { found.append(.tooSoon) }
        minimumGap = min(minimumGap ?? gap, gap)
      }
      lastPosition = now
    }
    if let lastUpdate {
      let gap = now.steady - lastUpdate.steady
      // A vehicle off duty need not report.
      if state != "OFFLINE" {
        if gap > Self.maximumInterval { found.append(.tooLate) }
        maximumGap = max(maximumGap ?? gap, gap)
      }
    }
    lastUpdate = now
    state = newState
    if named.contains("vehicleState"), state != "ONLINE", state != "OFFLINE" { found.append(.noState) }
    if vehicle.members.contains(where: { $0.name != "name" && !named.contains($0.name) }) {
      found.append(.ignoredField)
    }
    if named.contains("lastLocation") {
      let location = ReportedLocation(vehicle["lastLocation"] ?? .object([]))
      if location.coordinate == nil { found.append(.noPosition) }
      if let time = location.time {
        if let lastFix, time < lastFix { found.append(.backwards) }
        lastFix = time
      }
    }
    if named.contains("pastLocations"), let past = vehicle["pastLocations"]?.array {
      pastLocationCount += past.count
      if let lastFix, past.contains(where: { ReportedLocation($0).time.map { $0 > lastFix } ?? false }) {
        found.append(.pastIsNewer)
      }
    }
    for warning in found { warnings[warning, default: 0] += 1 }
    return found
  }

  /// For `/debug/stats`; gaps in milliseconds.
  package var json: JSON {
    var result: JSON = [
      "accepted": JSON(acceptedCount),
      "refused": .object(refusedByStatus.sorted { $0.key < $1.key }.map { .init(String($0.key), JSON($0.value)) }),
      "tokens": JSON(issuedTokenCount), "token_requests": JSON(tokenRequests), "bytes_in": JSON(receivedBytes),
      "bytes_accepted": JSON(acceptedBytes),
      "past_locations": JSON(pastLocationCount),
      "warnings": .object(Warning.allCases.map { .init($0.rawValue, JSON(warnings[$0] ?? 0)) }),
    ]
    if let state { result["state"] = .string(state) }
    if let lastUpdate { result["last_update"] = .string(RFC3339.text(milliseconds: lastUpdate.wall)) }
    if let lastFix { result["last_fix"] = .string(RFC3339.text(milliseconds: lastFix)) }
    if let minimumGap { result["minimum_gap_ms"] = JSON(minimumGap) }
    if let maximumGap { result["maximum_gap_ms"] = JSON(maximumGap) }
    return result
  }
}

/// The parts of a `DeliveryVehicleLocation` or `VehicleLocation` that say where and when, whichever of its fields the
/// sender chose.
struct ReportedLocation {
  /// Degrees, not rounded.
  let coordinate: (latitude: Double, longitude: Double)?
  /// Milliseconds since 1970.
  let time: Int64?
  /// Radius, metres.
  let accuracy: Double?

  init(_ location: JSON) {
    let fields = [
      ("supplementalLocation", "supplementalLocationTime", "supplementalLocationAccuracy"),
      ("location", "updateTime", "latlngAccuracy"),
      ("rawLocation", "rawLocationTime", "rawLocationAccuracy"),
      ("flpLocation", "flpUpdateTime", "flpLatlngAccuracyMeters"),
    ]
    let used = fields.first { location[$0.0] != nil }
    // protobuf omits a value of zero.
    coordinate = used.flatMap { location[$0.0] }.map {
      ($0["latitude"]?.double ?? 0, $0["longitude"]?.double ?? 0)
    }
    time = used.flatMap { location[$0.1]?.string }.flatMap(RFC3339.milliseconds)
    accuracy = used.flatMap { location[$0.2]?.double }
  }
}
