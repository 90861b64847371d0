// SPDX-License-Identifier: Apache-2.0
package import Authorization
package import FleetEngine
package import Timekeeping

/// Selects the positions of the backlog that go with a live one, and isolates those that the server rejects.
///
/// A rejected request with past positions proves nothing yet: the same request without them follows at once, so the
/// live position is not delayed further. If that is accepted, the past positions are bisected until a request with a
/// single one is rejected; between two halves a request has only the live position. One bad position in n costs at most
/// log2 n + 2 rejections.
///
/// A position that was rejected as the only past one is quarantined, and the others are sent without it. The rejection
/// counts once a control position was accepted: the position delivered last, sent again as a past position. If that is
/// rejected too, the server accepts no past positions for now, and backfill is suspended. After some accepted updates
/// the quarantined position is tried again. It is dropped after `rejectionsBeforeDrop` counted rejections; a rejection
/// that no past position can have caused resets the count.
///
/// If the server also denies a request without past positions, what it denies is the token, and the next requests have
/// no past positions until one is accepted.
///
/// Any other failure, such as 500 or no response, may be an outage, but past positions can cause it too. So after
/// `failuresBeforeTest` of them in a row the next request has only the live position. If that fails too, it is an
/// outage, and nothing follows. If it is accepted, and so are those after the next two failures, the past positions are
/// bisected as after a rejection. But such a failure never counts toward a drop: the position stays in the backlog
/// until it is accepted or too old.
package struct Backfill: Sendable {
  /// The maximum size of the past positions in one request, in bytes. A hundred positions of a typical receiver are 26
  /// kB. At the edge of a cell, with 40 kbit/s of uplink, 32 kB take 7 s of the 15 s timeout, which leaves time for a
  /// handshake.
  static let maximumPastBytes = 32_768
  /// The batch size is not reduced below this on a failing network: smaller requests save less than the handshake
  /// costs.
  static let minimumBatch = 8
  /// Unexplained failures in a row before a request without past positions.
  static let failuresBeforeTest = 4
  /// Counted rejections before a position is dropped. Random rejections are worst if one request in ten is rejected:
  /// even then, fewer than one in 10,000 of the good positions that are sent alone are dropped.
  static let rejectionsBeforeDrop = 3
  /// Accepted updates before a quarantined position is tried again; doubles each time, up to
  /// `maximumAcceptancesBeforeRetry`.
  static let acceptancesBeforeRetry = 8
  private static let maximumAcceptancesBeforeRetry = 128
  private static let initialAcceptancesBeforeRaise = 64
  private static let maximumAcceptancesBeforeRaise = 1024
  /// How long backfill is suspended after the server rejected a control position or responded PERMISSION_DENIED;
  /// doubles each time, up to `maximumSuspension`.
  static let minimumSuspension = Duration.seconds(120)
  private static let maximumSuspension = Duration.seconds(1920)

  /// A failed request with past positions: the request without them shows whether they are the cause.
  private enum UnresolvedFailure {
    case notPermitted(AccessToken)
    case rejected([Backlog.ID])
    /// A failure that the server did not explain, after an accepted request.
    case unexplained([Backlog.ID])
    /// The same, and the past position was the control position.
    case unexplainedControl(AccessToken)
    /// Unexplained failures in a row: an acceptance now may be the end of an outage, or there were too many positions
    /// for the network.
    case inconclusive

    /// Whether it may be an outage: then nothing follows if the request without past positions fails too.
    var mayBeOutage: Bool {
      switch self {
      case .notPermitted, .rejected: false
      case .unexplained, .unexplainedControl, .inconclusive: true
      }
    }
  }

  /// A position with which a request failed that had no other past ones.
  private struct Quarantined {
    let id: Backlog.ID
    /// Whether the server rejected it the last time; otherwise the failure was unexplained, and does not count.
    var isRejected: Bool
    var countedRejections = 0
    /// The last rejection may still count: the control position decides.
    var isUndecided = true
    /// Accepted updates since the last rejection.
    var acceptances = 0
    /// Accepted updates before it is tried again.
    var acceptancesBeforeRetry = Backfill.acceptancesBeforeRetry

    var isReady: Bool { !isUndecided && acceptances >= acceptancesBeforeRetry }
  }

  /// The maximum number of past positions that the server seems to accept.
  private struct Ceiling {
    let count: Int
    /// Accepted requests with that many.
    var acceptances = 0
  }

  /// Backfill is suspended.
  private struct Suspension {
    /// Another token may be permitted to send past positions.
    var token: AccessToken
    var until: BootInstant
  }

  /// The maximum per request, from the settings.
  private let limit: Int
  private let endpoint: FleetEngineEndpoint
  /// Measured when past positions are first sent.
  private var pastSizes: PastPositionSizes?
  /// The current batch size.
  private var batchSize: Int
  /// A limit of the server that it does not document, below `limit`; nil if none was found.
  private var ceiling: Ceiling?
  /// The number of accepted requests with as many positions as the ceiling before more are tried; doubles each time a
  /// ceiling is found.
  private var acceptancesBeforeRaise = Backfill.initialAcceptancesBeforeRaise
  private var unresolved: UnresolvedFailure?
  /// Unexplained failures of requests with past positions since one was accepted, or since one without them failed;
  /// from `failuresBeforeTest` on, a request without them was accepted between two of them.
  private var unexplainedFailures = 0
  private var wasLastAccepted = false
  /// Positions with which a request failed, at least one of which is bad; oldest first.
  private var suspects: [Backlog.ID] = []
  /// The largest number of suspects that was accepted together.
  private var largestAcceptedPart = 0
  /// Whether a part of the suspects was made smaller because of a failing network: then its size says nothing about the
  /// server.
  private var isPartReduced = false
  /// How often all suspects were accepted in parts: then their number was the cause.
  private var acceptancesInParts = 0
  private var quarantined: [Quarantined] = []
  /// A delivered position that is sent again as a past one, to see whether the server accepts any.
  private var control: Backlog.ID?
  private var suspension: Suspension?
  /// The last request without past positions was denied: the next ones have none either until one is accepted.
  private var isTokenDenied = false
  private var suspensionTime = minimumSuspension

  package init(limit: Int, endpoint: FleetEngineEndpoint) {
    self.limit = limit
    self.endpoint = endpoint
    batchSize = limit
  }

  /// The time until which backfill is suspended for this token; nil if it is not.
  package func suspendedUntil(with token: AccessToken?, at now: BootInstant) -> BootInstant? {
    guard let suspension, now < suspension.until, token == nil || token == suspension.token else { return nil }
    return suspension.until
  }

  /// Whether any of these would be sent now.
  package func hasWork(among sendable: ArraySlice<Backlog.Record>) -> Bool {
    guard !quarantined.isEmpty, sendable.count <= quarantined.count else { return !sendable.isEmpty }
    return sendable.contains { record in
      quarantined.first { $0.id == record.id }.map { $0.isUndecided || $0.isReady } ?? true
    }
  }

  /// Selects the past positions of the next request, oldest first.
  ///
  /// - Parameters:
  ///   - sendable: the records that may be sent, oldest first.
  ///   - delivered: a delivered position from before the live one, as the control position; nil if there is none.
  package mutating func select(
    from sendable: ArraySlice<Backlog.Record>, delivered: VehicleLocation?, with token: AccessToken, at now: BootInstant
  ) -> [Backlog.Record] {
    control = nil
    guard unresolved == nil, !isTokenDenied, suspendedUntil(with: token, at: now) == nil, !sendable.isEmpty else {
      return []
    }
    if !suspects.isEmpty {
      let suspectIDs = Set(suspects)
      let remaining = sendable.filter { suspectIDs.contains($0.id) }
      suspects = remaining.map(\.id)
      // Half of them; fewer on a failing network, so that the live position gets through.
      if batchSize < remaining.count / 2 { isPartReduced = true }
      if !remaining.isEmpty { return Array(remaining.prefix(max(min(remaining.count / 2, batchSize), 1))) }
    }
    var others = sendable
    if !quarantined.isEmpty {
      let sendableIDs = Set(sendable.map(\.id))
      quarantined.removeAll { !sendableIDs.contains($0.id) }
      let quarantinedIDs = Set(quarantined.map(\.id))
      others = ArraySlice(sendable.filter { !quarantinedIDs.contains($0.id) })
      if quarantined.contains(where: \.isUndecided) {
        if let delivered {
          control = delivered.time
          return [Backlog.Record(delivered)]
        }
        // Nothing can be sent that would decide whether the rejection counts, so it does not.
        if others.isEmpty { for index in quarantined.indices { quarantined[index].isUndecided = false } }
      }
      if let next = quarantined.first(where: \.isReady) { return sendable.filter { $0.id == next.id } }
    }
    guard let first = others.first else { return [] }
    let sizes = pastSizes ?? endpoint.pastPositionSizes()
    pastSizes = sizes
    var bytes = 0
    let maximumCount = max(min(batchSize, ceiling?.count ?? limit), 1)
    return Array(
      others.prefix(maximumCount).prefix { record in
        bytes += sizes.size(of: record.location)
        return bytes <= Backfill.maximumPastBytes || record.id == first.id
      })
  }

  /// Whether `select` returned the control position.
  package var isControlSelected: Bool { control != nil }

  /// A request with these past positions was accepted.
  ///
  /// - Returns: records that the server is now known to reject.
  package mutating func accepted(_ carried: [Backlog.ID]) -> [Backlog.ID] {
    unresolved = nil
    unexplainedFailures = 0
    wasLastAccepted = true
    isTokenDenied = false
    suspension = nil
    suspensionTime = Backfill.minimumSuspension
    let passed = Set(carried)
    if let index = quarantined.firstIndex(where: { passed.contains($0.id) }) {
      // Its rejection had another cause, and so may those of the others.
      quarantined.remove(at: index)
      resetCounts()
    }
    let rejected = confirmRejections()
    countAcceptance()
    guard control == nil else { return rejected }
    batchSize = min(limit, max(batchSize, 1) * 2)
    guard !suspects.isEmpty else {
      updateCeiling(afterAccepting: carried.count)
      return rejected
    }
    largestAcceptedPart = max(largestAcceptedPart, carried.count)
    suspects.removeAll { passed.contains($0) }
    guard suspects.isEmpty else { return rejected }
    // Once may be chance, or have another cause; twice means a limit that the server does not document.
    resetCounts()
    if !isPartReduced { acceptancesInParts += 1 }
    isPartReduced = false
    if acceptancesInParts > 1 {
      ceiling = Ceiling(count: min(ceiling?.count ?? limit, largestAcceptedPart))
      acceptancesBeforeRaise = min(acceptancesBeforeRaise * 2, Backfill.maximumAcceptancesBeforeRaise)
    }
    batchSize = largestAcceptedPart
    return rejected
  }

  /// A request with this many was accepted at the first attempt: the ceiling may have been a coincidence.
  private mutating func updateCeiling(afterAccepting count: Int) {
    if count > largestAcceptedPart { acceptancesInParts = 0 }
    guard var ceiling, count >= ceiling.count else { return }
    ceiling.acceptances += 1
    if ceiling.acceptances < acceptancesBeforeRaise {
      self.ceiling = ceiling
    } else {
      self.ceiling = ceiling.count * 2 < limit ? Ceiling(count: ceiling.count * 2) : nil
    }
  }

  /// A request without past positions was accepted.
  ///
  /// - Returns: whether past positions are known to be the cause of the failure before it.
  package mutating func acceptedWithoutPast(at now: BootInstant) -> Bool {
    countAcceptance()
    isTokenDenied = false
    wasLastAccepted = true
    guard let unresolved else { return false }
    self.unresolved = nil
    switch unresolved {
    case .notPermitted(let token), .unexplainedControl(let token): suspend(token, at: now)
    case .rejected(let carried): isolate(carried, isRejected: true)
    case .unexplained(let carried): isolate(carried, isRejected: false)
    case .inconclusive: return false
    }
    return true
  }

  /// A request was not accepted.
  ///
  /// - Parameters:
  ///   - suspected: what the failure says about the past positions.
  ///   - wasSent: whether the request may have reached the server; if not, past positions are not the cause.
  /// - Returns: whether to send it again without them before treating it as a failure.
  package mutating func failed(
    _ carried: [Backlog.ID], _ suspected: UpdateFailure.Category.PastPositions, wasSent: Bool = true,
    with token: AccessToken
  ) -> Bool {
    defer { wasLastAccepted = false }
    if carried.isEmpty {
      unexplainedFailures = 0
      if unresolved?.mayBeOutage ?? false { unresolved = nil }
    }
    switch suspected {
    case .notPermitted, .rejected:
      guard unresolved == nil, !carried.isEmpty else {
        // The live position alone is rejected as well: the backlog is not the only cause.
        unresolved = nil
        if suspected == .rejected { resetCounts() }
        if suspected == .notPermitted, carried.isEmpty { isTokenDenied = true }
        return false
      }
      // The server accepted the control position before, so the position itself is not the cause.
      unresolved = suspected == .notPermitted || isControlSelected ? .notPermitted(token) : .rejected(carried)
      return true
    case .tooMany:
      guard !carried.isEmpty else { return false }
      // The request may be too large for this network: the live position has priority.
      if wasSent {
        failedUnexplained(carried, mayBeTooMany: carried.count > Backfill.minimumBatch, with: token)
      }
      batchSize = max(batchSize / 2, min(Backfill.minimumBatch, batchSize))
    case .unexplained:
      if wasSent, !carried.isEmpty { failedUnexplained(carried, mayBeTooMany: false, with: token) }
    case .notSuspect: break
    }
    return false
  }

  /// Decides whether the next request has no past positions, and what follows if it is accepted.
  private mutating func failedUnexplained(_ carried: [Backlog.ID], mayBeTooMany: Bool, with token: AccessToken) {
    // Once may be chance, on a connection that loses most requests.
    let limit = Backfill.failuresBeforeTest
    unexplainedFailures = min(unexplainedFailures + 1, limit + 2)
    let areSuspected =
      unexplainedFailures == limit + 2 || isControlSelected || !suspects.isEmpty
      || quarantined.contains { !$0.isRejected }
    if wasLastAccepted, areSuspected, !mayBeTooMany {
      unresolved = isControlSelected ? .unexplainedControl(token) : .unexplained(carried)
    } else if unexplainedFailures >= limit {
      unresolved = .inconclusive
    }
  }

  // MARK: - Isolation

  /// A request failed with these past positions, and was accepted without them.
  private mutating func isolate(_ carried: [Backlog.ID], isRejected: Bool) {
    guard carried.count == 1, let only = carried.first else {
      if suspects.isEmpty { (largestAcceptedPart, isPartReduced) = (0, false) }
      suspects = carried
      return
    }
    suspects = []
    batchSize = 1
    if let index = quarantined.firstIndex(where: { $0.id == only }) {
      quarantined[index].acceptancesBeforeRetry = min(
        quarantined[index].acceptancesBeforeRetry * 2, Backfill.maximumAcceptancesBeforeRetry)
      (quarantined[index].acceptances, quarantined[index].isUndecided) = (0, true)
      quarantined[index].isRejected = isRejected
    } else {
      quarantined.append(Quarantined(id: only, isRejected: isRejected))
    }
  }

  // MARK: - Quarantine

  /// The server accepts past positions: the pending rejections count.
  ///
  /// - Returns: the positions that have been rejected often enough.
  private mutating func confirmRejections() -> [Backlog.ID] {
    for index in quarantined.indices where quarantined[index].isUndecided {
      if quarantined[index].isRejected { quarantined[index].countedRejections += 1 }
      quarantined[index].isUndecided = false
    }
    let rejected = quarantined.filter { $0.countedRejections >= Backfill.rejectionsBeforeDrop }.map(\.id)
    quarantined.removeAll { $0.countedRejections >= Backfill.rejectionsBeforeDrop }
    return rejected
  }

  private mutating func countAcceptance() {
    for index in quarantined.indices where !quarantined[index].isUndecided { quarantined[index].acceptances += 1 }
  }

  /// A rejection had another cause: the counts so far prove nothing.
  private mutating func resetCounts() {
    for index in quarantined.indices {
      (quarantined[index].countedRejections, quarantined[index].isUndecided) = (0, false)
      quarantined[index].acceptancesBeforeRetry = Backfill.acceptancesBeforeRetry
    }
  }

  private mutating func suspend(_ token: AccessToken, at now: BootInstant) {
    suspension = Suspension(token: token, until: now + suspensionTime)
    suspensionTime = min(suspensionTime + suspensionTime, Backfill.maximumSuspension)
    suspects = []
    for index in quarantined.indices { quarantined[index].isUndecided = false }
  }
}
