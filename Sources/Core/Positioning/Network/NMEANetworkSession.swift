// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import Timekeeping

/// Reads NMEA 0183 from the network: over a connection that it opens, from senders that connect to it, or from datagrams.
///
/// A sender is a receiver, or a router that has one. Each has a decoder of its own, so that the sentences of two are never one
/// epoch. The first with a fix is used until it is gone or gives none for the silence timeout; then the next one that gives a
/// fix. When to connect, listen and join is `PortSupervisor`'s decision.
package struct NMEANetworkSession {
  /// How sentences come.
  package enum Transport: Equatable, Sendable {
    /// This program connects.
    case connection
    /// Senders connect: as many as this at once.
    case listener(connections: Int)
    /// - Parameter isGroup: whether a multicast group is joined.
    case datagrams(isGroup: Bool)
  }

  /// What happens to the socket and to senders' connections.
  package enum Input: Equatable, Sendable {
    case start
    /// The connection is established, or the socket listens.
    case opened
    /// There is no connection, or the address cannot be listened at; the text says why and what to do.
    case openFailed(String)
    /// The connection or socket has ended by itself.
    case ended(String)
    /// The connection of the sender with this ID has ended.
    case left(Int)
    case deadline
  }

  /// What the shell is to do, or to report.
  package enum Effect: Equatable, Sendable {
    /// Connect, or listen.
    case open
    case close
    /// Join the group again: its interface may have been replaced.
    case rejoin
    case report(SourceReport)
  }

  /// Who sends, and what is known of it.
  private struct Writer {
    let id: Int
    /// Nil where this program has connected.
    let address: IPAddress?
    var decoder: NMEADecoder
    var sky = SkyNotice()
    /// When its last whole sentence came, or before the first when it came itself.
    var lastSentence: BootInstant
    var lastFix: BootInstant?
  }

  /// A sender that has connected.
  package struct Admission: Equatable, Sendable {
    /// Of this sender.
    package var id: Int
    /// ID of a silent sender whose place this one has: its connection is to be closed. Nil when there was a free place.
    package var replaced: Int?

    /// - Parameter replaced: nil when there was a free place.
    package init(id: Int, replaced: Int?) {
      self.id = id
      self.replaced = replaced
    }
  }

  /// At most this number of addresses send datagrams; a further one waits until one of them is silent.
  package static let mostDatagramSenders = 8

  private let name: String
  private let transport: Transport
  private let allow: [AddressRange]
  private let silenceTimeout: Duration
  private var supervisor: PortSupervisor
  private var isOpen = false
  private var writers: [Writer] = []
  private var lastID = 0
  /// ID of the sender whose fixes count.
  private var used: Int?
  /// The name under which it was reported last.
  private var announced: String?
  private var lines = LineHealth(.network)
  /// Of the decoders of senders that are gone.
  private var gone = NMEADecoder.Counters()

  /// - Parameters:
  ///   - name: of the address, for messages.
  ///   - allow: whose connections and datagrams are read; meaningless for a connection that this program opens.
  ///   - silenceTimeout: how long there may be no whole sentence.
  ///   - seed: of the jitter of the waits between tries.
  package init(
    name: String, transport: Transport, allow: [AddressRange], silenceTimeout: Duration, seed: UInt64
  ) {
    self.name = name
    self.transport = transport
    self.allow = allow
    self.silenceTimeout = silenceTimeout
    supervisor = PortSupervisor(device: name, silenceTimeout: silenceTimeout, seed: seed)
    supervisor.useless = PortSupervisor.Complaint(
      "sends bytes but no whole NMEA sentence", "is it set to NMEA 0183, with checksums?")
    guard transport != .connection else {
      supervisor.silent = PortSupervisor.Complaint(
        "accepts the connection but sends nothing", "check the sender's receiver and its settings")
      supervisor.remedy = "connecting again"
      return
    }
    supervisor.silent = PortSupervisor.Complaint(
      "has received nothing", "check the sender's settings, its address in source.allow and the firewall")
    supervisor.useless.what = "has received bytes but no whole NMEA sentence"
    supervisor.remedy = "still listening"
  }

  /// What has come over the line, who sends, and who may not.
  package var health: LineHealth {
    var health = lines
    health.senders = writers.compactMap { writer in
      writer.address.map { LineHealth.Sender($0, isUsed: writer.id == used) }
    }
    return health
  }

  /// When to hand over `deadline`; nil while only the network can move things on.
  package var nextDeadline: BootInstant? {
    // An open socket is ready for what comes, and needs no second look unless there is a group to join again.
    var next = isOpen && isServer && !hasGroup && supervisor.isClosed ? nil : supervisor.nextDeadline
    for writer in writers {
      for time in [writer.decoder.deadline, isDatagram ? writer.lastSentence + silenceTimeout : nil] {
        if let time { next = min(next ?? time, time) }
      }
    }
    return next
  }

  /// Takes what happened, and returns what is to be done, in this order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    switch input {
    case .start: return supervise(.start, at: now)
    case .opened:
      isOpen = true
      if transport == .connection { _ = add(nil, at: now) }
      return supervise(.opened, at: now)
    case .openFailed(let why): return supervise(.openFailed(why), at: now)
    case .ended(let why):
      let fixes = finishUsed()
      isOpen = false
      removeAll()
      return fixes + supervise(.ended(why), at: now)
    case .left(let id):
      let fixes = id == used ? finishUsed() : []
      remove { $0.id == id }
      return fixes
    case .deadline:
      var effects = [Effect]()
      for index in writers.indices {
        let fixes = decode(index, at: now) { $0.expire(at: now, into: $1) }
        effects += use(index, fixes, at: now)
      }
      if isDatagram { remove { [silenceTimeout] in now - $0.lastSentence >= silenceTimeout } }
      return effects + supervise(.deadline, at: now)
    }
  }

  /// A sender has connected. A silent one keeps its connection until another needs the place.
  ///
  /// - Returns: nil when it is not allowed, or has no place: then its connection is to be closed unread.
  package mutating func admit(_ address: IPAddress, at now: BootInstant) -> Admission? {
    guard isAllowed(address, at: now) else { return nil }
    var replaced: Int?
    if writers.count >= mostWriters {
      guard let silent = writers.min(by: { $0.lastSentence < $1.lastSentence }),
        now - silent.lastSentence >= silenceTimeout
      else { return nil }
      replaced = silent.id
      remove { $0.id == replaced }
    }
    return Admission(id: add(address, at: now), replaced: replaced)
  }

  /// Takes what came over the connection of this program, or of the sender with this ID, in any portions.
  package mutating func receive(_ bytes: Span<UInt8>, from id: Int? = nil, at now: BootInstant) -> [Effect] {
    guard isOpen, let index = writers.firstIndex(where: { id == nil || $0.id == id }) else { return [] }
    return take(bytes, of: index, at: now)
  }

  /// Takes a datagram: whole sentences, with line ends between them or without.
  package mutating func receive(datagram: Span<UInt8>, from address: IPAddress, at now: BootInstant) -> [Effect] {
    guard isOpen, isAllowed(address, at: now) else { return [] }
    if let index = writers.firstIndex(where: { $0.address == address }) { return take(datagram, of: index, at: now) }
    guard writers.count < mostWriters else { return [] }
    _ = add(address, at: now)
    return take(datagram, of: writers.count - 1, at: now)
  }

  // MARK: - Senders

  private var isServer: Bool { transport != .connection }
  private var isDatagram: Bool { if case .datagrams = transport { true } else { false } }
  private var hasGroup: Bool { transport == .datagrams(isGroup: true) }

  private var mostWriters: Int {
    switch transport {
    case .connection: 1
    case .listener(let connections): connections
    case .datagrams: NMEANetworkSession.mostDatagramSenders
    }
  }

  /// Nothing of a sender that is not allowed is looked at.
  private mutating func isAllowed(_ address: IPAddress, at now: BootInstant) -> Bool {
    if allow.contains(where: { $0.contains(address) }) { return true }
    lines.refuse(address, at: now)
    return false
  }

  private mutating func add(_ address: IPAddress?, at now: BootInstant) -> Int {
    lastID += 1
    writers.append(
      Writer(
        id: lastID, address: address, decoder: NMEADecoder(isDatagrams: isDatagram), lastSentence: now))
    return lastID
  }

  private mutating func remove(_ isGone: (Writer) -> Bool) {
    for writer in writers where isGone(writer) {
      gone = gone + writer.decoder.counters
      if writer.id == used { used = nil }
    }
    writers.removeAll(where: isGone)
  }

  private mutating func removeAll() {
    remove { _ in true }
    announced = nil
  }

  /// The last epoch of a connection that has ended was received whole, as far as can be known.
  private mutating func finishUsed() -> [Effect] {
    guard let index = writers.firstIndex(where: { $0.id == used }) else { return [] }
    var effects = [Effect]()
    writers[index].decoder.finish { effects.append(.report(.fix($0))) }
    return effects
  }

  // MARK: - Sentences

  private mutating func take(_ bytes: Span<UInt8>, of index: Int, at now: BootInstant) -> [Effect] {
    let before = writers[index].decoder.counters.sentences
    var fixes = [Fix]()
    writers[index].decoder.decode(bytes, at: now) { fixes.append($0) }
    if isDatagram { writers[index].decoder.endDatagram() }
    let sentences = Int(clamping: writers[index].decoder.counters.sentences &- before)
    lines.observe(writers.reduce(gone) { $0 + $1.decoder.counters })
    // The silence ends with what comes. A group that something comes from needs not be joined again.
    if isServer { _ = supervise(.appeared, at: now) }
    if sentences > 0 { writers[index].lastSentence = now }
    _ = supervise(.received(sentences: sentences), at: now)
    var effects = [Effect]()
    if sentences > 0, announced == nil { effects += announce(writers[index].address) }
    effects += use(index, fixes, at: now)
    if writers[index].id == used || used == nil,
      let report = writers[index].sky.satellites(inView: writers[index].decoder.satellitesInView, at: now)
    {
      effects.append(.report(report))
    }
    return effects
  }

  private mutating func decode(
    _ index: Int, at now: BootInstant, _ body: (inout NMEADecoder, (Fix) -> Void) -> Void
  ) -> [Fix] {
    var fixes = [Fix]()
    body(&writers[index].decoder) { fixes.append($0) }
    return fixes
  }

  /// Reports the fixes of the sender that is used, and decides which that is.
  private mutating func use(_ index: Int, _ fixes: [Fix], at now: BootInstant) -> [Effect] {
    guard !fixes.isEmpty else { return [] }
    let id = writers[index].id
    writers[index].lastFix = now
    writers[index].sky.hasFix(at: now)
    if id != used {
      let current = writers.first { $0.id == used }
      if let last = current?.lastFix, now - last < silenceTimeout { return [] }
      used = id
    }
    return announce(writers[index].address) + fixes.map { .report(.fix($0)) }
  }

  /// Names the source, when its name has changed.
  private mutating func announce(_ address: IPAddress?) -> [Effect] {
    let name = address.map { "\(self.name), from \($0)" } ?? self.name
    guard name != announced else { return [] }
    announced = name
    return [.report(.reading(name))]
  }

  // MARK: - The socket

  private mutating func supervise(_ input: PortSupervisor.Input, at now: BootInstant) -> [Effect] {
    var effects = [Effect]()
    for effect in supervisor.handle(input, at: now) {
      switch effect {
      case .open where isServer && isOpen:
        // It has listened all the time; but the interface of a group may be another one since.
        if hasGroup { effects.append(.rejoin) }
        effects += supervise(.opened, at: now)
      case .open: effects.append(.open)
      // The connections of senders stay, and are in reserve.
      case .close where isServer: used = nil
      case .close:
        isOpen = false
        removeAll()
        effects.append(.close)
      // Said with the sender's name.
      case .reading: break
      case .lost(let why):
        announced = nil
        effects.append(.report(.lost(why)))
      }
    }
    return effects
  }
}
