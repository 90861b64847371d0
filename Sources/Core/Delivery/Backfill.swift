// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import Timekeeping

/// Decides which positions of the backlog ride along with a live one, and finds those that the server refuses.
///
/// A refusal of a request that carried some proves nothing yet: the same without them follows at once, so that the live
/// position is late by no more than that. If it is accepted, the ones that were carried are halved until one stands alone;
/// between two halves the live position goes alone. So one in n costs at most log2 n + 2 refusals.
struct Backfill: Sendable {
  /// What past positions may add to one request, in bytes. A hundred of a usual receiver are 26 kB; at the edge of
  /// a cell, where 40 kbit/s go up, 32 kB take 7 s of the request's 15, and leave time for a handshake.
  static let largestBody = 32_768
  /// A network that fails gets no fewer than so many: less than the handshake costs is not worth saving.
  static let fewest = 8
  /// Refusals one by one, after which it is asked whether the server takes any past position at all.
  private static let doubt = 3

  /// A refusal that may be the backlog's fault: the same without it decides.
  private enum Suspicion {
    case denied(AccessToken)
    case rejected([Backlog.ID], AccessToken)
  }

  /// One position was refused when none has been accepted yet: others tell whether it is that one, or all.
  private struct Trial {
    var culprit: Backlog.ID
    /// Others to try, one by one.
    var controls: [Backlog.ID]
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
  private var trial: Trial?
  /// The server takes past positions: one of them has been accepted.
  private var isProven = false
  private var refusedInRow = 0
  /// The server refuses past positions with this token.
  private var deniedWith: AccessToken?

  init(limit: Int, endpoint: FleetEngineEndpoint) {
    self.limit = limit
    self.endpoint = endpoint
    size = limit
  }

  /// Whether the server refuses all past positions with this token.
  func isDenied(with token: AccessToken?) -> Bool {
    guard let deniedWith else { return false }
    return token == nil || token == deniedWith
  }

  /// What goes with the next request, oldest first.
  ///
  /// - Parameter sendable: the records that may go, oldest first.
  mutating func select(from sendable: ArraySlice<Backlog.Record>, with token: AccessToken) -> [Backlog.Record] {
    guard suspicion == nil, !isDenied(with: token), let first = sendable.first else { return [] }
    if let trial {
      let controls = Set(trial.controls)
      if let control = sendable.first(where: { controls.contains($0.id) }) { return [control] }
      self.trial = nil
      return [first]
    }
    if !suspects.isEmpty {
      let among = Set(suspects)
      let left = sendable.filter { among.contains($0.id) }
      suspects = left.map(\.id)
      if !left.isEmpty { return Array(left.prefix(max(left.count / 2, 1))) }
    }
    var bytes = 0
    let most = max(min(size, ceiling ?? limit), 1)
    return Array(
      sendable.prefix(most).prefix { record in
        bytes += endpoint.size(ofPast: record.location)
        return bytes <= Backfill.largestBody || record.id == first.id
      })
  }

  /// A request was accepted that carried these.
  ///
  /// - Returns: a record that the server refuses, if that is known now.
  mutating func accepted(_ carried: [Backlog.ID]) -> Backlog.ID? {
    suspicion = nil
    isProven = true
    refusedInRow = 0
    if let culprit = trial?.culprit {
      trial = nil
      return culprit
    }
    guard !suspects.isEmpty else {
      size = min(limit, max(size, 1) * 2)
      return nil
    }
    largestPassed = max(largestPassed, carried.count)
    let passed = Set(carried)
    suspects.removeAll { passed.contains($0) }
    guard suspects.isEmpty else { return nil }
    // Once may be chance, or another cause; twice is a limit that nobody has told.
    harmless += 1
    if harmless > 1 { ceiling = min(ceiling ?? limit, largestPassed) }
    size = largestPassed
    return nil
  }

  /// A request was accepted that carried none.
  ///
  /// - Parameter sendable: the records that may go, oldest first.
  /// - Returns: a record that the server refuses, if that is known now.
  mutating func acceptedAlone(_ sendable: ArraySlice<Backlog.Record>) -> Backlog.ID? {
    guard let suspicion else { return nil }
    self.suspicion = nil
    guard case .rejected(let carried, let token) = suspicion else {
      if case .denied(let token) = suspicion { deny(token) }
      return nil
    }
    if carried.count == 1, let only = carried.first { return convict(only, with: token, among: sendable) }
    if suspects.isEmpty { largestPassed = 0 }
    suspects = carried
    return nil
  }

  private mutating func convict(
    _ refused: Backlog.ID, with token: AccessToken, among sendable: ArraySlice<Backlog.Record>
  ) -> Backlog.ID? {
    suspects = []
    size = 1
    if trial != nil {
      trial?.controls.removeAll { $0 == refused }
    } else {
      refusedInRow += 1
      if refusedInRow > Backfill.doubt { isProven = false }
      guard !isProven else { return refused }
      let others = sendable.filter { $0.id != refused }
      let middle = others.isEmpty ? nil : others[others.count / 2]
      trial = Trial(culprit: refused, controls: [others.first, middle, others.last].compactMap { $0?.id })
    }
    // With none left to ask, the server refuses all; perhaps not with another token.
    if trial?.controls.isEmpty == true { deny(token) }
    return nil
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
        return false
      }
      suspicion = suspected == .notPermitted ? .denied(token) : .rejected(carried, token)
      return true
    case .tooMany:
      // It may be too much for this network: the live position must get through.
      if !carried.isEmpty { size = max(size / 2, min(Backfill.fewest, size)) }
      return false
    case .notSuspect: return false
    }
  }

  private mutating func deny(_ token: AccessToken) {
    deniedWith = token
    isProven = false
    refusedInRow = 0
    suspects = []
    trial = nil
  }
}
