// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Determines the state of the network by dumping the kernel's tables: at the start, and after each relevant
/// notification.
///
/// The state always comes from one complete dump of links, addresses and routes, and is never updated from
/// notifications: when a link goes down, the kernel removes its routes without a notification, and it drops
/// notifications under load.
package struct NetworkSurvey: Sendable {
  /// Events: datagrams of the kernel, or a timeout.
  package enum Input: Sendable {
    case start
    /// A datagram of the kernel.
    case received([UInt8])
    /// Datagrams were lost: ENOBUFS, or one was larger than the buffer.
    case overrun
    /// `nextDeadline` has passed.
    case deadline
  }

  /// A request to the kernel, or a new state.
  package enum Effect: Equatable, Sendable {
    /// Dump this table.
    case request(DumpRequest, sequence: UInt32)
    /// The state of the network: initially, and after each change.
    case state(NetworkState)
  }

  /// RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE.
  package enum DumpRequest: UInt16, Sendable {
    case links = 18
    case addresses = 22
    case routes = 26

    fileprivate var next: DumpRequest? {
      switch self {
      case .links: .addresses
      case .addresses: .routes
      case .routes: nil
      }
    }
  }

  /// Debounce: changes come in bursts of addresses and routes.
  package static let debounceInterval = Duration.milliseconds(100)
  /// The timeout of a dump.
  package static let dumpTimeout = Duration.seconds(5)

  /// Maximum number of consecutive inconsistent dumps.
  private static let maximumInconsistentDumps = 4

  private enum Phase {
    case idle
    case settling(until: BootInstant)
    case dumping(DumpRequest, until: BootInstant)
  }

  private var phase = Phase.idle
  private var sequence: UInt32 = 0
  /// From the last consistent dump.
  private var table = NetworkTable()
  private var draft = NetworkTable()
  /// There was a change during the current dump.
  private var isStale = false
  private var state: NetworkState?
  /// Consecutive inconsistent dumps.
  private var inconsistentDumps = 0

  package init() {}

  package var nextDeadline: BootInstant? {
    switch phase {
    case .idle: nil
    case .settling(let until), .dumping(_, let until): until
    }
  }

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    switch input {
    case .start: return begin(at: now)
    case .overrun:
      // A part of the current dump may be lost: the dump is abandoned.
      settle(at: now)
      return []
    case .deadline:
      guard let nextDeadline, now >= nextDeadline else { return [] }
      return begin(at: now)
    case .received(let datagram):
      var effects: [Effect] = []
      for (header, message) in NetlinkMessage.decode(datagram) { process(header, message, at: now, &effects) }
      return effects
    }
  }

  private mutating func settle(at now: BootInstant) {
    // The time runs from the first change on, so that a flapping link cannot postpone the dump forever.
    if case .settling = phase { return }
    phase = .settling(until: now + NetworkSurvey.debounceInterval)
  }

  private mutating func begin(at now: BootInstant) -> [Effect] {
    draft = NetworkTable()
    isStale = false
    return requestDump(.links, at: now)
  }

  private mutating func requestDump(_ request: DumpRequest, at now: BootInstant) -> [Effect] {
    sequence &+= 1
    phase = .dumping(request, until: now + NetworkSurvey.dumpTimeout)
    return [.request(request, sequence: sequence)]
  }

  private mutating func process(
    _ header: NetlinkMessage.Header, _ message: NetlinkMessage, at now: BootInstant, _ effects: inout [Effect]
  ) {
    if message == .overrun { return settle(at: now) }
    if case .refused = message {
      // Only requests of this program can be rejected: EBUSY, EINTR. They are repeated slowly.
      if case .dumping = phase, header.sequence == sequence {
        phase = .settling(until: now + NetworkSurvey.dumpTimeout)
      }
      return
    }
    guard header.isPartOfDump else {
      handleNotification(message, at: now)
      return
    }
    guard case .dumping(let request, _) = phase, header.sequence == sequence else { return }
    if header.isInterrupted { isStale = true }
    guard message == .done else { return draft.add(message) }
    if let next = request.next {
      effects += requestDump(next, at: now)
    } else {
      finish(at: now, &effects)
    }
  }

  private mutating func handleNotification(_ message: NetlinkMessage, at now: BootInstant) {
    switch phase {
    case .idle: if table.isChange(message) { settle(at: now) }
    case .settling: break
    // The dump so far may be older or newer than this.
    case .dumping: if table.isChange(message) || draft.isChange(message) { isStale = true }
    }
  }

  private mutating func finish(at now: BootInstant, _ effects: inout [Effect]) {
    table = draft
    draft = NetworkTable()
    phase = .idle
    if isStale {
      settle(at: now)
      // The dump is inconsistent. If changes never cease, it has to suffice.
      inconsistentDumps += 1
      if inconsistentDumps < NetworkSurvey.maximumInconsistentDumps { return }
    }
    inconsistentDumps = 0
    guard table.state != state else { return }
    state = table.state
    effects.append(.state(table.state))
  }
}
