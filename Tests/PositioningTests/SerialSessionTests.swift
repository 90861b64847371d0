// SPDX-License-Identifier: Apache-2.0
import Positioning
import Testing
import Timekeeping

/// Transcripts: what the receiver does, what is done with the port, and what is reported.
@Suite struct SerialSessionTests {
  private struct Bench {
    var session: SerialSession
    var now = BootInstant.boot

    init(baud: Int?) {
      session = SerialSession(device: "/dev/gps0", baud: baud, silenceTimeout: .seconds(10), seed: 1)
    }

    mutating func tell(_ input: SerialSession.Input) -> [String] { brief(session.handle(input, at: now)) }

    /// Lets time pass until the next deadline.
    mutating func wait() -> [String] {
      now = max(now, session.nextDeadline ?? now)
      return tell(.deadline)
    }

    /// A burst of this second of a minute.
    mutating func receive(_ second: Int, garbled: Bool = false) -> [String] {
      let body = "GPRMC,1200\(second < 10 ? "0" : "")\(second),A,4500.0,N,00100.0,E,10.0,0.0,010124,,,A"
      let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
      var bytes = Array("$\(body)*\(sum.count < 2 ? "0" : "")\(sum)\r\n".utf8)
      if garbled { bytes = bytes.map { $0 ^ 0x5A } }
      return brief(session.receive(bytes.span, at: now))
    }

    /// A sentence without its `$` and checksum.
    mutating func receive(_ body: String) -> [String] {
      let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
      return receive(bytes: Array("$\(body)*\(sum.count < 2 ? "0" : "")\(sum)\r\n".utf8))
    }

    mutating func receive(bytes: [UInt8]) -> [String] { brief(session.receive(bytes.span, at: now)) }

    private func brief(_ effects: [SerialSession.Effect]) -> [String] {
      effects.map { effect in
        switch effect {
        case .open(let baud): "open at \(baud)"
        case .setSpeed(let baud): "set to \(baud)"
        case .close: "close"
        case .report(.fix(let fix)): "fix \((fix.timestamp?.milliseconds ?? 0) / 1000 % 60)"
        case .report(.reading(let name)): "reading \(name)"
        case .report(.lost(let why)): "lost \(why)"
        case .report(.sky(let count)): "\(count) in view"
        case .report(.ended): "ended"
        }
      }
    }
  }

  @Test("a receiver of a known speed is opened, named with its first sentence, and its silences end epochs")
  func read() {
    var bench = Bench(baud: 4800)
    #expect(bench.session.nextDeadline == .boot)
    #expect(bench.tell(.start) == ["open at 4800"])
    #expect(bench.tell(.opened(isTerminal: true)) == [])
    bench.now = bench.now + .seconds(1)
    #expect(bench.receive(1) == ["reading /dev/gps0 at 4800 baud"])
    let deadline = bench.session.nextDeadline ?? .distantFuture
    #expect(deadline > bench.now && deadline < bench.now + .seconds(1))
    #expect(bench.wait() == ["fix 1"])
    bench.now = .boot + .seconds(2)
    #expect(bench.receive(2) == [])
    #expect(bench.wait() == ["fix 2"])
    // Then it falls silent, and is opened again.
    #expect(
      bench.wait() == [
        "close",
        "lost /dev/gps0 is open but silent for 10 s: check the receiver and its power; opening it again",
      ])
    #expect(bench.now == .boot + .seconds(12))
    #expect(bench.wait() == ["open at 4800"])
  }

  @Test("a receiver that is unplugged is reported lost, and opened at once when its device appears")
  func replug() {
    var bench = Bench(baud: 4800)
    _ = bench.tell(.start)
    _ = bench.tell(.opened(isTerminal: true))
    _ = bench.receive(1)
    // The epoch that was being received ends with the port.
    #expect(bench.tell(.ended("/dev/gps0: unplugged")) == ["fix 1", "lost /dev/gps0: unplugged"])
    // Nothing is decoded while the port is closed.
    #expect(bench.receive(2) == [])
    #expect(bench.tell(.appeared) == ["open at 4800"])
    #expect(bench.tell(.openFailed("/dev/gps0: no rights")) == ["lost /dev/gps0: no rights"])
    #expect(bench.wait() == ["open at 4800"])
    _ = bench.tell(.opened(isTerminal: true))
    #expect(bench.receive(3) == ["reading /dev/gps0 at 4800 baud"])
  }

  @Test("an unknown speed is searched for: each is tried in turn, one that the device refuses is passed over")
  func probe() {
    var bench = Bench(baud: nil)
    #expect(bench.tell(.start) == ["open at 9600"])
    #expect(bench.tell(.opened(isTerminal: true)) == [])
    #expect(bench.receive(1, garbled: true) == [])
    #expect(bench.wait() == ["set to 4800"])
    #expect(bench.wait() == ["set to 38400"])
    #expect(bench.tell(.speedRefused) == ["set to 115200"])
    bench.now = bench.now + .seconds(1)
    // One sentence may be chance.
    #expect(bench.receive(1) == [])
    bench.now = bench.now + .seconds(1)
    #expect(bench.receive(2) == ["reading /dev/gps0 at 115200 baud, found by itself", "fix 1"])
    #expect(bench.wait() == ["fix 2"])
    // After a replug it comes first.
    #expect(bench.tell(.ended("unplugged")) == ["lost unplugged"])
    #expect(bench.tell(.appeared) == ["open at 115200"])
  }

  @Test("satellites in view are reported as long as there is no fix, of all systems together, and when they change")
  func sky() {
    var bench = Bench(baud: 4800)
    _ = bench.tell(.start)
    _ = bench.tell(.opened(isTerminal: true))
    #expect(bench.receive("GPRMC,120000,V,,,,,,,010124,,,N") == ["reading /dev/gps0 at 4800 baud"])
    #expect(bench.receive("GPGSV,1,1,02,05,40,120,30,07,20,200,25") == ["2 in view"])
    #expect(bench.receive("GLGSV,1,1,01,70,40,120,30") == ["3 in view"])
    #expect(bench.receive("GLGSV,1,1,01,70,41,120,30") == [])
    #expect(bench.receive("GPGSV,1,1,00") == ["1 in view"])
    #expect(bench.receive("GPGSV,1,1,xx") == [])
    // A fix says more.
    bench.now = bench.now + .seconds(1)
    _ = bench.receive(1)
    #expect(bench.wait() == ["fix 1"])
    #expect(bench.receive("GPGSV,1,1,04,05,40,120,30") == [])
    bench.now = bench.now + .seconds(11)
    #expect(bench.receive("GPGSV,1,1,04,05,40,120,30").contains("5 in view"))
  }

  @Test("a receiver that sends u-blox's binary protocol alone is not said to have a wrong speed")
  func binary() {
    var bench = Bench(baud: 9600)
    _ = bench.tell(.start)
    _ = bench.tell(.opened(isTerminal: true))
    // The two bytes with which a message begins may come apart.
    for bytes in [[0xB5, 0x62, 1, 7, 92, 0, 0xB5], [0x62, 1, 7, 92, 0]] as [[UInt8]] {
      #expect(bench.receive(bytes: bytes) == [])
    }
    #expect(
      bench.wait() == [
        "close",
        "lost /dev/gps0 sends u-blox's binary protocol and no NMEA sentence for 10 s: switch NMEA on in the receiver, or let gpsd read it; opening it again",
      ])
    // The next one may be another receiver.
    _ = bench.wait()
    _ = bench.tell(.opened(isTerminal: true))
    #expect(bench.receive(bytes: [1, 2, 3]) == [])
    #expect(bench.wait().last?.contains("check source.baud") == true)
  }

  @Test("what is no terminal has no speed to search for")
  func pipe() {
    var bench = Bench(baud: nil)
    _ = bench.tell(.start)
    _ = bench.tell(.opened(isTerminal: false))
    #expect(bench.receive(1) == ["reading /dev/gps0"])
    #expect(bench.wait() == ["fix 1"])
    #expect(bench.tell(.speedRefused) == [])
  }

  @Test("bytes without a sentence at any speed are said to be no NMEA")
  func noise() {
    var bench = Bench(baud: nil)
    _ = bench.tell(.start)
    _ = bench.tell(.opened(isTerminal: true))
    var said = [String]()
    while said.isEmpty {
      _ = bench.receive(1, garbled: true)
      said = bench.wait().filter { !$0.hasPrefix("set to") }
    }
    #expect(
      said == [
        "close",
        "lost /dev/gps0 sends bytes but no whole NMEA sentence at any speed for 45 s: does the receiver speak NMEA 0183?; opening it again",
      ])
  }
}
