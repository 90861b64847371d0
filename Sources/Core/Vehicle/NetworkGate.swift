// SPDX-License-Identifier: Apache-2.0
import Connectivity
import Timekeeping

/// Suppresses attempts while no default route exists, with a probe every 3 min in case the kernel's view is incomplete
/// (a host route, a proxy on the same link). After a successful probe nothing is suppressed until an attempt fails.
struct NetworkGate: Sendable {
  /// The time between two probes.
  static let probeInterval = Duration.seconds(180)

  /// The effect of a new network state.
  enum Change: Equatable {
    case none
    case lost
    case back(after: Duration)
    /// An address or route has changed: connections may be dead.
    case pathChanged
  }

  private var state: NetworkState?
  /// When the network was found to be absent; nil if there is one, none is needed, or its state is unknown.
  private(set) var absentSince: BootInstant?
  private var suppressedUntil = BootInstant.boot
  /// A server has answered although there is no default route.
  private var isContradicted = false
  /// How long no server could be reached.
  var outage = NetworkOutage()

  init() {}

  var isAbsent: Bool { absentSince != nil }

  /// There is no network, because this process has no interface but the loopback.
  var isIsolated: Bool { isAbsent && state?.isIsolated == true }

  /// The earliest time of the next attempt.
  var earliest: BootInstant { isAbsent ? suppressedUntil : .boot }

  /// - Parameter isNeeded: false if only the loopback is needed.
  mutating func update(_ new: NetworkState, isNeeded: Bool, at now: BootInstant) -> Change {
    guard isNeeded else {
      reset()
      return .none
    }
    let old = state
    state = new
    let hasPathChanged = old.map { new.mayInvalidateConnections(of: $0) } ?? false
    if new.isUsable {
      let since = absentSince
      absentSince = nil
      isContradicted = false
      if let since { return .back(after: now - since) }
      return hasPathChanged ? .pathChanged : .none
    }
    // An earlier success without a visible network proves nothing once a visible network has been lost.
    if old?.isUsable == true { isContradicted = false }
    guard !isAbsent, !isContradicted else { return hasPathChanged ? .pathChanged : .none }
    absentSince = now
    // At the start nothing has been tried yet: one attempt is allowed.
    suppressedUntil = old == nil ? now : now + NetworkGate.probeInterval
    return .lost
  }

  /// No network is needed.
  mutating func reset() {
    let outage = outage
    self = NetworkGate()
    self.outage = outage
  }

  /// Fleet Engine has answered.
  mutating func reached() {
    guard isAbsent else { return }
    absentSince = nil
    isContradicted = true
  }

  /// Fleet Engine or the token provider could not be reached.
  mutating func failed(at now: BootInstant) {
    if isContradicted {
      isContradicted = false
      absentSince = now
    }
    if isAbsent { suppressedUntil = now + NetworkGate.probeInterval }
  }
}
