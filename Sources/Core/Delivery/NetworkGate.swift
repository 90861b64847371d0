// SPDX-License-Identifier: Apache-2.0
import Connectivity
import Timekeeping

/// Holds back what cannot arrive while there is no network at all, and is not taken in by a setup that works all the same:
/// a route to one host, a proxy on the same link. Such a setup is tried every few minutes, and once it has worked it is used
/// like any other until it fails.
struct NetworkGate: Sendable {
  /// Between two tries without a network.
  static let probe = Duration.seconds(180)

  /// What a new state means.
  enum Change: Equatable {
    case none
    case lost
    case back(after: Duration)
    /// Another address or way: connections may be dead.
    case moved
  }

  private var state: NetworkState?
  /// Since when there has been no network; nil when there is one, or none is needed, or nobody can tell.
  private(set) var absentSince: BootInstant?
  private var heldUntil = BootInstant.boot
  /// Somebody has answered although no network is to be seen.
  private var isProvenWrong = false

  init() {}

  var isAbsent: Bool { absentSince != nil }

  /// The earliest time of the next try.
  var earliest: BootInstant { isAbsent ? heldUntil : .boot }

  /// - Parameter isNeeded: false when all that is asked of a network is the loopback.
  mutating func take(_ new: NetworkState, isNeeded: Bool, at now: BootInstant) -> Change {
    guard isNeeded else {
      self = NetworkGate()
      return .none
    }
    let old = state
    state = new
    let hasMoved = old.map { new.mayHaveBroken($0) } ?? false
    if new.isUsable {
      let since = absentSince
      absentSince = nil
      isProvenWrong = false
      if let since { return .back(after: now - since) }
      return hasMoved ? .moved : .none
    }
    // What has worked without a network that can be seen says nothing of what works without the one that was there.
    if old?.isUsable == true { isProvenWrong = false }
    guard !isAbsent, !isProvenWrong else { return hasMoved ? .moved : .none }
    absentSince = now
    // At the start nothing has been tried yet: once is cheap.
    heldUntil = old == nil ? now : now + NetworkGate.probe
    return .lost
  }

  /// Fleet Engine has answered.
  mutating func reached() {
    guard isAbsent else { return }
    absentSince = nil
    isProvenWrong = true
  }

  /// Fleet Engine or the token provider could not be reached.
  mutating func failed(at now: BootInstant) {
    if isProvenWrong {
      isProvenWrong = false
      absentSince = now
    }
    if isAbsent { heldUntil = now + NetworkGate.probe }
  }
}
