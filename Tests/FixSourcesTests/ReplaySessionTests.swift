// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import FixSources
import NMEATesting
import Testing
import Timekeeping

/// Transcripts of a session: its inputs, and the resulting effects.
struct ReplaySessionTests {
  private struct Bench {
    var session: ReplaySession
    var now = 0.0

    init(pace: Double) {
      session = ReplaySession(name: "the recording a.nmea", pace: pace, shiftsTimes: false)
    }

    var moment: Moment {
      let elapsed = Duration.milliseconds(Int64(now * 1000))
      return Moment(boot: .boot + elapsed, wall: Timestamp(seconds: 1_796_083_200) + elapsed)
    }

    mutating func handle(_ input: SourceInput, at second: Double? = nil) -> [String] {
      now = second ?? now
      return brief(session.handle(input, at: moment))
    }

    /// Signals that the daemon is ready for the next fix, and returns the effects of the deadline that follows.
    mutating func ready() -> [String] {
      session.readyForNextFix(at: moment.boot)
      return handle(.deadline)
    }

    /// Receives one sentence for each of these seconds of a minute.
    mutating func receive(_ seconds: [Int]) -> [String] {
      let bytes = seconds.flatMap(Bench.sentence)
      return brief(session.receive(bytes.span, from: .peer, at: moment))
    }

    private static func sentence(_ second: Int) -> [UInt8] {
      let body = "GPRMC,1200\(second < 10 ? "0" : "")\(second),A,4500.0,N,00100.0,E,10.0,0.0,010124,,,A"
      let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
      return Array("$\(body)*\(sum.count < 2 ? "0" : "")\(sum)\r\n".utf8)
    }

    private func brief(_ effects: [SourceEffect]) -> [String] {
      effects.map { effect in
        switch effect {
        case .line(.read): "read"
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

    /// The next deadline, in seconds since boot.
    var deadline: Double? { session.nextDeadline.map { ($0 - .boot).inSeconds } }
  }

  @Test("at pace 1 each fix is reported when it is due, one at a time, and the end is reported after the last fix")
  func paced() {
    var bench = Bench(pace: 1)
    expectEqual(bench.handle(.start), ["reading the recording a.nmea", "read"])
    expectNil(bench.deadline)
    // An epoch ends with the first sentence of the next epoch.
    expectEqual(bench.receive([1, 2, 5]), ["fix 1"])
    expectEqual(bench.deadline, 0)
    expectEqual(bench.handle(.deadline), [])
    expectEqual(bench.deadline, 1)
    expectEqual(bench.handle(.deadline, at: 0.9), [])
    expectEqual(bench.handle(.deadline, at: 1), ["fix 2"])
    expectEqual(bench.handle(.deadline), ["read"])
    expectEqual(bench.handle(.endOfInput, at: 1.5), [])
    expectEqual(bench.deadline, 4)
    expectEqual(bench.handle(.deadline, at: 4), ["fix 5"])
    expectEqual(bench.handle(.deadline), ["ended"])
    expectNil(bench.deadline)
    expectEqual(bench.handle(.deadline, at: 9), [])
  }

  @Test("fixes that were due during a suspend are replayed after it, one per iteration of the loop")
  func catchUp() {
    var bench = Bench(pace: 1)
    _ = bench.handle(.start)
    expectEqual(bench.receive([1, 2, 3, 4, 5]), ["fix 1"])
    expectEqual(bench.handle(.deadline, at: 100), ["fix 2"])
    // The deadline of a late fix is now, and not in the past.
    expectEqual(bench.deadline, 100)
    expectEqual(bench.handle(.deadline), ["fix 3"])
    expectEqual(bench.handle(.deadline), ["fix 4"])
  }

  @Test("at pace 0 the next fix is reported as soon as the daemon is ready for it, without waiting")
  func ready() {
    var bench = Bench(pace: 0)
    expectEqual(bench.handle(.start), ["reading the recording a.nmea", "read"])
    expectEqual(bench.receive([1, 2, 3]), ["fix 1"])
    expectNil(bench.deadline)
    expectEqual(bench.handle(.deadline, at: 50), [])
    expectEqual(bench.ready(), ["fix 2"])
    // All fixes read so far are reported: the session waits for bytes, whether the daemon is ready or not.
    expectEqual(bench.ready(), ["read"])
    expectEqual(bench.ready(), [])
    expectEqual(bench.receive([4]), ["fix 3"])
    // By now the decoder knows which sentence ends an epoch.
    expectEqual(bench.ready(), ["fix 4"])
    expectEqual(bench.ready(), ["read"])
    expectEqual(bench.handle(.endOfInput), ["ended"])
    expectEqual(bench.ready(), [])
  }

  @Test("after bytes without a fix more bytes are requested")
  func nothing() {
    var bench = Bench(pace: 0)
    _ = bench.handle(.start)
    expectEqual(bench.receive([]), ["read"])
    expectEqual(bench.handle(.endOfInput), ["ended"])
  }

  @Test("a read error in a recording is reported, and ends the replay")
  func broken() {
    var bench = Bench(pace: 0)
    _ = bench.handle(.start)
    _ = bench.receive([1, 2])
    expectEqual(bench.ready(), ["read"])
    expectEqual(bench.handle(.ended("I/O error")), ["lost I/O error", "ended"])
  }

  @Test("nothing is read before the start, and a second start has no effect")
  func order() {
    var bench = Bench(pace: 1)
    expect(bench.ready() == [] && bench.handle(.endOfInput) == [] && bench.receive([1, 2]) == [])
    expectEqual(bench.handle(.start).count, 2)
    expectEqual(bench.handle(.start), [])
  }
}
