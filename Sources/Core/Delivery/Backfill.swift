// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import Timekeeping

/// Decides which positions of the backlog ride along with a live one, and finds those that the server refuses.
///
/// A refusal of a request that carried some proves nothing yet: the same without them follows at once, so that the live
/// position is late by no more than that. If it is accepted, the ones that were carried are halved until one is refused alone;
/// between two halves the live position goes alone. So one in n costs at most log2 n + 2 refusals until it is found.
///
/// One that was refused alone is suspended, and the others go on without it. That counts against it once a past position that
/// the server is known to take, the one delivered last, was accepted as well; if that is refused too, the server takes none
/// for the time being. After some good answers the suspended one is tried again. It is given up when that has happened
/// `refusals` times, and no refusal in all that time had another cause.
struct Backfill: Sendable {
  /// What past positions may add to one request, in bytes. A hundred of a usual receiver are 26 kB; at the edge of
  /// a cell, where 40 kbit/s go up, 32 kB take 7 s of the request's 15, and leave time for a handshake.
  static let largestBody = 32_768
  /// A network that fails gets no fewer than so many: less than the handshake costs is not worth saving.
  static let fewest = 8
  /// So often a position is refused before it is given up. At the worst rate of random refusals, one in ten,
  /// fewer than one in 10,000 of the good positions that were refused alone are given up.
  static let refusals = 3
  /// Good answers before a suspended position is tried again; twice as many each time.
  static let goodAnswers = 8
  private static let mostGoodAnswers = 128
  /// How long a server that refuses all past positions is sent none; twice as long each time.
  static let shortestDenial = Duration.seconds(120)
  private static let longestDenial = Duration.seconds(1920)

  /// A refusal that may be the backlog's fault: the same without it decides.
  private enum Suspicion {
    case denied(AccessToken)
    case rejected([Backlog.ID])
  }

  /// A position that was refused alone.
  private struct Suspended {
    let id: Backlog.ID
    /// How often that counted.
    var refusals = 0
    /// It was refused, and whether that counts is open.
    var isOpen = true
    /// Good answers since.
    var answers = 0
    /// Good answers to come before it is tried again.
    var wait = Backfill.goodAnswers

    var isReady: Bool { !isOpen && answers >= wait }
  }

  /// The server takes no past positions.
  private struct Denial {
    /// Another token may be allowed to send them.
    var token: AccessToken
    var until: BootInstant
  }

  /// The most in one request that the settings allow.
  private let limit: Int
  private let endpoint: FleetEngineEndpoint
  /// Positions for the next request.
  private var size: Int
  /// The most that the server takes, if that is less than `limit`.
  private var ceiling: Int?
  private var suspicion: Suspicion?
  /// Refused together, and one of them may be the cause; oldest first.
  private var suspects: [Backlog.ID] = []
  /// The most of the suspects that were accepted together.
  private var largestPassed = 0
  /// How many times all suspects were accepted in parts: then it was their number.
  private var harmless = 0
  private var suspended: [Suspended] = []
  /// A position that the server has, sent once more to see whether it takes past ones.
  private var control: Backlog.ID?
  private var denial: Denial?
  private var denialTime = shortestDenial

  init(limit: Int, endpoint: FleetEngineEndpoint) {
    self.limit = limit
    self.endpoint = endpoint
    size = limit
  }

  /// Until when the server gets no past positions with this token; nil when it gets some.
  func deniedUntil(with token: AccessToken?, at now: BootInstant) -> BootInstant? {
    guard let denial, now < denial.until, token == nil || token == denial.token else { return nil }
    return denial.until
  }

  /// Whether any of these would go, if the server took past positions.
  func hasWork(among sendable: ArraySlice<Backlog.Record>) -> Bool {
    guard !suspended.isEmpty, sendable.count <= suspended.count else { return !sendable.isEmpty }
    return sendable.contains { record in suspended.first { $0.id == record.id }.map { $0.isOpen || $0.isReady } ?? true
    }
  }

  /// What goes with the next request, oldest first.
  ///
  /// - Parameters:
  ///   - sendable: the records that may go, oldest first.
  ///   - delivered: one that the server has, from before the live position; nil where there is none.
  mutating func select(
    from sendable: ArraySlice<Backlog.Record>, delivered: VehicleLocation?, with token: AccessToken, at now: BootInstant
  ) -> [Backlog.Record] {
    control = nil
    guard suspicion == nil, deniedUntil(with: token, at: now) == nil, !sendable.isEmpty else { return [] }
    if !suspects.isEmpty {
      let among = Set(suspects)
      let left = sendable.filter { among.contains($0.id) }
      suspects = left.map(\.id)
      if !left.isEmpty { return Array(left.prefix(max(left.count / 2, 1))) }
    }
    var others = sendable
    if !suspended.isEmpty {
      let held = Set(sendable.map(\.id))
      suspended.removeAll { !held.contains($0.id) }
      let ids = Set(suspended.map(\.id))
      others = ArraySlice(sendable.filter { !ids.contains($0.id) })
      if suspended.contains(where: \.isOpen) {
        if let delivered {
          control = delivered.time
          return [Backlog.Record(delivered)]
        }
        // Nothing that could be sent settles whether the refusal counts: it does not.
        if others.isEmpty { for index in suspended.indices { suspended[index].isOpen = false } }
      }
      if let next = suspended.first(where: \.isReady) { return sendable.filter { $0.id == next.id } }
    }
    guard let first = others.first else { return [] }
    var bytes = 0
    let most = max(min(size, ceiling ?? limit), 1)
    return Array(
      others.prefix(most).prefix { record in
        bytes += endpoint.size(ofPast: record.location)
        return bytes <= Backfill.largestBody || record.id == first.id
      })
  }

  /// Whether what `select` gave last is a position that the server has already.
  var isControl: Bool { control != nil }

  /// A request was accepted that carried these.
  ///
  /// - Returns: records that the server refuses, if that is known now.
  mutating func accepted(_ carried: [Backlog.ID]) -> [Backlog.ID] {
    suspicion = nil
    denial = nil
    denialTime = Backfill.shortestDenial
    let passed = Set(carried)
    if let index = suspended.firstIndex(where: { passed.contains($0.id) }) {
      // It was refused for another reason, and so may the others have been.
      suspended.remove(at: index)
      pardon()
    }
    let refused = confirm()
    countGoodAnswer()
    guard control == nil else { return refused }
    guard !suspects.isEmpty else {
      size = min(limit, max(size, 1) * 2)
      return refused
    }
    largestPassed = max(largestPassed, carried.count)
    suspects.removeAll { passed.contains($0) }
    guard suspects.isEmpty else { return refused }
    // Once may be chance, or another cause; twice is a limit that the server does not state.
    pardon()
    harmless += 1
    if harmless > 1 { ceiling = min(ceiling ?? limit, largestPassed) }
    size = largestPassed
    return refused
  }

  /// A request was accepted that carried none.
  mutating func acceptedAlone(at now: BootInstant) {
    countGoodAnswer()
    guard let suspicion else { return }
    self.suspicion = nil
    switch suspicion {
    case .denied(let token): deny(token, at: now)
    case .rejected(let carried):
      guard carried.count == 1, let only = carried.first else {
        if suspects.isEmpty { largestPassed = 0 }
        suspects = carried
        return
      }
      suspects = []
      size = 1
      if let index = suspended.firstIndex(where: { $0.id == only }) {
        suspended[index].wait = min(suspended[index].wait * 2, Backfill.mostGoodAnswers)
        (suspended[index].answers, suspended[index].isOpen) = (0, true)
      } else {
        suspended.append(Suspended(id: only))
      }
    }
  }

  /// A request was not accepted.
  ///
  /// - Parameter suspected: what the failure says of the positions that it carried.
  /// - Returns: whether it is to be sent again without what it carried, before anything else is blamed.
  mutating func failed(
    _ carried: [Backlog.ID], _ suspected: UpdateFailure.Category.PastPositions, with token: AccessToken
  ) -> Bool {
    switch suspected {
    case .notPermitted, .rejected:
      guard suspicion == nil, !carried.isEmpty else {
        // The live position alone is refused as well: the backlog is not the cause, or not the only one.
        suspicion = nil
        if suspected == .rejected { pardon() }
        return false
      }
      // One that the server has taken before is not what it refuses.
      suspicion = suspected == .notPermitted || isControl ? .denied(token) : .rejected(carried)
      return true
    case .tooMany:
      // It may be too much for this network: the live position must get through.
      if !carried.isEmpty { size = max(size / 2, min(Backfill.fewest, size)) }
      return false
    case .notSuspect: return false
    }
  }

  // MARK: - Suspended positions

  /// The server takes past positions: it was these that it refused.
  ///
  /// - Returns: those that have been refused often enough.
  private mutating func confirm() -> [Backlog.ID] {
    for index in suspended.indices where suspended[index].isOpen {
      suspended[index].refusals += 1
      suspended[index].isOpen = false
    }
    let refused = suspended.filter { $0.refusals >= Backfill.refusals }.map(\.id)
    suspended.removeAll { $0.refusals >= Backfill.refusals }
    return refused
  }

  private mutating func countGoodAnswer() {
    for index in suspended.indices where !suspended[index].isOpen { suspended[index].answers += 1 }
  }

  /// Something was refused that is no position's fault: what was before proves nothing.
  private mutating func pardon() {
    for index in suspended.indices {
      (suspended[index].refusals, suspended[index].isOpen) = (0, false)
      suspended[index].wait = Backfill.goodAnswers
    }
  }

  private mutating func deny(_ token: AccessToken, at now: BootInstant) {
    denial = Denial(token: token, until: now + denialTime)
    denialTime = min(denialTime + denialTime, Backfill.longestDenial)
    suspects = []
    for index in suspended.indices { suspended[index].isOpen = false }
  }
}
