// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import FixSources
import NMEATesting
import Testing
import Timekeeping

/// Transcripts of a session: the receiver's data, operations on the port, and reports.
struct SerialSessionTests {
  private struct Bench {
    var session: SerialSession
    var now = BootInstant.boot

    init(baud: Int?) {
      session = SerialSession(device: "/dev/gps0", baud: baud, silenceTimeout: .seconds(10), seed: 1)
    }

    mutating func handle(_ input: SourceInput) -> [String] { brief(session.handle(input, at: now)) }

    /// Advances to the next deadline; reads that return nothing are omitted.
    mutating func wait() -> [String] {
      while true {
        now = max(now, session.nextDeadline ?? now)
        var effects = session.handle(.deadline, at: now)
        let isRead = effects == [.line(.read)]
        if isRead { effects = session.handle(.drained, at: now) }
        guard isRead, effects == [.line(.watch)] else { return brief(effects) }
      }
    }

    /// Receives a burst for this second of a minute.
    mutating func receive(_ second: Int, garbled: Bool = false) -> [String] {
      let body = "GPRMC,1200\(second < 10 ? "0" : "")\(second),A,4500.0,N,00100.0,E,10.0,0.0,010124,,,A"
      let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
      var bytes = Array("$\(body)*\(sum.count < 2 ? "0" : "")\(sum)\r\n".utf8)
      if garbled { bytes = bytes.map { $0 ^ 0x5A } }
      return brief(session.receive(bytes.span, at: now))
    }

    /// Receives a sentence, which is given without its `$` and checksum.
    mutating func receive(_ body: String) -> [String] {
      let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
      return receive(bytes: Array("$\(body)*\(sum.count < 2 ? "0" : "")\(sum)\r\n".utf8))
    }

    mutating func receive(bytes: [UInt8]) -> [String] { brief(session.receive(bytes.span, at: now)) }

    /// Omits effects that only control reading, which have their own tests.
    private func brief(_ effects: [SourceEffect]) -> [String] {
      effects.compactMap { effect in
        switch effect {
        case .line(.open(let baud)): "open at \(baud ?? 0)"
        case .line(.setBaud(let baud)): "set to \(baud)"
        case .line(.close): "close"
        case .line: nil
        case .report(.fix(let fix)): "fix \((fix.timestamp?.milliseconds ?? 0) / 1000 % 60)"
        case .report(.reading(let name)): "reading \(name)"
        case .report(.lost(let why)): "lost \(why)"
        case .report(.sky(let count)): "\(count) in view"
        case .report(.detecting(let what)): "detecting: \(what)"
        case .report(.ended): "ended"
        }
      }
    }
  }

  @Test("a receiver with a known baud rate is opened, and reported at its first sentence; a pause ends an epoch")
  func read() {
    var bench = Bench(baud: 4800)
    expectEqual(bench.session.nextDeadline, .boot)
    expectEqual(bench.handle(.start), ["open at 4800"])
    expectEqual(bench.handle(.opened(isTerminal: true)), [])
    bench.now = bench.now + .seconds(1)
    expectEqual(bench.receive(1), ["reading /dev/gps0 at 4800 baud"])
    let deadline = bench.session.nextDeadline ?? .distantFuture
    expect(deadline > bench.now && deadline < bench.now + .seconds(1))
    expectEqual(bench.wait(), ["fix 1"])
    bench.now = .boot + .seconds(2)
    expectEqual(bench.receive(2), [])
    expectEqual(bench.wait(), ["fix 2"])
    // The receiver falls silent, and its port is reopened.
    expectEqual(
      bench.wait(),
      [
        "close",
        "lost /dev/gps0 is open but silent for 10 s; check the receiver and its power; reopening it",
      ])
    expectEqual(bench.now, .boot + .seconds(12))
    expectEqual(bench.wait(), ["open at 4800"])
  }

  @Test(
    "if 16 bytes arrive at a time, wake-ups are few, and each fix is available within 200 ms of the end of its burst",
    arguments: [
      (115_200, 1, 12, 3.2), (115_200, 10, 12, 16), (9600, 1, 12, 16), (9600, 1, 1, 6), (9600, 5, 0, 16),
      (38_400, 5, 1, 16),
      (921_600, 10, 12, 31),
    ] as [(Int, Int, Int, Double)])
  func bursts(baud: Int, rate: Int, sentences: Int, most: Double) {
    var line = UARTLine(baud: baud)
    line.sentences = Array(UARTLine.manySentences.prefix(sentences == 0 ? 0 : sentences + 1))
    for number in 0..<50 * rate { line.burst(at: Int64(number * 1000 / rate)) }
    line.run()
    // The receiver sends for 50 s, and is then silent.
    expect(Double(line.wakeUpTimes.count) / 50 < most, "\(Double(line.wakeUpTimes.count) / 50)")
    // No burst is split, and no fix is missing.
    let delays = line.delays()
    expectEqual(delays.count, 50 * rate)
    expect(delays.allSatisfy { $0 <= .milliseconds(200) }, "\(delays.max() ?? .zero)")
  }

  @Test(
    "after the first bytes of a burst the port is read every 100 ms, until a read ends with a sentence or is empty"
  )
  func reading() {
    var session = SerialSession(device: "/dev/gps0", baud: 9600, silenceTimeout: .seconds(10), seed: 1)
    func at(_ milliseconds: Int64) -> BootInstant { .boot + .milliseconds(milliseconds) }
    let bytes = Array("$GP".utf8)
    let flood = [UInt8](repeating: 65, count: 4096)
    _ = session.handle(.start, at: .boot)
    expectEqual(session.handle(.opened(isTerminal: true), at: .boot), [])
    expectEqual(session.receive(bytes.span, at: at(5)), [.line(.pause)])
    expectEqual(session.nextDeadline, at(105))
    expectEqual(session.handle(.deadline, at: at(104)), [])
    expectEqual(session.handle(.deadline, at: at(105)), [.line(.read)])
    expectEqual(session.receive(bytes.span, at: at(105)), [])
    expectEqual(session.handle(.drained, at: at(105)), [])
    expectEqual(session.nextDeadline, at(205))
    expectEqual(session.handle(.deadline, at: at(210)), [.line(.read)])
    expectEqual(session.handle(.drained, at: at(210)), [.line(.watch)])
    expectEqual(session.receive(bytes.span, at: at(220)), [.line(.pause)])
    expectEqual(session.handle(.deadline, at: at(320)), [.line(.read)])
    let sentence = Array("$GPRMC,120001,V,,,,,,,010124,,,N*57\r\n".utf8)
    _ = session.receive(sentence.span, at: at(320))
    expectEqual(session.handle(.drained, at: at(320)), [.line(.watch)])
    // Data that arrives faster than it is read is read at once.
    expectEqual(session.receive(flood.span, at: at(400)), [])
    expectEqual(session.receive(bytes.span, at: at(401)), [.line(.pause)])
    expectEqual(session.handle(.deadline, at: at(501)), [.line(.read)])
    expectEqual(session.receive(flood.span, at: at(501)), [.line(.watch)])
    expectEqual(session.handle(.drained, at: at(501)), [])
    // A reopened port is watched, even if it was paused when it was lost.
    expectEqual(session.receive(bytes.span, at: at(502)), [.line(.pause)])
    _ = session.handle(.ended("gone"), at: at(503))
    _ = session.handle(.appeared, at: at(504))
    _ = session.handle(.opened(isTerminal: true), at: at(504))
    expectEqual(session.receive(bytes.span, at: at(505)), [.line(.pause)])
  }

  @Test(
    "a fast line is read again before the kernel's buffer of 4,095 bytes is full",
    arguments: [(9600, 100_000), (115_200, 100_000), (230_400, 88_888), (460_800, 44_444), (921_600, 22_222)])
  func period(baud: Int, microseconds: Int64) {
    var session = SerialSession(device: "/dev/gps0", baud: baud, silenceTimeout: .seconds(10), seed: 1)
    let bytes = Array("$GP".utf8)
    _ = session.handle(.start, at: .boot)
    _ = session.handle(.opened(isTerminal: true), at: .boot)
    expectEqual(session.receive(bytes.span, at: .boot), [.line(.pause)])
    let first = BootInstant.boot + .microseconds(microseconds)
    expectEqual(session.nextDeadline, first)
    expectEqual(session.handle(.deadline, at: first), [.line(.read)])
    _ = session.receive(bytes.span, at: first)
    // The data ends in the middle of a sentence, so another read follows.
    expectEqual(session.handle(.drained, at: first), [])
    expectEqual(session.nextDeadline, first + .microseconds(microseconds))
  }

  @Test(
    "while no fix is needed, the port is drained every 20 s without reports; when a fix is needed, reading resumes"
  )
  func unneeded() {
    var bench = Bench(baud: 4800)
    _ = bench.handle(.start)
    _ = bench.handle(.opened(isTerminal: true))
    for second in 1...3 {
      bench.now = .boot + .seconds(second)
      _ = bench.receive(second)
      _ = bench.wait()
    }
    expectEqual(bench.session.handle(.needed(false), at: bench.now), [.line(.pause)])
    bench.now = bench.now + .seconds(20)
    expectEqual(bench.session.nextDeadline, bench.now)
    expectEqual(bench.session.handle(.deadline, at: bench.now), [.line(.read)])
    for second in 4...23 { expectEqual(bench.receive(second), []) }
    expectEqual(bench.session.handle(.drained, at: bench.now), [.line(.read)])
    expectEqual(bench.session.handle(.drained, at: bench.now), [])
    // A fix is needed again in the middle of a burst.
    bench.now = .boot + .seconds(29)
    expectEqual(bench.session.handle(.needed(true), at: bench.now), [.line(.read)])
    for second in 24...28 { expectEqual(bench.receive(second), []) }
    let burst = Array("$GPRMC,120029,A,4500.0,N,00100.0,E,10.0,0.0,010124,,,A*4F\r\n".utf8)
    expectEqual(bench.receive(bytes: Array(burst.prefix(20))), [])
    expectEqual(bench.session.handle(.drained, at: bench.now), [.line(.read)])
    expectEqual(bench.session.handle(.drained, at: bench.now), [.line(.watch)])
    expectEqual(bench.receive(bytes: Array(burst.dropFirst(20))), ["fix 29"])
  }

  @Test(
    "an epoch that is incomplete when a pause in reading ends gives no fix, unless its rest arrives after the pause",
    arguments: [
      // The last sentence of the epoch is lost.
      (["RMC 29"], ["RMC 30", "VTG", "GGA 30"], ["fix 30"]),
      (["RMC 29"], ["VTG", "RMC 30", "VTG", "GGA 30"], ["fix 30"]),
      (["RMC 29", "VTG"], ["RMC 30", "VTG", "GGA 30"], ["fix 30"]),
      // The rest of the epoch arrives after the pause.
      (["RMC 29"], ["VTG", "GGA 29"], ["fix 29"]),
      (["RMC 29", "VTG"], ["GGA 29"], ["fix 29"]),
      // A sentence in the middle of the epoch is lost.
      (["RMC 29"], ["GGA 29", "RMC 30"], ["fix 29"]),
    ] as [([String], [String], [String])])
  func openEpoch(before: [String], after: [String], fixes: [String]) {
    var bench = Bench(baud: 4800)
    func sentence(_ name: String) -> String {
      let second = name.suffix(2)
      return switch name.prefix(3) {
      case "RMC": "GPRMC,1200\(second),A,4500.0,N,00100.0,E,10.0,0.0,010124,,,A"
      case "GGA": "GPGGA,1200\(second),4500.0,N,00100.0,E,1,08,1.0,100.0,M,47.0,M,,"
      default: "GPVTG,0.0,T,,M,10.0,N,18.5,K,A"
      }
    }
    _ = bench.handle(.start)
    _ = bench.handle(.opened(isTerminal: true))
    for second in 11...20 {
      bench.now = .boot + .seconds(second)
      for name in ["RMC \(second)", "VTG", "GGA \(second)"] { _ = bench.receive(sentence(name)) }
    }
    _ = bench.handle(.needed(false))
    bench.now = .boot + .seconds(29)
    expectEqual(bench.session.handle(.needed(true), at: bench.now), [.line(.read)])
    for name in before { expectEqual(bench.receive(sentence(name)), []) }
    expectEqual(bench.session.handle(.drained, at: bench.now), [.line(.read)])
    expectEqual(bench.session.handle(.drained, at: bench.now), [.line(.watch)])
    let found = after.flatMap { bench.receive(sentence($0)) }
    // After an incomplete epoch, silence ends the next epoch.
    expectEqual((found.isEmpty ? bench.wait() : found), fixes)
  }

  @Test("data that was buffered while no fix was needed is discarded, but only for the first 3 s")
  func buffered() {
    for isBuffered in [true, false] {
      var bench = Bench(baud: 4800)
      _ = bench.handle(.start)
      _ = bench.handle(.opened(isTerminal: true))
      for second in 1...3 {
        bench.now = .boot + .seconds(second)
        _ = bench.receive(second)
        _ = bench.wait()
      }
      _ = bench.handle(.needed(false))
      bench.now = .boot + .seconds(14)
      expectEqual(bench.session.handle(.needed(true), at: bench.now), [.line(.read)])
      expectEqual(bench.session.handle(.drained, at: bench.now), [.line(.watch)])
      expectEqual(bench.receive(5), [])
      if isBuffered {
        bench.now = .boot + .seconds(15)
        expectEqual(bench.receive(15), ["fix 15"])
      } else {
        // The data is new: the receiver's time has changed.
        for second in 6...8 {
          bench.now = .boot + .seconds(second + 9)
          expectEqual(bench.receive(second), (second == 8 ? ["fix 8"] : []))
        }
      }
    }
  }

  @Test("a receiver that falls silent while no fix is needed is reported and reopened")
  func silentUnneeded() {
    var bench = Bench(baud: 4800)
    _ = bench.handle(.start)
    _ = bench.handle(.opened(isTerminal: true))
    _ = bench.handle(.needed(false))
    expectEqual(bench.receive(1), ["reading /dev/gps0 at 4800 baud"])
    bench.now = bench.now + .seconds(20)
    expectEqual(bench.session.handle(.deadline, at: bench.now), [.line(.read)])
    expectEqual(bench.handle(.drained).first, "close")
    expectEqual(bench.wait(), ["open at 4800"])
  }

  @Test("after a suspend, the silence of a receiver is counted from the resume, and its port stays open")
  func suspended() {
    var bench = Bench(baud: 4800)
    _ = bench.handle(.start)
    _ = bench.handle(.opened(isTerminal: true))
    for second in 1...2 {
      bench.now = .boot + .seconds(second)
      _ = bench.receive(second)
      expectEqual(bench.wait(), ["fix \(second)"])
    }
    bench.now = .boot + .seconds(28_800)
    expectEqual(bench.handle(.resumed), [])
    expectEqual(bench.handle(.deadline), [])
    expectEqual(bench.handle(.drained), [])
    expectEqual(
      bench.wait(),
      ["close", "lost /dev/gps0 is open but silent for 10 s; check the receiver and its power; reopening it"])
    expectEqual(bench.now, .boot + .seconds(28_810))
  }

  @Test("a receiver that is unplugged is reported as lost, and opened at once when its device appears")
  func replug() {
    var bench = Bench(baud: 4800)
    _ = bench.handle(.start)
    _ = bench.handle(.opened(isTerminal: true))
    _ = bench.receive(1)
    // Closing the port ends the epoch that was being received.
    expectEqual(bench.handle(.ended("/dev/gps0: unplugged")), ["fix 1", "lost /dev/gps0: unplugged"])
    // Nothing is decoded while the port is closed.
    expectEqual(bench.receive(2), [])
    expectEqual(bench.handle(.appeared), ["open at 4800"])
    expectEqual(bench.handle(.openFailed("/dev/gps0: permission denied")), ["lost /dev/gps0: permission denied"])
    expectEqual(bench.wait(), ["open at 4800"])
    _ = bench.handle(.opened(isTerminal: true))
    expectEqual(bench.receive(3), ["reading /dev/gps0 at 4800 baud"])
  }

  @Test("an unknown baud rate is detected: each rate is tried in turn, and a rate that the device refuses is skipped")
  func probe() {
    var bench = Bench(baud: nil)
    expectEqual(bench.handle(.start), ["open at 9600"])
    expectEqual(bench.handle(.opened(isTerminal: true)), [])
    // As long as nothing is received there is nothing to report.
    expectEqual(bench.wait(), ["set to 4800"])
    expectEqual(bench.receive(1, garbled: true), [])
    expectEqual(
      bench.wait(),
      [
        "set to 38400",
        "detecting: /dev/gps0 sends bytes, and no NMEA sentence yet at the baud rates tried so far; next 38400",
      ])
    expectEqual(bench.handle(.baudRefused), ["set to 115200"])
    bench.now = bench.now + .seconds(1)
    // A single sentence may be a coincidence.
    expectEqual(bench.receive(1), [])
    bench.now = bench.now + .seconds(1)
    expectEqual(bench.receive(2), ["reading /dev/gps0 at 115200 baud, detected", "fix 1"])
    expectEqual(bench.wait(), ["fix 2"])
    // After a replug the detected rate is tried first.
    expectEqual(bench.handle(.ended("unplugged")), ["lost unplugged"])
    expectEqual(bench.handle(.appeared), ["open at 115200"])
  }

  /// A receiver at 4800 baud that has power for the first 20 s, and again later. Its baud rate is detected; at a wrong
  /// one, each burst is garbled.
  private struct SwitchedReceiver {
    private var session = SerialSession(device: "/dev/gps0", baud: nil, silenceTimeout: .seconds(10), seed: 1)
    private var now = BootInstant.boot
    private var baud: Int?
    private var isWatched = true
    private var unread: [UInt8] = []
    private var lastFixAt: BootInstant?

    /// - Returns: how long after `powerOn` the first fix is available; at most a minute.
    mutating func delay(powerOn: Int) -> Duration {
      perform(session.handle(.start, at: now))
      let powerOnAt = BootInstant.boot + .seconds(powerOn)
      for second in Array(1...20) + Array(powerOn...powerOn + 60) {
        let burstAt = BootInstant.boot + .seconds(second)
        while let deadline = session.nextDeadline, deadline < burstAt {
          now = max(now, deadline)
          perform(session.handle(.deadline, at: now))
        }
        now = burstAt
        receiveBurst(second)
        if let lastFixAt, lastFixAt >= powerOnAt { return lastFixAt - powerOnAt }
      }
      return .seconds(60)
    }

    private mutating func receiveBurst(_ second: Int) {
      guard let baud else { return }
      func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
      let time = "12\(digits(second / 60))\(digits(second % 60))"
      let bytes = Array(sentence("GPRMC,\(time),A,4500.0,N,00100.0,E,10.0,0.0,010124,,,A").utf8)
      unread += baud == 4800 ? bytes : bytes.map { $0 ^ 0x5A }
      if isWatched { receiveUnread() }
    }

    private mutating func receiveUnread() {
      guard !unread.isEmpty else { return }
      let bytes = unread
      unread = []
      perform(session.receive(bytes.span, at: now))
    }

    private mutating func perform(_ effects: [SourceEffect]) {
      for effect in effects {
        switch effect {
        case .line(.open(let rate)):
          (baud, isWatched, unread) = (rate, true, [])
          perform(session.handle(.opened(isTerminal: true), at: now))
        case .line(.setBaud(let rate)): baud = rate
        case .line(.close): baud = nil
        case .line(.pause): isWatched = false
        case .line(.watch):
          isWatched = true
          receiveUnread()
        case .line(.read):
          receiveUnread()
          perform(session.handle(.drained, at: now))
        case .report(.fix): lastFixAt = now
        default: break
        }
      }
    }
  }

  @Test("after minutes without power, a receiver of detected rate has a fix within 3 s in 12 of 20 cases, else 45 s")
  func switchedReceiver() {
    // The times of power-on are spread over the longest time in which all baud rates are tried once.
    let delays = (0..<20).map { number in
      var receiver = SwitchedReceiver()
      return receiver.delay(powerOn: 600 + 45 * number)
    }
    expect(delays.filter { $0 <= .seconds(3) }.count >= 12, "\(delays)")
    expect(delays.allSatisfy { $0 <= .seconds(45) }, "\(delays)")
  }

  @Test("while there is no fix, the total number of satellites in view is reported when it changes")
  func sky() {
    var bench = Bench(baud: 4800)
    _ = bench.handle(.start)
    _ = bench.handle(.opened(isTerminal: true))
    expectEqual(bench.receive("GPRMC,120000,V,,,,,,,010124,,,N"), ["reading /dev/gps0 at 4800 baud"])
    expectEqual(bench.receive("GPGSV,1,1,02,05,40,120,30,07,20,200,25"), ["2 in view"])
    expectEqual(bench.receive("GLGSV,1,1,01,70,40,120,30"), ["3 in view"])
    expectEqual(bench.receive("GLGSV,1,1,01,70,41,120,30"), [])
    expectEqual(bench.receive("GPGSV,1,1,00"), ["1 in view"])
    expectEqual(bench.receive("GPGSV,1,1,xx"), [])
    // With a fix, satellites in view are not reported.
    bench.now = bench.now + .seconds(1)
    _ = bench.receive(1)
    expectEqual(bench.wait(), ["fix 1"])
    expectEqual(bench.receive("GPGSV,1,1,04,05,40,120,30"), [])
    bench.now = bench.now + .seconds(11)
    expect(bench.receive("GPGSV,1,1,04,05,40,120,30").contains("5 in view"))
  }

  @Test("a receiver that sends only u-blox's binary protocol is reported as such, not as having a wrong baud rate")
  func binary() {
    var bench = Bench(baud: 9600)
    _ = bench.handle(.start)
    _ = bench.handle(.opened(isTerminal: true))
    // The two sync bytes of a message may be split.
    for bytes in [[0xB5, 0x62, 1, 7, 92, 0, 0xB5], [0x62, 1, 7, 92, 0]] as [[UInt8]] {
      expectEqual(bench.receive(bytes: bytes), [])
    }
    expectEqual(
      bench.wait(),
      [
        "close",
        "lost /dev/gps0 sends u-blox's binary protocol and no NMEA sentence for 10 s; switch NMEA on in the receiver (/usr/share/doc/fleet-locationd/docs/receivers.md says how), or let gpsd read it; reopening it",
      ])
    // The next device may be another receiver.
    _ = bench.wait()
    _ = bench.handle(.opened(isTerminal: true))
    expectEqual(bench.receive(bytes: [1, 2, 3]), [])
    expectEqual(bench.wait().last?.contains("check source.baud"), true)
  }

  @Test("no baud rate is detected for a device that is not a terminal")
  func pipe() {
    var bench = Bench(baud: nil)
    _ = bench.handle(.start)
    _ = bench.handle(.opened(isTerminal: false))
    expectEqual(bench.receive(1), ["reading /dev/gps0"])
    expectEqual(bench.wait(), ["fix 1"])
    expectEqual(bench.handle(.baudRefused), [])
  }

  @Test("bytes without a sentence at any baud rate are reported with the advice to check for NMEA")
  func noise() {
    var bench = Bench(baud: nil)
    _ = bench.handle(.start)
    _ = bench.handle(.opened(isTerminal: true))
    var said = [String]()
    while said.isEmpty {
      _ = bench.receive(1, garbled: true)
      said = bench.wait().filter { !$0.hasPrefix("set to") && !$0.hasPrefix("detecting: ") }
    }
    expectEqual(
      said,
      [
        "close",
        "lost /dev/gps0 sends bytes but no complete NMEA sentence at any baud rate for 45 s; check that the receiver speaks NMEA 0183; reopening it",
      ])
  }
}
