// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import Connectivity

struct TrafficLedgerTests {
  private static let start = BootInstant(nanoseconds: 40_000_000_000)
  /// 2026-11-21T12:00:00Z.
  private static let noon = Timestamp(seconds: 1_795_262_400)

  /// A daemon's run: its ledger, and the total counters of its connections.
  private struct Run {
    var ledger: TrafficLedger
    var counted = TrafficLedger.Counts()
    var now = TrafficLedgerTests.start
    /// The time that the ledger is given; nil while unknown.
    var time: Timestamp?
    var stored: String?
    var ended: [TrafficLedger.Day] = []

    init(_ stored: String? = nil, time: Timestamp?) {
      ledger = TrafficLedger(stored, at: now)
      self.time = time
      self.stored = stored
    }

    /// Lets this duration pass, in which the counters grow by these bytes and updates, and then reads them.
    mutating func pass(
      _ duration: Duration, bytes: UInt64, updates: UInt64 = 0, isConfirmed: Bool = false, isLast: Bool = false
    ) {
      now = now + duration
      time = time.map { $0 + duration }
      counted.fleetEngine += TCPMeterTests.traffic(bytes)
      counted.updates += updates
      for effect in ledger.record(counted, at: now, time: time, isConfirmed: isConfirmed, isLast: isLast) {
        switch effect {
        case .store(let text): stored = text
        case .ended(let day): ended.append(day)
        }
      }
    }

    var today: UInt64? { ledger.today?.counts.fleetEngine.sent }
    var month: UInt64? { ledger.today?.month.fleetEngine.sent }
  }

  private static func date(_ year: Int, _ month: Int, _ day: Int) throws -> CivilDate {
    try #require(CivilDate(year: year, month: month, day: day))
  }

  @Test("the increase since the last reading is added to the day and the month, for both servers and the updates")
  func counts() throws {
    var run = Run(time: Self.noon)
    run.counted.tokenProvider = TCPMeterTests.traffic(4000, 9000)
    run.pass(.seconds(60), bytes: 3000, updates: 6)
    run.pass(.seconds(60), bytes: 0)
    run.pass(.seconds(60), bytes: 600, updates: 2)
    let today = try #require(run.ledger.today)
    expectEqual(today.date, (try Self.date(2026, 11, 21)))
    expect(today.counts == run.counted && today.month == run.counted && run.ledger.sinceStart == run.counted)
    expectEqual(today.counts.traffic.total, 16_600)
    expectEqual(today.counts.bytesPerUpdate, 450)
  }

  @Test("a day ends with the first reading after midnight, whose increase still belongs to it, and the month continues")
  func nextDay() throws {
    var run = Run(time: Self.noon)
    run.pass(.seconds(60), bytes: 1000)
    run.pass(.seconds(12 * 3600 - 60), bytes: 200)
    expectEqual(run.ended.count, 1)
    expectEqual(run.ended.first?.date, (try Self.date(2026, 11, 21)))
    expectEqual(run.ended.first?.counts.fleetEngine.sent, 1200)
    expect(run.today == 0 && run.month == 1200)
    run.pass(.seconds(10), bytes: 50)
    expect(run.today == 50 && run.month == 1250 && run.ended.count == 1)
  }

  @Test("a reading is due after a minute, then every quarter of an hour, and at midnight")
  func due() {
    var run = Run(time: Self.noon)
    expectEqual(run.ledger.nextReading, Self.start + .seconds(60))
    run.pass(.seconds(60), bytes: 1)
    expectEqual(run.ledger.nextReading, run.now + .seconds(900))
    run.pass(.seconds(12 * 3600 - 160), bytes: 1)
    expectEqual(run.ledger.nextReading, run.now + .seconds(100))
  }

  @Test("a new month starts at zero; the last day of a month reports the total of that month")
  func nextMonth() throws {
    var run = Run(time: Self.noon)
    for _ in 0..<10 { run.pass(.seconds(86_400), bytes: 100) }
    expectEqual(run.ledger.today?.date, (try Self.date(2026, 12, 1)))
    expectEqual(run.ended.map(\.month.fleetEngine.sent), [200, 300, 400, 500, 600, 700, 800, 900, 1000])
    expectEqual(run.ended.last?.date, (try Self.date(2026, 11, 30)))
    expect(run.today == 0 && run.month == 0)
    run.pass(.seconds(1), bytes: 7)
    expectEqual(run.month, 7)
  }

  @Test(
    "bytes belong to no day and are not stored until the time is known, and are then assigned to the current day")
  func clockSetLate() throws {
    var run = Run(time: nil)
    for _ in 0..<30 { run.pass(.seconds(60), bytes: 10, updates: 1) }
    expect(run.ledger.today == nil && run.stored == nil && run.ledger.sinceStart.updates == 30)
    expectEqual(run.ledger.nextReading, run.now + .seconds(60))
    run.time = Self.noon
    run.pass(.seconds(60), bytes: 10)
    expectEqual(run.ledger.today?.date, (try Self.date(2026, 11, 21)))
    expect(run.today == 310 && run.month == 310 && run.ended.isEmpty)
    expect(run.stored != nil)
  }

  @Test("after a restart the day and the month continue; after a restart on a later day the old day is reported once")
  func restart() throws {
    var run = Run(time: Self.noon)
    run.pass(.seconds(60), bytes: 1000, updates: 2)
    run.pass(.seconds(60), bytes: 500, updates: 1, isLast: true)
    // The time is not known before the first response.
    var second = Run(run.stored, time: nil)
    second.pass(.seconds(1), bytes: 40)
    expectNil(second.ledger.today)
    second.time = Self.noon + .seconds(300)
    second.pass(.seconds(60), bytes: 60, updates: 1)
    expect(second.today == 1600 && second.month == 1600 && second.ledger.today?.counts.updates == 4)
    expectEqual(second.ledger.sinceStart.fleetEngine.sent, 100)

    var third = Run(second.stored, time: Self.noon + .seconds(3 * 86_400))
    third.pass(.seconds(5), bytes: 30)
    expectEqual(third.ended.map(\.counts.fleetEngine.sent), [1600])
    expect(third.today == 30 && third.month == 1630)
    // The end of the day is on disk, so no later run reports it again.
    var fourth = Run(third.stored, time: Self.noon + .seconds(3 * 86_400))
    fourth.pass(.seconds(5), bytes: 1)
    expect(fourth.ended.isEmpty && fourth.month == 1631)
  }

  @Test(
    "a wrong date does not reset the month: when the date is right again, day and month continue, even in the next run",
    arguments: [4_000, 40, 9, 2, -2, -400, -20_000])
  func wrongDate(days: Int64) throws {
    var run = Run(time: Self.noon)
    run.pass(.seconds(60), bytes: 1000)
    run.time = Self.noon + .seconds(days * 86_400)
    run.pass(.seconds(60), bytes: 10)
    // A run that follows a power cut.
    if abs(days) > 31 {
      var next = Run(run.stored, time: Self.noon + .seconds(600))
      next.pass(.seconds(60), bytes: 5)
      expectEqual(next.month, 1005)
    }
    run.time = Self.noon + .seconds(240)
    run.pass(.seconds(60), bytes: 100)
    expectEqual(run.ledger.today?.date, (try Self.date(2026, 11, 21)))
    expect(run.today == 1110 && run.month == 1110)
    run.pass(.seconds(86_400), bytes: 7, isLast: true)
    expect(run.today == 0 && run.month == 1117)
    var next = Run(run.stored, time: Self.noon + .seconds(90_000))
    next.pass(.seconds(60), bytes: 3)
    expectEqual(next.month, 1120)
  }

  @Test("after two months in a garage, short runs with a time that a server has confirmed count, and end one day once")
  func shortRuns() {
    for isConfirmedAtOnce in [true, false] { shortRuns(isConfirmedAtOnce) }
  }

  private func shortRuns(_ isConfirmedAtOnce: Bool) {
    var run = Run(time: Self.noon)
    run.pass(.seconds(60), bytes: 1000, isLast: true)
    var ended: [UInt64] = []
    for trip in 0..<3 {
      run = Run(run.stored, time: Self.noon + .seconds(60 * 86_400 + trip * 3600))
      run.pass(.seconds(60), bytes: 10, isConfirmed: isConfirmedAtOnce)
      run.pass(.seconds(300), bytes: 10, isConfirmed: true, isLast: true)
      ended += run.ended.map(\.counts.fleetEngine.sent)
    }
    expectEqual(ended, [1000])
    expectEqual(run.month, 60)
  }

  @Test("each day of a vehicle that is suspended on every second day ends with its own data volume")
  func everySecondDay() throws {
    var run = Run(time: Self.noon)
    run.pass(.seconds(60), bytes: 1000)
    run.pass(.seconds(2 * 86_400), bytes: 0)
    run.pass(.seconds(60), bytes: 200)
    run.pass(.seconds(2 * 86_400), bytes: 0)
    run.pass(.seconds(60), bytes: 30)
    expectEqual(run.ended.map(\.counts.fleetEngine.sent), [1000, 200])
    expect(run.today == 30 && run.month == 1230)
    // A wrong date returns to the last of these days.
    let time = try #require(run.time)
    run.time = time + .seconds(4000 * 86_400)
    run.pass(.seconds(60), bytes: 4)
    run.time = time + .seconds(120)
    run.pass(.seconds(60), bytes: 1)
    expect(run.today == 35 && run.month == 1235)
  }

  @Test("a new date that persists for 15 min is accepted and stored, and its month starts at zero")
  func newDate() throws {
    var run = Run(time: Self.noon)
    run.pass(.seconds(60), bytes: 1000)
    run.time = Self.noon + .seconds(400 * 86_400)
    run.pass(.seconds(60), bytes: 10)
    run.pass(.seconds(900), bytes: 1)
    var next = Run(run.stored, time: Self.noon + .seconds(400 * 86_400 + 2000))
    next.pass(.seconds(60), bytes: 1)
    expectEqual(next.ledger.today?.date, (try Self.date(2027, 12, 26)))
    expectEqual(next.month, 2)
  }

  @Test("a power cut loses at most the data volume counted in the last 15 min, or in the first minute")
  func powerCut() throws {
    var run = Run(time: Self.noon)
    run.pass(.seconds(59), bytes: 10)
    expectNil(run.stored)
    run.pass(.seconds(1), bytes: 10)
    expectEqual(Run(run.stored, time: nil).ledger, TrafficLedger(run.stored, at: Self.start))
    var writes = 0
    var last = run.stored
    for _ in 0..<360 {
      run.pass(.seconds(10), bytes: 10)
      if run.stored != last { writes += 1 }
      last = run.stored
    }
    expectEqual(writes, 4)
    var next = Run(run.stored, time: Self.noon)
    next.pass(.seconds(1), bytes: 0)
    let (before, after) = (try #require(run.month), try #require(next.month))
    expect(before - after <= 900)
  }

  @Test("nothing is written while there is no traffic")
  func idle() {
    var run = Run(time: Self.noon)
    run.pass(.seconds(60), bytes: 10)
    run.stored = nil
    for _ in 0..<10 { run.pass(.seconds(900), bytes: 0) }
    run.pass(.seconds(1), bytes: 0, isLast: true)
    expectNil(run.stored)
  }

  @Test(
    "a clock that is set back across midnight ends no day twice; bytes counted under a wrong date move to the right one"
  )
  func clockBack() throws {
    var run = Run(time: Self.noon)
    run.pass(.seconds(12 * 3600), bytes: 100)
    run.time = run.time.map { $0 - .seconds(2) }
    run.pass(.seconds(1), bytes: 10)
    run.pass(.seconds(1), bytes: 10)
    expect(run.ended.isEmpty && run.today == 120)
    expectEqual(run.ledger.today?.date, (try Self.date(2026, 11, 22)))

    var wrong = Run(time: Self.noon + .seconds(4000 * 86_400))
    wrong.pass(.seconds(60), bytes: 100)
    wrong.time = Self.noon
    wrong.pass(.seconds(60), bytes: 10)
    expect(wrong.ended.isEmpty && wrong.today == 110 && wrong.month == 110)
    expectEqual(wrong.ledger.today?.date, (try Self.date(2026, 11, 21)))
  }

  @Test("a file that the daemon cannot have written is treated as empty, and no damaged file crashes the daemon")
  func damaged() throws {
    var run = Run(time: Self.noon)
    run.pass(.seconds(60), bytes: 123_456)
    let text = try #require(run.stored)
    expect(text.utf8.count < TrafficLedger.maxTextSize)
    for bad in ["", "\n", "end", String(text.dropLast()), text + "x", "date 5", String(repeating: " ", count: 1024)] {
      expectEqual(TrafficLedger(bad, at: Self.start), TrafficLedger(at: Self.start), "\(bad)")
    }
    var random = SplitMix64(seed: 7)
    for _ in 0..<5000 {
      var bytes = Array(text.utf8)
      for _ in 0...Int.random(in: 0..<3, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= UInt8(1) << UInt8.random(in: 0..<7, using: &random)
      }
      var damaged = Run(String(decoding: bytes, as: UTF8.self), time: Self.noon)
      damaged.pass(.seconds(60), bytes: .max / 3)
      damaged.pass(.seconds(60), bytes: .max / 3, isLast: true)
      expect(damaged.ledger.today != nil)
    }
  }
}
