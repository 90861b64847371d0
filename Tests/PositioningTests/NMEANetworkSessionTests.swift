// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Positioning
import Testing
import Timekeeping

/// Transcripts: what comes from the network, what is done with sockets, and what is reported.
@Suite struct NMEANetworkSessionTests {
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

    mutating func handle(_ input: NMEANetworkSession.Input) -> [String] { brief(session.handle(input, at: now)) }

    /// Lets time pass until the next deadline.
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

    mutating func datagram(_ text: String, from address: IPAddress = NMEANetworkSessionTests.router) -> [String] {
      brief(session.receive(datagram: Array(text.utf8).span, from: address, at: now))
    }

    mutating func stream(_ text: String, from id: Int? = nil) -> [String] {
      brief(session.receive(Array(text.utf8).span, from: id, at: now))
    }

    private func brief(_ effects: [NMEANetworkSession.Effect]) -> [String] {
      effects.map { effect in
        switch effect {
        case .open: "open"
        case .close: "close"
        case .rejoin: "rejoin"
        case .report(.fix(let fix)): "fix \((fix.timestamp?.milliseconds ?? 0) / 1000 % 60)"
        case .report(.reading(let name)): "reading \(name)"
        case .report(.lost(let why)): "lost \(why)"
        case .report(.sky(let count)): "\(count) in view"
        case .report(.ended): "ended"
        }
      }
    }
  }

  /// RMC and GGA of a second, with line ends or without.
  private static func epoch(_ second: Int, end: String = "\r\n") -> String {
    let time = "1200\(second < 10 ? "0" : "")\(second)"
    return [
      "GPRMC,\(time),A,4500.0,N,00100.0,E,10.0,0.0,010124,,,A", "GPGGA,\(time),4500.0,N,00100.0,E,1,08,1.0,10,M,,M,,",
    ].map { String(sentence($0).dropLast()) + end }.joined()
  }

  @Test("a connection is opened, read, and opened again when it ends or falls silent")
  func connection() {
    var bench = Bench(.connection)
    #expect(bench.handle(.openFailed("refused")) == ["lost refused"])
    #expect(bench.wait() == ["open"])
    #expect(bench.handle(.opened) == [])
    #expect(bench.stream(Self.epoch(1)) == ["reading net"])
    #expect(bench.wait() == ["fix 1"])
    #expect(bench.stream(String(Self.epoch(2).prefix(40))) == [])
    #expect(bench.handle(.ended("closed by the other side")) == ["lost closed by the other side"])
    #expect(bench.wait() == ["open"])
    #expect(bench.handle(.opened) == [])
    // Half a sentence of the connection before is no part of one of this.
    #expect(bench.stream(Self.epoch(3)) == ["reading net"])
    #expect(bench.wait() == ["fix 3"])
    #expect(
      bench.wait() == [
        "close",
        "lost net accepts the connection but sends nothing for 10 s; check the sender's receiver and its settings; connecting again",
      ])
    #expect(bench.session.lineStatistics.counters.sentences == 4)
  }

  @Test(
    "several sentences of one datagram are read, with line ends between them or without", arguments: ["\r\n", "\n", ""])
  func datagrams(end: String) {
    var bench = Bench(.datagrams(isGroup: false))
    _ = bench.handle(.opened)
    #expect(bench.datagram(Self.epoch(1, end: end)) == ["reading net, from 192.168.0.1"])
    #expect(bench.wait() == ["fix 1"])
    bench.now = .boot + .seconds(1)
    #expect(bench.datagram("\\s:r1,c:1120959341*51\\" + Self.epoch(2, end: end)) == [])
    #expect(bench.wait() == ["fix 2"])
    #expect(bench.session.lineStatistics.counters.foreign == 1)
    #expect(bench.session.lineStatistics.counters.unchecked == 0)
  }

  @Test(
    "lines of other languages are skipped and counted, one to a datagram or before a sentence",
    arguments: [
      ">RPV15714+3739438-1220384601512612;ID=1234;*7F<", "!AIVDM,1,1,,B,177KQJ5000G?tO`K>RA1wUbN0TKH,0*5C",
      sentence("PCPTI,IBR600-729,120000,120001"), "\\s:r1,c:1120959341*51\\", "IBR600-729,",
    ])
  func foreign(line: String) {
    var bench = Bench(.datagrams(isGroup: false))
    _ = bench.handle(.opened)
    _ = bench.datagram(line)
    #expect(bench.session.lineStatistics.counters.foreign == 1)
    _ = bench.datagram(line + Self.epoch(1))
    #expect(bench.wait() == ["fix 1"])
    #expect(bench.session.lineStatistics.counters.foreign == 2)
    #expect(
      bench.session.lineStatistics.counters.wrongChecksum == 0 && bench.session.lineStatistics.counters.unchecked == 0)
  }

  @Test("a sentence that a datagram cuts is not joined with the next, and counted")
  func cut() {
    var bench = Bench(.datagrams(isGroup: false))
    _ = bench.handle(.opened)
    let whole = Self.epoch(1)
    _ = bench.datagram(String(whole.prefix(30)))
    _ = bench.datagram(String(whole.dropFirst(30)))
    #expect(bench.session.lineStatistics.counters.unchecked == 1)
    #expect(bench.session.lineStatistics.counters.sentences == 1)
  }

  @Test("datagrams that overtake each other give each epoch once, in the order of time")
  func reordered() {
    var bench = Bench(.datagrams(isGroup: false))
    _ = bench.handle(.opened)
    var fixes: [String] = []
    for (second, late) in [(1, nil), (2, nil), (4, 3), (5, nil), (6, 5), (7, 6)] as [(Int, Int?)] {
      bench.now = .boot + .seconds(second)
      fixes += bench.datagram(Self.epoch(second))
      if let late { fixes += bench.datagram(Self.epoch(late)) }
      fixes += bench.wait(until: bench.now + .milliseconds(800))
    }
    #expect(fixes.filter { $0.hasPrefix("fix") } == ["fix 1", "fix 2", "fix 4", "fix 5", "fix 6", "fix 7"])
    #expect(bench.session.lineStatistics.counters.late == 6)
  }

  @Test("a stream whose clock goes back is no reordering")
  func clock() {
    var bench = Bench(.connection)
    _ = bench.handle(.opened)
    _ = bench.stream(Self.epoch(30))
    #expect(bench.wait() == ["fix 30"])
    bench.now = .boot + .seconds(1)
    _ = bench.stream(Self.epoch(25))
    #expect(bench.wait() == ["fix 25"])
  }

  @Test("nothing of a sender that is not allowed is read, and it is named")
  func refused() {
    var bench = Bench(.datagrams(isGroup: false))
    _ = bench.handle(.opened)
    for _ in 0..<3 { #expect(bench.datagram(Self.epoch(1), from: Self.stranger) == []) }
    #expect(bench.session.lineStatistics.counters == NMEADecoder.Counters())
    #expect(bench.session.lineStatistics.senders.isEmpty)
    #expect(bench.session.lineStatistics.refused.map(\.address) == [Self.stranger])
    #expect(bench.session.lineStatistics.refused.map(\.count) == [3])
    let other = IPAddress(v4: 0x0A00_0008)
    _ = bench.datagram("$", from: other)
    bench.now = .boot + .seconds(5)
    _ = bench.datagram("$", from: Self.stranger)
    #expect(bench.session.lineStatistics.refused.map(\.address) == [other, Self.stranger])
    #expect(bench.session.lineStatistics.refused.map(\.count) == [1, 4])
    #expect(bench.session.lineStatistics.refused.last?.last == .boot + .seconds(5))
    #expect(bench.session.lineStatistics.refusals == 5)
    var server = Bench(.listener(connections: 4))
    _ = server.handle(.opened)
    let refused = server.session.admit(Self.stranger, at: server.now)
    #expect(refused == nil)
    #expect(server.session.lineStatistics.refused.map(\.address) == [Self.stranger])
  }

  @Test("a flood of senders that are not allowed takes no memory")
  func flood() {
    var bench = Bench(.datagrams(isGroup: false))
    _ = bench.handle(.opened)
    for number in 0..<10_000 {
      #expect(bench.datagram("$", from: IPAddress(v4: 0x0A00_0000 + UInt32(number))) == [])
    }
    #expect(bench.session.lineStatistics.refused.count == 4)
  }

  @Test("with more allowed senders than can be read, the others wait until one is silent")
  func places() {
    var bench = Bench(.datagrams(isGroup: false))
    _ = bench.handle(.opened)
    for number in 0..<100 { _ = bench.datagram(Self.epoch(1), from: IPAddress(v4: 0xC0A8_0000 + UInt32(number))) }
    #expect(bench.session.lineStatistics.senders.count == NMEANetworkSession.maximumDatagramSenders)
    _ = bench.wait(until: .boot + .seconds(11))
    #expect(bench.session.lineStatistics.senders.isEmpty)
    var server = Bench(.listener(connections: 2))
    _ = server.handle(.opened)
    let ids = (0..<1000).map { _ in server.session.admit(Self.router, at: server.now) }
    #expect(ids.compactMap(\.self).count == 2)
    // They say nothing, and the one that has for longest makes room.
    #expect(server.wait(until: .boot + .seconds(10)).filter { !$0.hasPrefix("lost") } == [])
    let next = server.session.admit(Self.router, at: server.now)
    #expect(next == NMEANetworkSession.Admission(id: 3, replaced: 1))
  }

  @Test("the first sender with a fix is used until it is gone or silent, and the sentences of two are never one epoch")
  func senders() throws {
    var bench = Bench(.listener(connections: 4))
    _ = bench.handle(.opened)
    let admitted = [Self.router, Self.spare].map { bench.session.admit($0, at: bench.now) }
    let (first, second) = (try #require(admitted[0]).id, try #require(admitted[1]).id)
    func void(_ second: Int) -> String { sentence("GPRMC,12000\(second),V,,,,,,,010124,,,N") }
    #expect(bench.stream(void(1), from: first) == ["reading net, from 192.168.0.1"])
    #expect(bench.stream(String(Self.epoch(1).prefix(50)), from: second) == [])
    #expect(bench.stream(void(2), from: first) == [])
    #expect(bench.stream(String(Self.epoch(1).dropFirst(50)), from: second) == [])
    #expect(bench.wait() == ["reading net, from 192.168.0.2", "fix 1"])
    #expect(
      bench.session.lineStatistics.senders == [.init(Self.router, isUsed: false), .init(Self.spare, isUsed: true)])
    // The other has a fix as well, and is in reserve.
    bench.now = .boot + .seconds(2)
    _ = bench.stream(Self.epoch(2), from: first)
    _ = bench.stream(Self.epoch(2), from: second)
    #expect(bench.wait(until: .boot + .seconds(3)) == ["fix 2"])
    #expect(bench.handle(.left(second)) == [])
    _ = bench.stream(Self.epoch(3), from: first)
    #expect(bench.wait(until: .boot + .seconds(4)) == ["reading net, from 192.168.0.1", "fix 3"])
  }

  @Test("a sender that has lost its fix is left for one that has one after the silence timeout")
  func fixLost() {
    var bench = Bench(.datagrams(isGroup: false))
    _ = bench.handle(.opened)
    _ = bench.datagram(Self.epoch(0))
    var used: [String] = []
    for second in 1...30 {
      used += bench.wait(until: .boot + .seconds(second))
      used += bench.datagram(sentence("GPRMC,1200\(second < 10 ? "0" : "")\(second),V,,,,,,,010124,,,N"))
      used += bench.datagram(Self.epoch(second), from: Self.spare)
    }
    #expect(used.first == "fix 0")
    #expect(used.dropFirst().first == "reading net, from 192.168.0.2")
    #expect(used.last?.hasPrefix("fix") == true)
    #expect(used.contains("fix 11") && !used.contains("fix 8"))
  }

  private static let nothing =
    "lost net has received nothing for 10 s; check the sender's settings, its address in source.allow and the firewall; still listening"

  @Test("silence is reported while the socket stays open, the group is joined again, and the first datagram ends it")
  func silence() {
    var bench = Bench(.datagrams(isGroup: true))
    _ = bench.handle(.opened)
    _ = bench.datagram(Self.epoch(1))
    #expect(bench.wait() == ["fix 1"])
    #expect(bench.wait() == [Self.nothing])
    #expect(bench.wait() == ["rejoin"])
    #expect(bench.wait() == [Self.nothing])
    #expect(bench.datagram(Self.epoch(2)) == ["reading net, from 192.168.0.1"])
    #expect(bench.wait() == ["fix 2"])
    // The interface is gone: the socket is opened anew.
    #expect(bench.handle(.ended("no such device")) == ["lost no such device"])
    #expect(bench.wait() == ["open"])
  }

  @Test(
    "after the silence has been reported nothing is done until something comes",
    arguments: [.listener(connections: 2), .datagrams(isGroup: false)] as [NMEANetworkSession.Transport])
  func idle(transport: NMEANetworkSession.Transport) {
    var bench = Bench(transport)
    _ = bench.handle(.opened)
    #expect(bench.wait() == [Self.nothing])
    #expect(bench.session.nextDeadline == nil)
    for _ in 0..<9 { _ = bench.datagram(Self.epoch(1), from: Self.stranger) }
    #expect(bench.session.nextDeadline == nil)
    let id = transport == .datagrams(isGroup: false) ? nil : bench.session.admit(Self.router, at: bench.now)?.id
    #expect(bench.session.nextDeadline == nil)
    func send(_ text: String) -> [String] { id == nil ? bench.datagram(text) : bench.stream(text, from: id) }
    #expect(send("noise\r\n") == [])
    #expect(bench.wait(until: bench.now + .seconds(60)).map { $0.contains("no whole NMEA sentence") } == [true])
    #expect(bench.session.nextDeadline == nil)
    #expect(send(Self.epoch(1)) == ["reading net, from 192.168.0.1"])
    #expect(bench.wait() == ["fix 1"])
  }

  @Test("a sender that was silent continues on its connection")
  func pause() {
    var bench = Bench(.listener(connections: 1))
    _ = bench.handle(.opened)
    let id = bench.session.admit(Self.router, at: bench.now)?.id
    _ = bench.stream(Self.epoch(1), from: id)
    #expect(bench.wait() == ["fix 1"])
    #expect(bench.wait(until: .boot + .seconds(100)) == [Self.nothing])
    #expect(bench.session.lineStatistics.senders == [.init(Self.router, isUsed: false)])
    #expect(bench.stream(Self.epoch(2), from: id) == ["reading net, from 192.168.0.1"])
    #expect(bench.wait() == ["fix 2"])
    #expect(bench.session.lineStatistics.senders == [.init(Self.router, isUsed: true)])
  }

  @Test("a line without end stores nothing, and the next one is read")
  func endless() {
    var bench = Bench(.connection)
    _ = bench.handle(.opened)
    for _ in 0..<256 { _ = bench.stream("$" + String(repeating: "A", count: 4095)) }
    #expect(bench.session.lineStatistics.counters.overlong >= 256)
    #expect(bench.stream("\r\n" + Self.epoch(1)) == ["reading net"])
    #expect(bench.wait() == ["fix 1"])
  }
}
