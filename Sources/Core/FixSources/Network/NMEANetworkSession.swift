// SPDX-License-Identifier: Apache-2.0
import NMEA
import Positioning
package import ExternalInput
package import Timekeeping

/// Reads NMEA 0183 from the network: over an outgoing connection, from senders that connect, or from datagrams.
///
/// A sender is a receiver, or a router with a receiver. Each has its own decoder, so that sentences of two senders are
/// never combined into one epoch. The first sender with a fix is used until it disconnects or has no fix for the
/// silence timeout. Then the next sender with a fix is used; if its fixes are too far from the last position, it is
/// first held for a minute. `PortSupervisor` decides when to connect, to listen and to join the group. While no fix is
/// needed, data is only read and discarded now and then.
package struct NMEANetworkSession: ElapsedTimeSession {
  /// The transport of the sentences.
  package enum Transport: Equatable, Sendable {
    /// An outgoing connection.
    case connection
    /// Incoming connections, at most this many at once.
    case listener(maximumConnections: Int)
    /// - Parameter isMulticast: whether a multicast group is joined.
    case datagrams(isMulticast: Bool)
  }

  /// The state of a sender.
  private struct SenderState {
    let id: Int
    /// Nil for an outgoing connection.
    let address: IPAddress?
    /// The port that sends its datagrams; nil for connections.
    var port: Port?
    var decoder: NMEADecoder
    var sky = SatelliteCountReporter()
    /// When it connected, or the arrival of its first datagram.
    let firstSeenAt: BootInstant
    /// When its last complete sentence arrived; initially the same as `firstSeenAt`.
    var lastSentenceAt: BootInstant
    var lastFixAt: BootInstant?
    /// The position of its last reported fix.
    var lastPosition: Position?
    /// When the first of its fixes that are too far from the last position arrived; nil if they are not too far.
    var distantSince: BootInstant?

    /// When it is used even though its fixes are too far from the last position; nil if they are not.
    var heldUntil: BootInstant? { distantSince.map { $0 + NMEANetworkSession.distantHoldTime } }
  }

  /// The port from which an address sends datagrams. Some senders use a different port for each datagram.
  private struct Port {
    let number: UInt16
    /// The arrival of its first and of its last datagram.
    let first: BootInstant
    var last: BootInstant

    /// Whether the port has been in use for too long to belong to a sender that uses a different port for each
    /// datagram.
    var isSettled: Bool { last - first >= NMEANetworkSession.portSettlingTime }
  }

  /// A position and its sender.
  private struct Reference {
    let position: Position
    private let id: Int
    private let address: IPAddress?
    private let port: UInt16?

    init(_ position: Position, of sender: SenderState) {
      self.position = position
      (id, address, port) = (sender.id, sender.address, sender.port?.number)
    }

    /// Whether it was sent by this sender. A sender that again sends datagrams from the same address and port is the
    /// same.
    func wasSent(by sender: SenderState) -> Bool {
      id == sender.id || port != nil && port == sender.port?.number && address == sender.address
    }
  }

  /// A reported position.
  private struct Position {
    let coordinate: Coordinate
    let arrival: BootInstant

    /// Whether a vehicle can have driven here from the earlier position in the time between them.
    func isReachable(from earlier: Position) -> Bool {
      let seconds = max((arrival - earlier.arrival).inSeconds, 0)
      return earlier.coordinate.distance(to: coordinate)
        <= NMEANetworkSession.distanceSlack + NMEANetworkSession.maximumSpeed * seconds
    }
  }

  /// A sender that was admitted.
  package struct Admission: Equatable, Sendable {
    /// The sender's ID.
    package var id: Int
    /// ID of the sender that this one replaces, because it is silent or has no fix: its connection must be closed. Nil
    /// if the limit was not reached.
    package var replacedID: Int?

    /// - Parameter replacedID: nil if the limit was not reached.
    package init(id: Int, replacedID: Int?) {
      self.id = id
      self.replacedID = replacedID
    }
  }

  /// Maximum number of addresses that send datagrams.
  package static let maximumDatagramSenders = 8
  /// A sender without a fix for this long loses its place if another sender needs it.
  package static let noFixTimeout = Duration.seconds(60)
  /// How long a sender must have had fixes before it is used, if they are too far from the last position.
  package static let distantHoldTime = Duration.seconds(60)
  /// Faster than any vehicle on roads or rails, in metres per second.
  private static let maximumSpeed = 100.0
  /// The additional distance, in metres, by which the positions of two receivers may differ.
  private static let distanceSlack = 1000.0
  private static let portSettlingTime = Duration.seconds(3)
  /// The number of unread bytes at which a connection is read while no fix is needed (SO_RCVLOWAT): the kernel's buffer
  /// never fills up, and no old data remains at the sender.
  private static let idleLowWaterMark = 49_152
  /// How often datagrams are read and discarded while no fix is needed.
  private static let drainPeriod = Duration.seconds(20)

  private let name: String
  private let transport: Transport
  private let allow: [AddressRange]
  private let silenceTimeout: Duration
  private var supervisor: PortSupervisor
  private var isOpen = false
  private var senders: [SenderState] = []
  private var lastID = 0
  /// ID of the used sender.
  private var usedID: Int?
  /// The last position on which two fixes of its sender agree. Fixes of other senders are compared with it.
  private var reference: Reference?
  /// The name that was reported last.
  private var announcedName: String?
  private var lines = LineStatistics(.network)
  /// Recognizes the protocol of what senders send before their first sentence.
  private var protocolDetector = ReceiverProtocolDetector()
  /// Counters of senders that were removed.
  private var removedCounters = NMEADecoder.Counters()
  private var isNeeded = true
  /// Whether data is read and discarded, because it arrived while no fix was needed.
  private var isDiscarding = false
  /// When datagrams are next read and discarded while no fix is needed.
  private var nextDrain: BootInstant?

  /// - Parameters:
  ///   - name: the address, for messages.
  ///   - allow: the addresses whose data is read; not used for outgoing connections.
  ///   - silenceTimeout: maximum time without a complete sentence.
  ///   - seed: for the jitter of retries.
  package init(
    name: String, transport: Transport, allow: [AddressRange], silenceTimeout: Duration, seed: UInt64
  ) {
    self.name = name
    self.transport = transport
    self.allow = allow
    self.silenceTimeout = silenceTimeout
    supervisor = PortSupervisor(device: name, silenceTimeout: silenceTimeout, seed: seed)
    supervisor.noSentences = PortSupervisor.Problem(
      "sends bytes but no complete NMEA sentence", "set the sender to NMEA 0183, with checksums")
    guard transport != .connection else {
      supervisor.silent = PortSupervisor.Problem(
        "accepts the connection but sends nothing",
        "check the sender's receiver and its settings, and that this is its port for NMEA and not for web pages")
      supervisor.recovery = "reconnecting"
      return
    }
    supervisor.silent = PortSupervisor.Problem(
      "has received nothing", "check the sender's settings, its address in source.allow and the firewall")
    supervisor.noSentences.what = "has received bytes but no complete NMEA sentence"
    supervisor.recovery = "still listening"
  }

  /// Counters of the lines, the senders, and the rejected senders.
  package var lineStatistics: LineStatistics {
    var statistics = lines
    statistics.senders = senders.compactMap { sender in
      sender.address.map { LineStatistics.Sender($0, isUsed: sender.id == usedID, heldUntil: sender.heldUntil) }
    }
    return statistics
  }

  package var counters: LineStatistics? { lineStatistics }

  package var isPausable: Bool { true }

  /// When to handle `deadline`; nil while waiting only for the network.
  package var nextDeadline: BootInstant? {
    if isDiscarding { return nextDrain }
    var next = isUnsupervised ? nil : supervisor.nextDeadline
    for sender in senders {
      for time in [sender.decoder.deadline, isDatagram ? sender.lastSentenceAt + silenceTimeout : nil] {
        if let time { next = min(next ?? time, time) }
      }
    }
    return next
  }

  /// Whether the supervisor's retries after silence are not needed: the socket is still open, and there is no group to
  /// rejoin.
  private var isUnsupervised: Bool { isOpen && isServer && !isMulticast && supervisor.isClosed }

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: SourceInput, at now: BootInstant) -> [SourceEffect] {
    switch input {
    case .start: return supervise(.start, at: now)
    case .opened:
      isOpen = true
      if transport == .connection { _ = add(nil, at: now) }
      return supervise(.opened, at: now)
    case .openFailed(let why): return supervise(.openFailed(why), at: now)
    case .ended(let why):
      var fixes = [SourceEffect]()
      for index in senders.indices { fixes += finish(index, at: now) }
      (isOpen, isDiscarding) = (false, false)
      removeAll()
      reference = nil
      return fixes + supervise(.ended(why), at: now)
    case .senderDisconnected(let id):
      let fixes = senders.firstIndex { $0.id == id }.map { finish($0, at: now) } ?? []
      remove { $0.id == id }
      return fixes
    case .deadline where isDiscarding:
      guard let time = nextDrain, now >= time else { return [] }
      nextDrain = nil
      return [.line(.read)]
    case .deadline:
      var effects = [SourceEffect]()
      for index in senders.indices {
        let fixes = decode(index) { $0.expire(at: now, into: $1) }
        effects += handleFixes(fixes, of: index, at: now)
      }
      removeSilent(at: now)
      return effects + supervise(.deadline, at: now)
    case .needed(let isNeeded):
      self.isNeeded = isNeeded
      guard isNeeded, isDiscarding else { return leaveUnread(at: now) }
      nextDrain = nil
      return [.line(.read)]
    case .drained: return isDiscarding ? discarded(at: now) : []
    case .resumed:
      // Connections may have died meanwhile: an outgoing one is soon opened again, and a new one is used as soon as it
      // has a fix.
      if isDatagram {
        for index in senders.indices {
          senders[index].lastSentenceAt = now
          senders[index].lastFixAt = senders[index].lastFixAt.map { _ in now }
        }
      }
      return supervise(.resumed(mayHaveEnded: !isServer), at: now)
    case .appeared, .baudRefused, .endOfInput, .modem: return []
    }
  }

  // MARK: - No fix is needed

  /// Leaves the senders unread if no fix is needed, once a sender is known.
  private mutating func leaveUnread(at now: BootInstant) -> [SourceEffect] {
    guard !isNeeded, !isDiscarding, isOpen, announcedName != nil else { return [] }
    isDiscarding = true
    guard isDatagram else { return [.line(.awaitBytes(NMEANetworkSession.idleLowWaterMark))] }
    nextDrain = now + NMEANetworkSession.drainPeriod
    return [.line(.pause)]
  }

  /// All data that had arrived was discarded.
  private mutating func discarded(at now: BootInstant) -> [SourceEffect] {
    removeSilent(at: now)
    guard isNeeded else {
      guard isDatagram else { return [] }
      nextDrain = now + NMEANetworkSession.drainPeriod
      return isUnsupervised ? [] : supervise(.deadline, at: now)
    }
    isDiscarding = false
    // Only bursts that have begun are continued.
    for index in senders.indices { senders[index].decoder.discardUnlessContinued() }
    return [.line(isDatagram ? .watch : .awaitBytes(1))]
  }

  /// Removes silent senders of datagrams, which have no connection that could end.
  private mutating func removeSilent(at now: BootInstant) {
    if isDatagram { remove { [silenceTimeout] in now - $0.lastSentenceAt >= silenceTimeout } }
  }

  // MARK: - Data

  /// A sender has connected. A sender that is silent or without a fix keeps its connection until another one needs its
  /// place.
  ///
  /// - Returns: nil if it is not allowed, or the limit is reached: then its connection must be closed unread.
  package mutating func admit(_ address: IPAddress, at now: BootInstant) -> Admission? {
    guard isAllowed(address, at: now) else { return nil }
    let replacedID = makeRoom(at: now)
    guard hasRoom(for: address, at: now) else { return nil }
    return Admission(id: add(address, at: now), replacedID: replacedID)
  }

  package mutating func receive(_ bytes: Span<UInt8>, from sender: SourceSender, at now: Moment) -> [SourceEffect] {
    switch sender {
    case .peer: receive(bytes, at: now.boot)
    case .connection(let id): receive(bytes, from: id, at: now.boot)
    case .datagram(let address, let port): receive(datagram: bytes, from: address, port: port, at: now.boot)
    }
  }

  /// Processes data of the outgoing connection, or of the sender with this ID, in chunks of any size.
  package mutating func receive(_ bytes: Span<UInt8>, from id: Int? = nil, at now: BootInstant) -> [SourceEffect] {
    guard isOpen, let index = senders.firstIndex(where: { id == nil || $0.id == id }) else { return [] }
    return process(bytes, of: index, at: now)
  }

  /// Processes a datagram: complete sentences, with or without line ends between them.
  package mutating func receive(
    datagram: Span<UInt8>, from address: IPAddress, port: UInt16, at now: BootInstant
  ) -> [SourceEffect] {
    guard isOpen, isAllowed(address, at: now) else { return [] }
    if let index = senders.firstIndex(where: { $0.address == address }) {
      switch portUse(of: port, by: senders[index], at: now) {
      case .current(let port):
        senders[index].port = port
        return process(datagram, of: index, at: now)
      case .refused:
        lines.refuse(address, .portInUse, at: now)
        return []
      case .replacement: remove { $0.address == address }
      }
    }
    _ = makeRoom(at: now)
    guard hasRoom(for: address, at: now) else { return [] }
    _ = add(address, port: port, at: now)
    return process(datagram, of: senders.count - 1, at: now)
  }

  // MARK: - Senders

  private var isServer: Bool { transport != .connection }
  private var isDatagram: Bool { if case .datagrams = transport { true } else { false } }
  private var isMulticast: Bool { transport == .datagrams(isMulticast: true) }

  private var maximumSenders: Int {
    switch transport {
    case .connection: 1
    case .listener(let connections): connections
    case .datagrams: NMEANetworkSession.maximumDatagramSenders
    }
  }

  /// Whether data of this address is read; if not, it is counted as refused.
  private mutating func isAllowed(_ address: IPAddress, at now: BootInstant) -> Bool {
    if allow.contains(where: { $0.contains(address) }) { return true }
    lines.refuse(address, .notAllowed, at: now)
    return false
  }

  private mutating func hasRoom(for address: IPAddress, at now: BootInstant) -> Bool {
    if senders.count < maximumSenders { return true }
    lines.refuse(address, .noRoom, at: now)
    return false
  }

  /// If the maximum number of senders is reached, removes the one that has been silent for longest, or else one without
  /// a fix, preferably one that has never had a fix.
  ///
  /// - Returns: the ID of the removed sender; nil if there is none.
  private mutating func makeRoom(at now: BootInstant) -> Int? {
    // While the senders are left unread, it is not known which of them are silent.
    guard senders.count >= maximumSenders, !isDiscarding else { return nil }
    let silent = senders.filter { now - $0.lastSentenceAt >= silenceTimeout }.min {
      $0.lastSentenceAt < $1.lastSentenceAt
    }
    let fixless = senders.filter { now - ($0.lastFixAt ?? $0.firstSeenAt) >= NMEANetworkSession.noFixTimeout }
    let neverFixed = fixless.filter { $0.lastFixAt == nil }.min { $0.firstSeenAt < $1.firstSeenAt }
    guard let id = (silent ?? neverFixed ?? fixless.min { $0.lastFixAt ?? now < $1.lastFixAt ?? now })?.id else {
      return nil
    }
    remove { $0.id == id }
    return id
  }

  private enum PortUse {
    /// The sender's port, with its new state.
    case current(Port?)
    /// It replaces the port of a sender without fixes.
    case replacement
    case refused
  }

  /// What to do with a datagram from this port of a sender's address. If several ports are in use, the first is read
  /// while it reports fixes.
  private func portUse(of number: UInt16, by sender: SenderState, at now: BootInstant) -> PortUse {
    let new = Port(number: number, first: now, last: now)
    guard var port = sender.port else { return .current(new) }
    guard port.number != number else {
      port.last = now
      return .current(port)
    }
    guard port.isSettled else {
      // While there are several new ports, the first remains until it is no longer used.
      return .current(now - port.last >= NMEANetworkSession.portSettlingTime ? new : port)
    }
    // While datagrams are discarded, those of the sender may only come later in the same read.
    return isDiscarding || sender.lastFixAt.map { now - $0 < silenceTimeout } == true ? .refused : .replacement
  }

  private mutating func add(_ address: IPAddress?, port: UInt16? = nil, at now: BootInstant) -> Int {
    lastID += 1
    senders.append(
      SenderState(
        id: lastID, address: address, port: port.map { Port(number: $0, first: now, last: now) },
        decoder: NMEADecoder(receivesDatagrams: isDatagram), firstSeenAt: now, lastSentenceAt: now))
    return lastID
  }

  private mutating func remove(_ isGone: (SenderState) -> Bool) {
    for sender in senders where isGone(sender) {
      removedCounters = removedCounters + sender.decoder.counters
      if sender.id == usedID { usedID = nil }
    }
    senders.removeAll(where: isGone)
  }

  private mutating func removeAll() {
    remove { _ in true }
    announcedName = nil
  }

  /// The last epoch of a closed connection is assumed to be complete. Some senders open a connection for each epoch.
  private mutating func finish(_ index: Int, at now: BootInstant) -> [SourceEffect] {
    guard !isDiscarding else { return [] }
    return handleFixes(decode(index) { $0.finish(into: $1) }, of: index, at: now)
  }

  // MARK: - Sentences

  private mutating func process(_ bytes: Span<UInt8>, of index: Int, at now: BootInstant) -> [SourceEffect] {
    let before = senders[index].decoder.counters.sentences
    if before == 0, protocolDetector.found == nil {
      protocolDetector.read(bytes)
      if let found = protocolDetector.found {
        supervisor.noSentences = PortSupervisor.Problem(sending: found)
        if isServer { supervisor.noSentences.what = "has received \(found.name) and no NMEA sentence" }
      }
    }
    var fixes = [Fix]()
    senders[index].decoder.decode(bytes, at: now) { fixes.append($0) }
    if isDatagram { senders[index].decoder.endDatagram() }
    let sentences = Int(clamping: senders[index].decoder.counters.sentences &- before)
    lines.observe(senders.reduce(removedCounters) { $0 + $1.decoder.counters })
    // If the supervisor considered the port closed because of silence, it is open again. A group with active senders
    // does not need to be rejoined.
    if isServer { _ = supervise(.appeared, at: now) }
    if sentences > 0 { senders[index].lastSentenceAt = now }
    _ = supervise(.received(sentences: sentences), at: now)
    var effects = [SourceEffect]()
    if sentences > 0, announcedName == nil { effects += announce(senders[index].address) }
    effects += handleFixes(fixes, of: index, at: now)
    if !isDiscarding, senders[index].id == usedID || usedID == nil,
      let report = senders[index].sky.report(inView: senders[index].decoder.satellitesInView, at: now)
    {
      effects.append(.report(report))
    }
    return effects + leaveUnread(at: now)
  }

  private mutating func decode(
    _ index: Int, _ body: (inout NMEADecoder, (Fix) -> Void) -> Void
  ) -> [Fix] {
    var fixes = [Fix]()
    body(&senders[index].decoder) { fixes.append($0) }
    return fixes
  }

  /// Selects the sender to use, and reports its fixes.
  private mutating func handleFixes(_ fixes: [Fix], of index: Int, at now: BootInstant) -> [SourceEffect] {
    guard !fixes.isEmpty else { return [] }
    let id = senders[index].id
    if let last = senders[index].lastFixAt, now - last >= silenceTimeout { senders[index].distantSince = nil }
    senders[index].lastFixAt = now
    senders[index].sky.noteFix(at: now)
    if id != usedID {
      let current = senders.first { $0.id == usedID }
      let usedHasRecentFix = current?.lastFixAt.map { now - $0 < silenceTimeout } ?? false
      senders[index].distantSince = usedHasRecentFix ? nil : distantSince(senders[index], fixes, at: now)
      guard !usedHasRecentFix, !isDiscarding, senders[index].heldUntil.map({ now >= $0 }) ?? true else { return [] }
      senders[index].distantSince = nil
      usedID = id
    }
    for fix in fixes { updateReference(with: fix, of: index, at: now) }
    guard !isDiscarding else { return [] }
    return announce(senders[index].address) + fixes.map { .report(.fix($0)) }
  }

  /// When the fixes of the sender began to be too far from the last position of another sender; nil if they are not.
  private func distantSince(_ sender: SenderState, _ fixes: [Fix], at now: BootInstant) -> BootInstant? {
    // For an outgoing connection, the settings name the sender.
    guard isServer, let fix = fixes.last, let reference, !reference.wasSent(by: sender),
      !Position(coordinate: fix.coordinate, arrival: now).isReachable(from: reference.position)
    else { return nil }
    return sender.distantSince ?? now
  }

  /// Makes the position the reference if it agrees with the previous one of its sender.
  private mutating func updateReference(with fix: Fix, of index: Int, at now: BootInstant) {
    let position = Position(coordinate: fix.coordinate, arrival: now)
    if let previous = senders[index].lastPosition, position.isReachable(from: previous) {
      reference = Reference(position, of: senders[index])
    }
    senders[index].lastPosition = position
  }

  /// Reports the source's name if it has changed.
  private mutating func announce(_ address: IPAddress?) -> [SourceEffect] {
    let name = address.map { "\(self.name), from \($0)" } ?? self.name
    guard name != announcedName else { return [] }
    announcedName = name
    return [.report(.reading(name))]
  }

  // MARK: - The socket

  private mutating func supervise(_ input: PortSupervisor.Input, at now: BootInstant) -> [SourceEffect] {
    var effects = [SourceEffect]()
    for effect in supervisor.handle(input, at: now) {
      switch effect {
      case .open where isServer && isOpen:
        // The socket was listening all the time, but the interface of a group may have been replaced.
        if isMulticast { effects.append(.line(.rejoin)) }
        effects += supervise(.opened, at: now)
      case .open: effects.append(.line(.open()))
      // The senders' connections remain open: any of them may send again.
      case .close where isServer: usedID = nil
      case .close:
        (isOpen, isDiscarding) = (false, false)
        removeAll()
        effects.append(.line(.close))
      // This is reported together with the sender's name (`announce`).
      case .reading: break
      case .lost(let why):
        announcedName = nil
        effects.append(.report(.lost(why)))
      }
    }
    return effects
  }
}
