// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Keeps a picture of the network by asking the kernel: at the start, and again whenever a notification says something
/// new.
///
/// The picture is always one dump of links, addresses and routes, never patched from notifications: the kernel drops the
/// routes of a link that goes down without telling, and under load it drops notifications.
package struct NetworkSurvey: Sendable {
  /// What happens: datagrams of the kernel, or none in time.
  package enum Input: Sendable {
    case start
    /// One datagram of the kernel's.
    case received([UInt8])
    /// Datagrams were lost: ENOBUFS, or one that was longer than the buffer.
    case overrun
    /// `nextDeadline` has come.
    case deadline
  }

  /// A question to the kernel, or what the network has come to.
  package enum Effect: Equatable, Sendable {
    /// Ask for all of these.
    case request(Subject, sequence: UInt32)
    /// The network as it is now: the first time, and when it differs.
    case state(NetworkState)
  }

  /// RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE.
  package enum Subject: UInt16, Sendable {
    case links = 18
    case addresses = 22
    case routes = 26

    fileprivate var next: Subject? {
      switch self {
      case .links: .addresses
      case .addresses: .routes
      case .routes: nil
      }
    }
  }

  /// Changes come in bursts: an address goes, another comes, then the routes.
  package static let settling = Duration.milliseconds(100)
  /// A dump that has not ended in this time has lost its end.
  package static let patience = Duration.seconds(5)

  /// So many dumps in a row may be in vain because something changed meanwhile.
  private static let tornInARow = 4

  private enum Phase {
    case idle
    case settling(until: BootInstant)
    case asking(Subject, until: BootInstant)
  }

  private var phase = Phase.idle
  private var sequence: UInt32 = 0
  /// As of the last dump that was whole.
  private var table = NetworkTable()
  private var draft = NetworkTable()
  /// Something changed while a dump was under way.
  private var isStale = false
  private var state: NetworkState?
  /// Dumps during which something changed, in a row.
  private var torn = 0

  package init() {}

  package var nextDeadline: BootInstant? {
    switch phase {
    case .idle: nil
    case .settling(let until), .asking(_, let until): until
    }
  }

  /// Takes what happened, and returns what is to be done, in this order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    switch input {
    case .start: return begin(at: now)
    case .overrun:
      // A dump that is under way may have lost a part; its answers are not waited for.
      settle(at: now)
      return []
    case .deadline:
      guard let nextDeadline, now >= nextDeadline else { return [] }
      return begin(at: now)
    case .received(let datagram):
      var effects: [Effect] = []
      for (header, message) in NetlinkMessage.decode(datagram) { take(header, message, at: now, &effects) }
      return effects
    }
  }

  private mutating func settle(at now: BootInstant) {
    // From the first change on: a link that flaps without end must not put it off for ever.
    if case .settling = phase { return }
    phase = .settling(until: now + NetworkSurvey.settling)
  }

  private mutating func begin(at now: BootInstant) -> [Effect] {
    draft = NetworkTable()
    isStale = false
    return ask(.links, at: now)
  }

  private mutating func ask(_ subject: Subject, at now: BootInstant) -> [Effect] {
    sequence &+= 1
    phase = .asking(subject, until: now + NetworkSurvey.patience)
    return [.request(subject, sequence: sequence)]
  }

  private mutating func take(
    _ header: NetlinkMessage.Header, _ message: NetlinkMessage, at now: BootInstant, _ effects: inout [Effect]
  ) {
    if message == .overrun { return settle(at: now) }
    if case .refused = message {
      // Only a dump of ours can be refused: EBUSY, EINTR. It is tried again, slowly.
      if case .asking = phase, header.sequence == sequence { phase = .settling(until: now + NetworkSurvey.patience) }
      return
    }
    guard header.isOfDump else {
      notice(message, at: now)
      return
    }
    guard case .asking(let subject, _) = phase, header.sequence == sequence else { return }
    if header.isInterrupted { isStale = true }
    guard message == .done else { return draft.add(message) }
    if let next = subject.next {
      effects += ask(next, at: now)
    } else {
      finish(at: now, &effects)
    }
  }

  private mutating func notice(_ message: NetlinkMessage, at now: BootInstant) {
    switch phase {
    case .idle: if table.isNews(message) { settle(at: now) }
    case .settling: break
    // What the dump has told so far may be older or newer than this.
    case .asking: if table.isNews(message) || draft.isNews(message) { isStale = true }
    }
  }

  private mutating func finish(at now: BootInstant, _ effects: inout [Effect]) {
    table = draft
    draft = NetworkTable()
    phase = .idle
    if isStale {
      settle(at: now)
      // Part of it is older than the rest. But where something changes all the time, that has to do.
      torn += 1
      if torn < NetworkSurvey.tornInARow { return }
    }
    torn = 0
    guard table.state != state else { return }
    state = table.state
    effects.append(.state(table.state))
  }
}
