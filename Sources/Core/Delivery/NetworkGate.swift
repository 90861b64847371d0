// SPDX-License-Identifier: Apache-2.0
import Connectivity
import Timekeeping

/// Suppresses attempts while no default route exists, with a probe every 3 min in case the kernel's view is incomplete: a
/// route to one host, a proxy on the same link. Once a probe was answered, nothing is suppressed until an attempt fails.
struct NetworkGate: Sendable {
  /// Between two attempts without a network.
  static let probe = Duration.seconds(180)

  /// What a new state means.
  enum Change: Equatable {
    case none
    case lost
    case back(after: Duration)
    /// Another address or route: connections may be dead.
    case moved
  }

  private var state: NetworkState?
  /// Since when there has been no network; nil when there is one, or none is needed, or it is not known.
  private(set) var absentSince: BootInstant?
  private var suppressedUntil = BootInstant.boot
  /// A server has answered although no network is visible.
  private var isProvenWrong = false

  init() {}

  var isAbsent: Bool { absentSince != nil }

  /// The earliest time of the next attempt.
  var earliest: BootInstant { isAbsent ? suppressedUntil : .boot }

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
    // What worked without a visible network says nothing about what works without the one that was there.
    if old?.isUsable == true { isProvenWrong = false }
    guard !isAbsent, !isProvenWrong else { return hasMoved ? .moved : .none }
    absentSince = now
    // At the start nothing has been tried yet: once is cheap.
    suppressedUntil = old == nil ? now : now + NetworkGate.probe
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
    if isAbsent { suppressedUntil = now + NetworkGate.probe }
  }
}
