// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import ExternalInput
import FixSources
import NMEA
import NMEATesting
import Testing
import Timekeeping

/// Transcripts of a session: data from the network, operations on sockets, and reports.
struct NMEANetworkSessionTests {
  private static let router = IPAddress(v4: 0xC0A8_0001)
  private static let spare = IPAddress(v4: 0xC0A8_0002)
  private static let stranger = IPAddress(v4: 0x0A00_0009)

  private struct Bench {
    var session: NMEANetworkSession
    var now = BootInstant.boot

    init(_ transport: NMEANetworkSession.Transport) {
      session = NMEANetworkSession(
        name: "net", transport: transport, allow: ["192.168.0.0/24"].compactMap(AddressRange.init),
        silenceTimeout: .seconds(10), seed: 1)
      _ = handle(.start)
    }

    mutating func handle(_ input: SourceInput) -> [String] { brief(session.handle(input, at: now)) }

    /// Advances to the next deadline.
    mutating func wait() -> [String] {
      now = max(now, session.nextDeadline ?? now)
      return handle(.deadline)
    }

    mutating func wait(until time: BootInstant) -> [String] {
      var effects: [String] = []
      while let next = session.nextDeadline, next <= time {
        now = max(now, next)
        effects += handle(.deadline)
      }
      now = time
      return effects
    }

    mutating func datagram(
      _ text: String, from address: IPAddress = NMEANetworkSessionTests.router, port: UInt16 = 5000
    ) -> [String] {
      brief(session.receive(datagram: Array(text.utf8).span, from: address, port: port, at: now))
    }

    mutating func admit(_ address: IPAddress) throws -> NMEANetworkSession.Admission {
      let admission = session.admit(address, at: now)
      return try #require(admission)
    }

    mutating func stream(_ text: String, from id: Int? = nil) -> [String] {
      brief(session.receive(Array(text.utf8).span, from: id, at: now))
    }

    private func brief(_ effects: [SourceEffect]) -> [String] {
      effects.map { effect in
        switch effect {
        case .line(.open): "open"
        case .line(.close): "close"
        case .line(.rejoin): "rejoin"
        case .line(let other): "\(other)"
        case .report(.fix(let fix)): "fix \((fix.timestamp?.milliseconds ?? 0) / 1000 % 60)"
        case .report(.reading(let name)): "reading \(name)"
        case .report(.lost(let why)): "lost \(why)"
        case .report(.sky(let count)): "\(count) in view"
        case .report(.detecting(let what)): what
        case .report(.ended): "ended"
        }
      }
    }
  }

  /// RMC and GGA of a second, with line ends or without.
  private static func epoch(_ second: Int, at place: String = near, end: String = "\r\n") -> String {
    let time = clock(second)
    return [
      "GPRMC,\(time),A,\(place),10.0,0.0,010124,,,A", "GPGGA,\(time),\(place),1,08,1.0,10,M,,M,,",
    ].map { String(sentence($0).dropLast()) + end }.joined()
  }

  private static let near = "4500.0,N,00100.0,E"
  /// A place 170 km from `near`.
  private static let far = "4630.0,N,00100.0,E"

  /// RMC of a receiver without a fix.
  private static func void(_ second: Int) -> String { sentence("GPRMC,\(clock(second)),V,,,,,,,010124,,,N") }

  private static func clock(_ second: Int) -> String {
    let (minutes, seconds) = (second / 60, second % 60)
    return "12\(minutes < 10 ? "0" : "")\(minutes)\(seconds < 10 ? "0" : "")\(seconds)"
  }

  @Test("a connection is opened, read, and opened again when it ends or falls silent")
  func connection() {
    var bench = Bench(.connection)
    expectEqual(bench.handle(.openFailed("refused")), ["lost refused"])
    expectEqual(bench.wait(), ["open"])
    expectEqual(bench.handle(.opened()), [])
    expectEqual(bench.stream(Self.epoch(1)), ["reading net"])
    expectEqual(bench.wait(), ["fix 1"])
    expectEqual(bench.stream(String(Self.epoch(2).prefix(40))), [])
    expectEqual(bench.handle(.ended("closed by the other side")), ["lost closed by the other side"])
    expectEqual(bench.wait(), ["open"])
    expectEqual(bench.handle(.opened()), [])
    // Half a sentence of the previous connection is not joined with this one.
    expectEqual(bench.stream(Self.epoch(3)), ["reading net"])
    expectEqual(bench.wait(), ["fix 3"])
    expectEqual(
      bench.wait(),
      [
        "close",
        "lost net accepts the connection but sends nothing for 10 s; check the sender's receiver and its settings, "
          + "and that this is its port for NMEA and not for web pages; reconnecting",
      ])
    expectEqual(bench.session.lineStatistics.counters.sentences, 4)
  }

  @Test(
    "while no fix is needed, data is read only once 48 kB have arrived; reading resumes even in the middle of a burst")
  func unneeded() {
    var bench = Bench(.connection)
    _ = bench.handle(.opened())
    expectEqual(bench.handle(.needed(false)), [])
    expectEqual(bench.stream(Self.epoch(1)), ["reading net", "awaitBytes(49152)"])
    expectNil(bench.session.nextDeadline)
    bench.now = .boot + .seconds(100)
    expectEqual(bench.stream((2...100).map { Self.epoch($0) }.joined()), [])
    bench.now = .boot + .seconds(102)
    expectEqual(bench.handle(.needed(true)), ["read"])
    let burst = Self.epoch(102)
    expectEqual(bench.stream(Self.epoch(101) + burst.prefix(80)), [])
    expectEqual(bench.handle(.drained), ["awaitBytes(1)"])
    expectEqual(bench.stream(String(burst.dropFirst(80))), ["fix 42"])
  }

  @Test("if a connection ends while no fix is needed, its last fix is not reported, and the next connection is read")
  func endsUnneeded() {
    var bench = Bench(.connection)
    _ = bench.handle(.opened())
    _ = bench.handle(.needed(false))
    _ = bench.stream(Self.epoch(1))
    expectEqual(bench.handle(.ended("closed")), ["lost closed"])
    expectEqual(bench.wait(), ["open"])
    expectEqual(bench.handle(.opened()), [])
    expectEqual(bench.stream(Self.epoch(2)), ["reading net", "awaitBytes(49152)"])
  }

  @Test("while no fix is needed, datagrams are discarded every 20 s, and a silent sender is reported once")
  func unneededDatagrams() {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    for second in 1...5 {
      _ = bench.wait(until: .boot + .seconds(second))
      _ = bench.datagram(Self.epoch(second))
    }
    expectEqual(bench.handle(.needed(false)), ["pause"])
    expectEqual(bench.wait(), ["read"])
    expectEqual(bench.now, .boot + .seconds(25))
    for second in 6...25 { expectEqual(bench.datagram(Self.epoch(second)), []) }
    expectEqual(bench.handle(.drained), [])
    bench.now = .boot + .seconds(30)
    expectEqual(bench.handle(.needed(true)), ["read"])
    for second in 26...29 { expectEqual(bench.datagram(Self.epoch(second)), []) }
    let burst = Self.epoch(30).split(separator: "\r\n").map(String.init)
    expectEqual(bench.datagram(burst[0]), [])
    expectEqual(bench.handle(.drained), ["watch"])
    expectEqual(bench.datagram(burst[1]), ["fix 30"])

    expectEqual(bench.handle(.needed(false)), ["pause"])
    expectEqual(bench.wait(), ["read"])
    expectEqual(bench.handle(.drained).first?.hasPrefix("lost net has received nothing for 10 s"), true)
    expectEqual(bench.wait(), ["read"])
    expectEqual(bench.handle(.drained), [])
    expectEqual(bench.wait(), ["read"])
    expectEqual(bench.datagram(Self.epoch(91)), ["reading net, from 192.168.0.1"])
  }

  @Test("while no fix is needed, senders keep their slots, and the selected sender stays selected")
  func unreadSenders() throws {
    var bench = Bench(.listener(maximumConnections: 2))
    _ = bench.handle(.opened())
    let (first, second) = (try bench.admit(Self.router).id, try bench.admit(Self.spare).id)
    for number in 1...5 {
      _ = bench.wait(until: .boot + .seconds(number))
      _ = bench.stream(Self.epoch(number), from: first) + bench.stream(Self.epoch(number), from: second)
    }
    expectEqual(bench.handle(.needed(false)), ["awaitBytes(49152)"])
    bench.now = .boot + .seconds(100)
    expectNil(bench.session.admit(Self.router, at: bench.now))
    expectEqual(bench.handle(.needed(true)), ["read"])
    expectEqual(bench.stream(Self.epoch(99), from: second), [])
    expectEqual(bench.stream(Self.epoch(99), from: first), [])
    expectEqual(bench.handle(.drained), ["awaitBytes(1)"])
    expectNil(bench.session.admit(Self.router, at: bench.now))
    expectEqual(bench.stream(Self.epoch(100), from: second), [])
    expectEqual(bench.stream(Self.epoch(100), from: first), ["fix 40"])
  }

  @Test(
    "all sentences of a datagram are read, with or without line ends between them", arguments: ["\r\n", "\n", ""])
  func datagrams(end: String) {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    expectEqual(bench.datagram(Self.epoch(1, end: end)), ["reading net, from 192.168.0.1"])
    expectEqual(bench.wait(), ["fix 1"])
    bench.now = .boot + .seconds(1)
    expectEqual(bench.datagram("\\s:r1,c:1120959341*51\\" + Self.epoch(2, end: end)), [])
    expectEqual(bench.wait(), ["fix 2"])
    expectEqual(bench.session.lineStatistics.counters.foreign, 1)
    expectEqual(bench.session.lineStatistics.counters.unchecked, 0)
  }

  @Test(
    "lines in other protocols are skipped and counted, whether alone in a datagram or before a sentence",
    arguments: [
      ">RPV15714+3739438-1220384601512612;ID=1234;*7F<", "!AIVDM,1,1,,B,177KQJ5000G?tO`K>RA1wUbN0TKH,0*5C",
      sentence("PCPTI,IBR600-729,120000,120001"), "\\s:r1,c:1120959341*51\\", "IBR600-729,",
    ])
  func foreign(line: String) {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    _ = bench.datagram(line)
    expectEqual(bench.session.lineStatistics.counters.foreign, 1)
    _ = bench.datagram(line + Self.epoch(1))
    expectEqual(bench.wait(), ["fix 1"])
    expectEqual(bench.session.lineStatistics.counters.foreign, 2)
    expect(
      bench.session.lineStatistics.counters.wrongChecksum == 0 && bench.session.lineStatistics.counters.unchecked == 0)
  }

  @Test("a sentence that is cut off at the end of a datagram is counted, and not joined with the next datagram")
  func cut() {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    let whole = Self.epoch(1)
    _ = bench.datagram(String(whole.prefix(30)))
    _ = bench.datagram(String(whole.dropFirst(30)))
    expectEqual(bench.session.lineStatistics.counters.unchecked, 1)
    expectEqual(bench.session.lineStatistics.counters.sentences, 1)
  }

  @Test("with reordered datagrams each epoch is reported at most once, in chronological order")
  func reordered() {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    var fixes: [String] = []
    for (second, late) in [(1, nil), (2, nil), (4, 3), (5, nil), (6, 5), (7, 6)] as [(Int, Int?)] {
      bench.now = .boot + .seconds(second)
      fixes += bench.datagram(Self.epoch(second))
      if let late { fixes += bench.datagram(Self.epoch(late)) }
      fixes += bench.wait(until: bench.now + .milliseconds(800))
    }
    expectEqual(fixes.filter { $0.hasPrefix("fix") }, ["fix 1", "fix 2", "fix 4", "fix 5", "fix 6", "fix 7"])
    expectEqual(bench.session.lineStatistics.counters.late, 6)
  }

  @Test("in a stream, an earlier time means that the clock was set back, and is not rejected as reordered")
  func clock() {
    var bench = Bench(.connection)
    _ = bench.handle(.opened())
    _ = bench.stream(Self.epoch(30))
    expectEqual(bench.wait(), ["fix 30"])
    bench.now = .boot + .seconds(1)
    _ = bench.stream(Self.epoch(25))
    expectEqual(bench.wait(), ["fix 25"])
  }

  @Test("data from a sender that is not allowed is ignored, and its address and number of attempts are recorded")
  func refused() {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    for _ in 0..<3 { expectEqual(bench.datagram(Self.epoch(1), from: Self.stranger), []) }
    expectEqual(bench.session.lineStatistics.counters, NMEADecoder.Counters())
    expect(bench.session.lineStatistics.senders.isEmpty)
    expectEqual(bench.session.lineStatistics.refusedSenders.map(\.address), [Self.stranger])
    expectEqual(bench.session.lineStatistics.refusedSenders.map(\.count), [3])
    let other = IPAddress(v4: 0x0A00_0008)
    _ = bench.datagram("$", from: other)
    bench.now = .boot + .seconds(5)
    _ = bench.datagram("$", from: Self.stranger)
    expectEqual(bench.session.lineStatistics.refusedSenders.map(\.address), [other, Self.stranger])
    expectEqual(bench.session.lineStatistics.refusedSenders.map(\.count), [1, 4])
    expectEqual(bench.session.lineStatistics.refusedSenders.last?.lastArrival, .boot + .seconds(5))
    expectEqual(bench.session.lineStatistics.refusals, 5)
    var server = Bench(.listener(maximumConnections: 4))
    _ = server.handle(.opened())
    let refused = server.session.admit(Self.stranger, at: server.now)
    expectNil(refused)
    expectEqual(server.session.lineStatistics.refusedSenders.map(\.address), [Self.stranger])
  }

  @Test("of many senders that are not allowed only four are recorded, so that memory use is limited")
  func flood() {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    for number in 0..<10_000 {
      expectEqual(bench.datagram("$", from: IPAddress(v4: 0x0A00_0000 + UInt32(number))), [])
    }
    expectEqual(bench.session.lineStatistics.refusedSenders.count, 4)
  }

  @Test("the number of senders is limited, and a silent sender loses its slot")
  func places() {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    for number in 0..<100 { _ = bench.datagram(Self.epoch(1), from: IPAddress(v4: 0xC0A8_0000 + UInt32(number))) }
    expectEqual(bench.session.lineStatistics.senders.count, NMEANetworkSession.maximumDatagramSenders)
    _ = bench.wait(until: .boot + .seconds(11))
    expect(bench.session.lineStatistics.senders.isEmpty)
    var server = Bench(.listener(maximumConnections: 2))
    _ = server.handle(.opened())
    let ids = (0..<1000).map { _ in server.session.admit(Self.router, at: server.now) }
    expectEqual(ids.compactMap(\.self).count, 2)
    // All senders are silent, and the one that has been silent longest loses its slot.
    expectEqual(server.wait(until: .boot + .seconds(10)).filter { !$0.hasPrefix("lost") }, [])
    let next = server.session.admit(Self.router, at: server.now)
    expectEqual(next, NMEANetworkSession.Admission(id: 3, replacedID: 1))
  }

  @Test("the first sender with a fix is used until it disconnects, and epochs never mix two senders")
  func senders() throws {
    var bench = Bench(.listener(maximumConnections: 4))
    _ = bench.handle(.opened())
    let admitted = [Self.router, Self.spare].map { bench.session.admit($0, at: bench.now) }
    let (first, second) = (try #require(admitted[0]).id, try #require(admitted[1]).id)
    expectEqual(bench.stream(Self.void(1), from: first), ["reading net, from 192.168.0.1"])
    expectEqual(bench.stream(String(Self.epoch(1).prefix(50)), from: second), [])
    expectEqual(bench.stream(Self.void(2), from: first), [])
    expectEqual(bench.stream(String(Self.epoch(1).dropFirst(50)), from: second), [])
    expectEqual(bench.wait(), ["reading net, from 192.168.0.2", "fix 1"])
    expectEqual(
      bench.session.lineStatistics.senders, [.init(Self.router, isUsed: false), .init(Self.spare, isUsed: true)])
    // The first sender has a fix as well now, and is a standby.
    bench.now = .boot + .seconds(2)
    _ = bench.stream(Self.epoch(2), from: first)
    _ = bench.stream(Self.epoch(2), from: second)
    expectEqual(bench.wait(until: .boot + .seconds(3)), ["fix 2"])
    expectEqual(bench.handle(.senderDisconnected(second)), [])
    _ = bench.stream(Self.epoch(3), from: first)
    expectEqual(bench.wait(until: .boot + .seconds(4)), ["reading net, from 192.168.0.1", "fix 3"])
  }

  @Test("a sender that connects for each epoch gives a fix each time, but none beside the used sender")
  func connectionPerEpoch() throws {
    var bench = Bench(.listener(maximumConnections: 4))
    _ = bench.handle(.opened())
    func report(_ second: Int, from address: IPAddress) throws -> [String] {
      _ = bench.wait(until: .boot + .seconds(second))
      let id = try bench.admit(address).id
      return bench.stream(Self.epoch(second), from: id) + bench.handle(.senderDisconnected(id))
    }
    try expectEqual(report(1, from: Self.router), ["reading net, from 192.168.0.1", "fix 1"])
    for second in [6, 11] { try expectEqual(report(second, from: Self.router), ["fix \(second)"]) }
    expect(bench.session.lineStatistics.senders.isEmpty)
    let other = try bench.admit(Self.spare).id
    _ = bench.stream(Self.epoch(12), from: other)
    expectEqual(bench.wait(until: .boot + .seconds(13)), ["reading net, from 192.168.0.2", "fix 12"])
    try expectEqual(report(16, from: Self.router), [])
  }

  @Test("an outgoing connection that ends after its first epoch gives a fix")
  func endsAfterEpoch() {
    var bench = Bench(.connection)
    _ = bench.handle(.opened())
    expectEqual(bench.stream(Self.epoch(1)), ["reading net"])
    expectEqual(bench.handle(.ended("closed")), ["fix 1", "lost closed"])
  }

  @Test("after a suspend, the silence of the used sender is counted from the resume", arguments: [false, true])
  func suspended(isResumed: Bool) {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    for second in 1...5 {
      _ = bench.wait(until: .boot + .seconds(second))
      _ = bench.datagram(Self.epoch(second))
    }
    bench.now = .boot + .seconds(3600)
    if isResumed { _ = bench.handle(.resumed) }
    let effects = bench.handle(.deadline)
    expectEqual(effects.contains { $0.hasPrefix("lost") }, !isResumed)
    expectEqual(bench.session.lineStatistics.senders.count, (isResumed ? 1 : 0))
  }

  @Test("after a suspend, an outgoing connection that still has data is kept, and a silent one is soon opened again")
  func outgoingAfterSuspend() {
    for isAlive in [true, false] {
      var bench = Bench(.connection)
      _ = bench.handle(.opened())
      for second in 1...3 {
        _ = bench.stream(Self.epoch(second))
        _ = bench.wait(until: .boot + .seconds(second))
      }
      bench.now = .boot + .seconds(3600)
      var effects = bench.handle(.resumed) + bench.handle(.deadline)
      expect(!effects.contains { $0.hasPrefix("lost") }, "\(effects)")
      effects = bench.wait(until: .boot + .seconds(3601))
      if isAlive { effects += bench.stream(Self.epoch(1)) }
      effects += bench.wait(until: .boot + .seconds(3603))
      expectEqual(effects.contains { $0.hasPrefix("lost") }, !isAlive)
      expectEqual(effects.contains("fix 1"), isAlive)
    }
  }

  @Test("after a suspend, the first of two senders that share an address keeps its slot")
  func twoPortsAfterSuspend() {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    for second in 1...9 {
      bench.now = .boot + .seconds(second)
      _ = bench.datagram(Self.epoch(second))
      _ = bench.datagram(Self.epoch(second, at: Self.far), port: 6000)
    }
    bench.now = .boot + .seconds(3600)
    _ = bench.handle(.resumed)
    var effects = bench.datagram(Self.epoch(0, at: Self.far), port: 6000) + bench.datagram(Self.epoch(0))
    effects += bench.wait(until: bench.now + .milliseconds(500))
    expectEqual(effects, ["fix 0"])
    expectEqual(bench.session.lineStatistics.refusedSenders.map(\.reason), [.portInUse])
  }

  @Test("after a suspend, a sender that connects anew is used at its first fix, even if its old connection seems open")
  func reconnectsAfterSuspend() throws {
    for connections in [1, 4] {
      var bench = Bench(.listener(maximumConnections: connections))
      _ = bench.handle(.opened())
      let old = try bench.admit(Self.router).id
      for second in 1...3 {
        _ = bench.stream(Self.epoch(second), from: old)
        _ = bench.wait(until: .boot + .seconds(second))
      }
      bench.now = .boot + .seconds(3600)
      var effects = bench.handle(.resumed)
      bench.now = .boot + .seconds(3602)
      let new = try bench.admit(Self.router).id
      effects += bench.stream(Self.epoch(2), from: new)
      effects += bench.wait(until: .boot + .seconds(3603))
      expect(effects.contains("fix 2"), "\(effects)")
    }
  }

  @Test("if the used sender has no fix for the silence timeout, a sender with a fix replaces it")
  func fixLost() {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    _ = bench.datagram(Self.epoch(0))
    var used: [String] = []
    for second in 1...30 {
      used += bench.wait(until: .boot + .seconds(second))
      used += bench.datagram(Self.void(second))
      used += bench.datagram(Self.epoch(second), from: Self.spare)
    }
    expectEqual(used.first, "fix 0")
    expectEqual(used.dropFirst().first, "reading net, from 192.168.0.2")
    expectEqual(used.last?.hasPrefix("fix"), true)
    expect(used.contains("fix 11") && !used.contains("fix 8"))
  }

  @Test("a sender without a fix can lose its slot to another sender after a minute, but not before")
  func sendersWithoutFix() throws {
    var bench = Bench(.listener(maximumConnections: 4))
    _ = bench.handle(.opened())
    let fixless = try (0..<4).map { _ in try bench.admit(Self.spare).id }
    for second in 1...59 {
      bench.now = .boot + .seconds(second)
      for id in fixless { _ = bench.stream(Self.void(second), from: id) }
      let admission = bench.session.admit(Self.router, at: bench.now)
      expectNil(admission)
    }
    expectEqual(bench.session.lineStatistics.refusedSenders.map(\.reason), [.noRoom])
    expectEqual(bench.session.lineStatistics.refusedSenders.map(\.count), [59])
    bench.now = .boot + .seconds(60)
    let admission = try bench.admit(Self.router)
    expectEqual(admission.replacedID, fixless[0])
    expectEqual(bench.stream(Self.epoch(60), from: admission.id), [])
    expectEqual(bench.wait().last, "fix 0")
    // Senders without a fix that reconnect displace each other, but not a sender with a fix.
    var displaced: [Int] = []
    for second in 61...300 {
      bench.now = .boot + .seconds(second)
      _ = bench.stream(Self.epoch(second), from: admission.id)
      _ = bench.wait(until: bench.now + .milliseconds(900))
      let reconnected = bench.session.admit(Self.spare, at: bench.now)
      if let id = reconnected?.replacedID { displaced.append(id) }
    }
    expect(!displaced.isEmpty && !displaced.contains(admission.id))
    expectEqual(bench.session.lineStatistics.senders.filter(\.isUsed), [.init(Self.router, isUsed: true)])
  }

  @Test(
    "a sender without a fix keeps its slot until another sender needs it; one that once had a fix is displaced last")
  func garage() throws {
    var bench = Bench(.listener(maximumConnections: 2))
    _ = bench.handle(.opened())
    let router = try bench.admit(Self.router).id
    _ = bench.stream(Self.epoch(1), from: router)
    _ = bench.wait(until: .boot + .seconds(2))
    let other = try bench.admit(Self.spare).id
    for second in 3...600 {
      bench.now = .boot + .seconds(second)
      for id in [router, other] { _ = bench.stream(Self.void(second), from: id) }
    }
    expectEqual(bench.session.lineStatistics.senders.count, 2)
    try expectEqual(bench.admit(Self.spare).replacedID, other)
  }

  @Test("datagrams from an address without a slot are read once another sender has had no fix for a minute")
  func fixlessDatagrams() {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    var effects: [String] = []
    for second in 0...62 {
      effects += bench.wait(until: .boot + .seconds(second))
      for number in 0..<NMEANetworkSession.maximumDatagramSenders {
        _ = bench.datagram(Self.void(second), from: IPAddress(v4: 0xC0A8_0010 + UInt32(number)))
      }
      effects += bench.datagram(Self.epoch(second))
    }
    expectEqual(effects.first { $0.hasPrefix("fix") }, "fix 0", "\(effects)")
    expect(bench.session.lineStatistics.refusedSenders.contains { $0.address == Self.router && $0.reason == .noRoom })
  }

  @Test(
    "a sender whose fixes are far from the last position replaces a silent sender only after a minute",
    arguments: [true, false])
  func distant(isConnected: Bool) throws {
    var bench = Bench(isConnected ? .listener(maximumConnections: 4) : .datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    let ids = isConnected ? [Self.router, Self.spare].map { bench.session.admit($0, at: bench.now)?.id } : []
    func send(_ index: Int, _ text: String) -> [String] {
      isConnected ? bench.stream(text, from: ids[index]) : bench.datagram(text, from: [Self.router, Self.spare][index])
    }
    for second in 1...5 {
      bench.now = .boot + .seconds(second)
      _ = send(0, Self.epoch(second))
      _ = bench.wait(until: bench.now + .milliseconds(900))
    }
    var fixes: [String] = []
    for second in 6...70 {
      bench.now = .boot + .seconds(second)
      fixes += send(1, Self.epoch(second, at: Self.far))
      fixes += bench.wait(until: bench.now + .milliseconds(900))
    }
    expectEqual(fixes.filter { $0.hasPrefix("fix") }, [])
    let sender = try #require(bench.session.lineStatistics.senders.first { $0.address == Self.spare })
    expect(!sender.isUsed && sender.heldUntil.map { $0 > bench.now && $0 <= bench.now + .seconds(10) } == true)
    // The previous sender, if it sends again, is used at once.
    var nearer = bench
    nearer.now = .boot + .seconds(71)
    let used = isConnected ? nearer.stream(Self.epoch(71), from: ids[0]) : nearer.datagram(Self.epoch(71))
    expectEqual((used + nearer.wait(until: .boot + .seconds(72))).last, "fix 11")
    expect(nearer.session.lineStatistics.senders.allSatisfy { $0.heldUntil == nil || $0.address == Self.spare })
    for second in 71...80 {
      bench.now = .boot + .seconds(second)
      fixes += send(1, Self.epoch(second, at: Self.far))
      fixes += bench.wait(until: bench.now + .milliseconds(900))
    }
    expect(fixes.contains("fix 20"))
    expect(bench.session.lineStatistics.senders.contains(.init(Self.spare, isUsed: true)))
  }

  @Test("a sender far from the last position is used at once if that position is its sender's only one, or old enough")
  func notDistant() throws {
    for (fixes, pause) in [(1, 20), (5, 1700)] {
      var bench = Bench(.listener(maximumConnections: 4))
      _ = bench.handle(.opened())
      let ids = [Self.router, Self.spare].map { bench.session.admit($0, at: bench.now)?.id }
      for second in 1...fixes {
        bench.now = .boot + .seconds(second)
        _ = bench.stream(Self.epoch(second), from: ids[0])
        _ = bench.wait(until: bench.now + .milliseconds(900))
      }
      _ = bench.wait(until: .boot + .seconds(pause))
      _ = bench.stream(Self.epoch(pause, at: Self.far), from: ids[1])
      expect(bench.wait().contains { $0.hasPrefix("fix") }, "\(fixes) fixes, then \(pause) s")
    }
  }

  @Test("if two senders share an address, the first keeps its slot while it has a fix")
  func twoPorts() {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    var effects: [String] = []
    for second in 1...40 {
      bench.now = .boot + .seconds(second)
      effects += bench.datagram(Self.epoch(second))
      effects += bench.wait(until: bench.now + .milliseconds(500))
      guard second > 5 else { continue }
      for _ in 0..<5 { effects += bench.datagram(Self.epoch(second, at: Self.far), port: 6000) }
      effects += bench.wait(until: bench.now + .milliseconds(400))
    }
    expectEqual(effects.filter { $0.hasPrefix("fix") }, (1...40).map { "fix \($0)" })
    expectEqual(bench.session.lineStatistics.refusedSenders.map(\.reason), [.portInUse])
    expectEqual(bench.session.lineStatistics.refusedSenders.map(\.count), [175])
    // The first sender falls silent: the second gets its slot, but is too distant to be used at once.
    var later: [String] = []
    for second in 41...130 {
      bench.now = .boot + .seconds(second)
      later += bench.datagram(Self.epoch(second, at: Self.far), port: 6000)
      later += bench.wait(until: bench.now + .milliseconds(900))
    }
    // The second sender has the slot from 51 s on, and its fixes are used a minute later.
    expectEqual(later.first { $0.hasPrefix("fix") }, "fix 51", "\(later)")
  }

  @Test("of two senders that share an address, the first keeps its slot during a pause")
  func twoPortsUnneeded() {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    var effects: [String] = []
    for second in 1...59 {
      bench.now = .boot + .seconds(second)
      if second == 10 { _ = bench.handle(.needed(false)) }
      if second == 50 { _ = bench.handle(.needed(true)) }
      let isRead = second < 10 || second % 20 == 10 || second >= 50
      guard isRead else { continue }
      if second > 5 { effects += bench.datagram(Self.epoch(second, at: Self.far), port: 6000) }
      effects += bench.datagram(Self.epoch(second))
      if second == 50 { _ = bench.handle(.drained) }
      effects += bench.wait(until: bench.now + .milliseconds(500))
    }
    expectEqual(
      effects.filter { $0.hasPrefix("fix") }, (Array(1...9) + Array(51...59)).map { "fix \($0)" }, "\(effects)")
  }

  @Test("a sender is read even if it uses a different port for each epoch, or restarts with a different port")
  func newPorts() {
    var bench = Bench(.datagrams(isMulticast: false))
    _ = bench.handle(.opened())
    var effects: [String] = []
    for second in 1...30 {
      bench.now = .boot + .seconds(second)
      effects += bench.datagram(Self.epoch(second), port: 5000 + UInt16(second))
      effects += bench.wait(until: bench.now + .milliseconds(900))
    }
    expectEqual(effects.filter { $0.hasPrefix("fix") }.count, 30)
    for second in 31...60 {
      bench.now = .boot + .seconds(second)
      effects += bench.datagram(Self.epoch(second), port: second < 40 ? 7000 : 8000)
      effects += bench.wait(until: bench.now + .milliseconds(900))
    }
    // A restarted sender is used after the silence timeout.
    let fixes = effects.filter { $0.hasPrefix("fix") }.dropFirst(30)
    expectEqual(Array(fixes), ((31...39).map { "fix \($0)" } + (49...59).map { "fix \($0)" } + ["fix 0"]), "\(fixes)")
    expectEqual(bench.session.lineStatistics.refusedSenders.map(\.reason), [.portInUse])
  }

  private static let nothing =
    "lost net has received nothing for 10 s; check the sender's settings, its address in source.allow and the firewall; still listening"

  @Test("after silence is reported, the socket stays open, the group is joined again, and the first datagram is read")
  func silence() {
    var bench = Bench(.datagrams(isMulticast: true))
    _ = bench.handle(.opened())
    _ = bench.datagram(Self.epoch(1))
    expectEqual(bench.wait(), ["fix 1"])
    expectEqual(bench.wait(), [Self.nothing])
    expectEqual(bench.wait(), ["rejoin"])
    expectEqual(bench.wait(), [Self.nothing])
    expectEqual(bench.datagram(Self.epoch(2)), ["reading net, from 192.168.0.1"])
    expectEqual(bench.wait(), ["fix 2"])
    // The interface is gone: the socket is reopened.
    expectEqual(bench.handle(.ended("no such device")), ["lost no such device"])
    expectEqual(bench.wait(), ["open"])
  }

  @Test(
    "after silence has been reported, the session has no deadline until data from an allowed sender arrives",
    arguments: [.listener(maximumConnections: 2), .datagrams(isMulticast: false)] as [NMEANetworkSession.Transport])
  func idle(transport: NMEANetworkSession.Transport) {
    var bench = Bench(transport)
    _ = bench.handle(.opened())
    expectEqual(bench.wait(), [Self.nothing])
    expectNil(bench.session.nextDeadline)
    for _ in 0..<9 { _ = bench.datagram(Self.epoch(1), from: Self.stranger) }
    expectNil(bench.session.nextDeadline)
    let id = transport == .datagrams(isMulticast: false) ? nil : bench.session.admit(Self.router, at: bench.now)?.id
    expectNil(bench.session.nextDeadline)
    func send(_ text: String) -> [String] { id == nil ? bench.datagram(text) : bench.stream(text, from: id) }
    expectEqual(send("noise\r\n"), [])
    expectEqual(bench.wait(until: bench.now + .seconds(60)).map { $0.contains("no complete NMEA sentence") }, [true])
    expectNil(bench.session.nextDeadline)
    expectEqual(send(Self.epoch(1)), ["reading net, from 192.168.0.1"])
    expectEqual(bench.wait(), ["fix 1"])
  }

  @Test("a sender that was silent is read again on the same connection")
  func pause() {
    var bench = Bench(.listener(maximumConnections: 1))
    _ = bench.handle(.opened())
    let id = bench.session.admit(Self.router, at: bench.now)?.id
    _ = bench.stream(Self.epoch(1), from: id)
    expectEqual(bench.wait(), ["fix 1"])
    expectEqual(bench.wait(until: .boot + .seconds(100)), [Self.nothing])
    expectEqual(bench.session.lineStatistics.senders, [.init(Self.router, isUsed: false)])
    expectEqual(bench.stream(Self.epoch(2), from: id), ["reading net, from 192.168.0.1"])
    expectEqual(bench.wait(), ["fix 2"])
    expectEqual(bench.session.lineStatistics.senders, [.init(Self.router, isUsed: true)])
  }

  @Test("an unterminated line is not buffered, and the next line is read")
  func endless() {
    var bench = Bench(.connection)
    _ = bench.handle(.opened())
    for _ in 0..<256 { _ = bench.stream("$" + String(repeating: "A", count: 4095)) }
    expect(bench.session.lineStatistics.counters.overlong >= 256)
    expectEqual(bench.stream("\r\n" + Self.epoch(1)), ["reading net"])
    expectEqual(bench.wait(), ["fix 1"])
  }
}
