// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import Testing
import Timekeeping

struct FixFilterTests {
  private static let buildDate = Timestamp(seconds: 1_795_219_200)
  /// True time at boot.
  private static let start = Timestamp(seconds: 1_796_083_200)

  private func filter(_ change: (inout FixFilter.Configuration) -> Void = { _ in }) -> FixFilter {
    var configuration = FixFilter.Configuration(buildDate: FixFilterTests.buildDate)
    change(&configuration)
    return FixFilter(configuration)
  }

  private func moment(_ seconds: Double, wall: Timestamp = start) -> Moment {
    Moment(boot: .boot + .milliseconds(Int64(seconds * 1000)), wall: wall)
  }

  /// A fix this many metres north of the start, with a timestamp this many seconds after boot.
  private func fix(_ stamp: Double, north: Double = 0, _ change: (inout Fix) -> Void = { _ in }) throws -> Fix {
    let coordinate = try #require(Coordinate(latitude: 48 + north / 111_200, longitude: 11))
    var fix = Fix(coordinate: coordinate, time: .utc(FixFilterTests.start + .milliseconds(Int64(stamp * 1000))))
    change(&fix)
    return fix
  }

  private func rejection(_ result: Result<FixFilter.Accepted, FixRejection>) -> FixRejection? {
    if case .failure(let rejection) = result { return rejection }
    return nil
  }

  @Test("a fix of poor quality is rejected with its reason")
  func quality() throws {
    var filter = filter { $0.minSatellites = 4 }
    let wrong: [(FixRejection, (inout Fix) -> Void)] = [
      (.inaccurate, { $0.horizontalAccuracy = 100.1 }), (.poorHDOP, { $0.hdop = 20.1 }),
      (.fewSatellites, { $0.satellites = 3 }), (.impossibleSpeed, { $0.speed = 70 }), (.noTime, { $0.time = nil }),
    ]
    for (expected, change) in wrong {
      expectEqual(rejection(filter.evaluate(try fix(1, change), at: moment(1))), expected)
    }
    let zero = try #require(Coordinate(latitude: 0.0001, longitude: -0.0002))
    expectEqual(
      rejection(filter.evaluate(Fix(coordinate: zero, time: .utc(FixFilterTests.start)), at: moment(1))), .nullIsland)
    expectNil(rejection(filter.evaluate(try fix(1) { $0.horizontalAccuracy = 100 }, at: moment(1))))
  }

  @Test("a fix is not rejected for values that the receiver does not report")
  func unknown() throws {
    var filter = filter { $0.minSatellites = 4 }
    expectNil(rejection(filter.evaluate(try fix(1), at: moment(1))))
  }

  @Test("a repeated fix is rejected as a duplicate, and an older one as out of order")
  func order() throws {
    var filter = filter()
    expectNil(rejection(filter.evaluate(try fix(5), at: moment(5))))
    expectEqual(rejection(filter.evaluate(try fix(5), at: moment(5.1))), .duplicate)
    expectEqual(rejection(filter.evaluate(try fix(5, north: 3), at: moment(5.2))), .outOfOrder)
    expectEqual(rejection(filter.evaluate(try fix(4), at: moment(5.3))), .outOfOrder)
    expectNil(rejection(filter.evaluate(try fix(6), at: moment(6))))
  }

  @Test(
    "a receiver clock that jumps is corrected at the fifth fix, and when it is right again no fix is rejected",
    arguments: [18.0, 3600, -86_400], [0.0, 18, 36])
  func leaps(error: Double, more: Double) throws {
    var filter = filter()
    filter.setTimeBounds(TimeBounds(FixFilterTests.start, precision: .seconds(1), since: .boot, until: .boot))
    var accepted: [Int] = []
    for second in 1...60 {
      let wrong = (20..<50).contains(second) ? error + ((30..<35).contains(second) ? more : 0) : 0
      guard case .success(let fix) = filter.evaluate(try fix(Double(second) + wrong), at: moment(Double(second))) else {
        continue
      }
      expect(abs((fix.time - FixFilterTests.start).inSeconds - Double(second)) <= 1, "\(second) s: \(fix.time.rfc3339)")
      accepted.append(second)
    }
    // After each change to a different error four fixes are rejected, and after the end of the error none.
    let missing = Set(20...23).union(more == 0 ? [] : Set(30...33).union(35...38))
    expectEqual(accepted, (1...60).filter { !missing.contains($0) })
  }

  @Test(
    "without a time source, the correction of a receiver clock ends at the fifth fix that was right without it",
    arguments: [18.0, 3600, -86_400])
  func correctedWithoutBounds(error: Double) throws {
    var filter = filter()
    filter.setTimeBounds(TimeBounds(FixFilterTests.start, precision: .seconds(1), since: .boot, until: .boot))
    var accepted: [Int] = []
    for second in 1...60 {
      if second == 20 { filter.setTimeBounds(nil) }
      let wrong = second < 30 ? error : 0
      guard case .success(let fix) = filter.evaluate(try fix(Double(second) + wrong), at: moment(Double(second))) else {
        continue
      }
      expect(abs((fix.time - FixFilterTests.start).inSeconds - Double(second)) <= 1, "\(second) s: \(fix.time.rfc3339)")
      accepted.append(second)
    }
    // Four fixes are rejected until the error is known, and four until its end is.
    expectEqual(accepted, (1...60).filter { !(1...4).contains($0) && !(30...33).contains($0) })
  }

  @Test(
    "without a time source, a clock whose error was known and jumps is corrected by the jump, to the leap seconds exactly",
    arguments: [(3618.0, 18.0), (18, 3618), (3600, 3618), (3618, 3600), (18, 36), (3600, -82_800), (-50_000_000, 0)])
  func jumpsWithoutBounds(error: Double, later: Double) throws {
    var filter = filter()
    filter.setTimeBounds(TimeBounds(FixFilterTests.start, precision: .seconds(1), since: .boot, until: .boot))
    var accepted: [Int] = []
    for second in 1...60 {
      if second == 20 { filter.setTimeBounds(nil) }
      let stamp = Double(second) + (second < 30 ? error : later)
      guard case .success(let fix) = filter.evaluate(try fix(stamp), at: moment(Double(second))) else { continue }
      expect(abs((fix.time - FixFilterTests.start).inSeconds - Double(second)) <= 1, "\(second) s: \(fix.time.rfc3339)")
      accepted.append(second)
    }
    expectEqual(accepted, (1...60).filter { !(1...4).contains($0) && !(30...33).contains($0) })
  }

  @Test("without a time source, fixes that are late by a receiver clock's error do not end its correction")
  func lateWithoutBounds() throws {
    var filter = filter()
    filter.setTimeBounds(TimeBounds(FixFilterTests.start, precision: .seconds(1), since: .boot, until: .boot))
    for second in 1...20 { _ = filter.evaluate(try fix(Double(second) + 18), at: moment(Double(second))) }
    filter.setTimeBounds(nil)
    // 25 fixes that were held back arrive within half a second.
    for second in 21...45 {
      _ = filter.evaluate(try fix(Double(second) + 18), at: moment(45 + Double(second - 45) / 50))
    }
    for second in 46...60 {
      let result = filter.evaluate(try fix(Double(second) + 18), at: moment(Double(second)))
      expectEqual(try result.get().time, FixFilterTests.start + .seconds(second))
    }
  }

  @Test(
    "a receiver clock that jumps before a server's first response, which took 12 s, is corrected by exactly the jump")
  func leapsBeforeResponse() throws {
    var filter = filter()
    var accepted: [Int] = []
    for second in 1...40 {
      if second == 22 {
        filter.setTimeBounds(
          TimeBounds(
            FixFilterTests.start + .seconds(16), precision: .seconds(1), since: .boot + .seconds(10),
            until: .boot + .seconds(22)))
      }
      let wrong = second < 20 ? 0.0 : 3630
      guard case .success(let fix) = filter.evaluate(try fix(Double(second) + wrong), at: moment(Double(second))) else {
        continue
      }
      expectEqual(fix.time, FixFilterTests.start + .seconds(second))
      accepted.append(second)
    }
    expectEqual(accepted, (1...40).filter { !(20...25).contains($0) })
  }

  @Test(
    "a receiver clock that was wrong before a server's first, slow response, and jumps then, is corrected by another's")
  func leapsBesideAnother() throws {
    var filter = filter()
    var accepted: [Int] = []
    for second in 1...40 {
      if second == 20 {
        filter.setTimeBounds(
          TimeBounds(
            FixFilterTests.start + .seconds(14), precision: .seconds(1), since: .boot + .seconds(5),
            until: .boot + .seconds(20)))
      }
      let wrong = second < 20 ? 50_000_000.0 : 30_000_123
      let result = filter.evaluate(
        try fix(Double(second) + wrong), at: moment(Double(second)),
        otherTime: FixFilterTests.start + .seconds(second))
      guard case .success(let fix) = result, second >= 20 else { continue }
      expectEqual(fix.time, FixFilterTests.start + .seconds(second))
      accepted.append(second)
    }
    expectEqual(accepted, Array(24...40))
  }

  @Test("a timestamp ahead of elapsed time is rejected; the next correct one is accepted")
  func future() throws {
    var filter = filter()
    expectNil(rejection(filter.evaluate(try fix(1), at: moment(1))))
    expectEqual(rejection(filter.evaluate(try fix(86_400), at: moment(2))), .future)
    expectNil(rejection(filter.evaluate(try fix(3), at: moment(3))))
  }

  @Test("after a delayed fix, a punctual one is not rejected as being from the future")
  func lateThenPunctual() throws {
    var filter = filter()
    expectNil(rejection(filter.evaluate(try fix(1), at: moment(1))))
    expectNil(rejection(filter.evaluate(try fix(2), at: moment(10))))
    expectNil(rejection(filter.evaluate(try fix(10.5), at: moment(10.5))))
  }

  @Test("a fix that lags by more than maxAge is stale")
  func stale() throws {
    var filter = filter()
    expectNil(rejection(filter.evaluate(try fix(1), at: moment(1))))
    expectEqual(rejection(filter.evaluate(try fix(2), at: moment(13))), .stale)
    expectNil(rejection(filter.evaluate(try fix(4), at: moment(13))))
  }

  @Test("after a first timestamp from the future, the fifth that agrees with elapsed time is accepted")
  func firstStampFromTheFuture() throws {
    var filter = filter()
    expectNil(rejection(filter.evaluate(try fix(31_536_000), at: moment(0))))
    let rejections = try (1...6).map { rejection(filter.evaluate(try fix(Double($0)), at: moment(Double($0)))) }
    expectEqual(rejections, [.outOfOrder, .outOfOrder, .outOfOrder, .outOfOrder, nil, nil])
  }

  @Test("old fixes that arrive in one burst are rejected, although they agree with each other", arguments: [0.1, 1.0])
  func burst(period: Double) throws {
    var filter = filter()
    expectNil(rejection(filter.evaluate(try fix(100), at: moment(100))))
    for index in 0..<20 {
      let old = try fix(20 + Double(index) * period)
      expectEqual(rejection(filter.evaluate(old, at: moment(100.1 + Double(index) / 1000))), .outOfOrder)
    }
  }

  @Test("a jump is rejected until the fifth fix at the new position")
  func jump() throws {
    var filter = filter()
    expectNil(rejection(filter.evaluate(try fix(0), at: moment(0))))
    let rejections = try (1...6).map {
      rejection(filter.evaluate(try fix(Double($0), north: 20_000), at: moment(Double($0))))
    }
    expectEqual(rejections, [.impossibleSpeed, .impossibleSpeed, .impossibleSpeed, .impossibleSpeed, nil, nil])
  }

  @Test("outliers that do not agree with each other never become the reference")
  func wild() throws {
    var filter = filter()
    expectNil(rejection(filter.evaluate(try fix(0), at: moment(0))))
    for second in 1..<60 {
      let away = second % 2 == 0 ? 50_000.0 : -50_000
      expectEqual(
        rejection(filter.evaluate(try fix(Double(second), north: away), at: moment(Double(second)))), .impossibleSpeed
      )
    }
  }

  @Test("after a gap of 10 min, a fix 15 km away is accepted")
  func gap() throws {
    var filter = filter()
    expectNil(rejection(filter.evaluate(try fix(0), at: moment(0))))
    expectNil(rejection(filter.evaluate(try fix(600, north: 15_000), at: moment(600))))
  }

  @Test("a dated fix is accepted whatever the wall clock shows", arguments: [Int64(0), 4_000_000_000, -5_000_000_000])
  func wallClock(seconds: Int64) throws {
    var filter = filter()
    for second in 1..<20 {
      let now = moment(Double(second), wall: Timestamp(seconds: seconds * Int64(second % 3)))
      expectNil(rejection(filter.evaluate(try fix(Double(second)), at: now)))
    }
  }

  @Test("a date before the build date is moved forward by multiples of 1024 weeks; other dates are unchanged")
  func rollover() {
    let floor = FixFilterTests.buildDate
    let step = Duration.seconds(1024 * 7 * 86_400)
    let now = FixFilterTests.start
    expectEqual(now.afterRollover(notBefore: floor), now)
    expectEqual((now - step).afterRollover(notBefore: floor), now)
    expectEqual((now - step - step).afterRollover(notBefore: floor), now)
    expectEqual(floor.afterRollover(notBefore: floor), floor)
    for end in [Int64.min, .max] {
      _ = Timestamp(milliseconds: end).afterRollover(notBefore: floor)
      _ = floor.afterRollover(notBefore: Timestamp(milliseconds: end))
    }
  }

  @Test("a receiver's date that is 1024 weeks behind is corrected; the date of a recording is not")
  func rolloverCorrection() throws {
    let step = Duration.seconds(1024 * 7 * 86_400)
    for (isRecording, behind) in [(false, Duration.zero), (false, step), (true, step)] {
      var filter = filter { $0.usesRecordedTimes = isRecording }
      for second in 1..<4 {
        let stamp = FixFilterTests.start + .seconds(second) - behind
        let fix = try fix(Double(second)) { $0.time = .utc(stamp) }
        guard case .success(let accepted) = filter.evaluate(fix, at: moment(Double(second))) else {
          Issue.record("refused at \(second)")
          return
        }
        expectEqual(accepted.time, isRecording ? stamp : stamp + behind)
        expectEqual(accepted.clockCorrection, isRecording ? .zero : .zero - behind)
      }
    }
  }

  @Test("the timestamps of a recording stay unchanged, even if all its fixes arrive at once")
  func usesRecordedTimes() throws {
    var filter = filter { $0.usesRecordedTimes = true }
    let old = Timestamp(seconds: 1_000_000_000)
    for second in Int64(0)..<100 {
      let recorded = try fix(0, north: Double(second)) { $0.time = .utc(old + .seconds(second)) }
      guard case .success(let accepted) = filter.evaluate(recorded, at: moment(1)) else {
        Issue.record("refused at \(second)")
        return
      }
      expectEqual(accepted.time, old + .seconds(second))
    }
  }

  @Test("a time without a date gets the nearest day of a plausible clock, across midnight")
  func noDate() throws {
    var filter = filter()
    let lateEvening: Int64 = 86_399_000
    let evening = try fix(0) { $0.time = .ofDay(milliseconds: lateEvening) }
    expectEqual(rejection(filter.evaluate(evening, at: moment(0, wall: Timestamp(seconds: 1000)))), .noDate)
    guard case .success(let accepted) = filter.evaluate(evening, at: moment(2, wall: FixFilterTests.start)) else {
      Issue.record("refused")
      return
    }
    expectEqual(accepted.time, FixFilterTests.start - .seconds(1))
    // An implausible clock is not used.
    var next = evening
    next.time = .ofDay(milliseconds: 1000)
    expectNil(rejection(filter.evaluate(next, at: moment(4, wall: Timestamp(seconds: 0)))))
  }

  @Test("a first fix from the middle of a burst does not get a wrong date from the machine's clock")
  func middleOfBurst() throws {
    // The clock was restored at boot, and is 60 h behind.
    func now(_ seconds: Double) -> Moment { moment(seconds, wall: FixFilterTests.start - .seconds(216_000)) }
    for rate in [1, 10] {
      var filter = filter()
      // RMC, which has the date, comes once a second.
      for number in 0..<rate {
        let second = Double(number) / Double(rate)
        let ofDay = (FixFilterTests.start + .milliseconds(1000 * number / rate)).millisecondsOfDay
        let dateless = try fix(second) { $0.time = .ofDay(milliseconds: ofDay) }
        expectEqual(rejection(filter.evaluate(dateless, at: now(second))), .noDate)
      }
      for second in 1...5 {
        guard case .success(let accepted) = filter.evaluate(try fix(Double(second)), at: now(Double(second))) else {
          Issue.record("rejected at \(second)")
          return
        }
        expectEqual(accepted.time, FixFilterTests.start + .seconds(second))
      }
    }
  }

  @Test("a receiver that never reports a date is used after two seconds, even if its first fixes are poor")
  func datelessStart() throws {
    var filter = filter()
    try expectEqual(errors(&filter, 20..<24, clockError: 0), [nil, nil, 0, 0])
    filter = self.filter()
    for second in 20..<22 {
      let poor = try fix(0) {
        $0.time = .ofDay(milliseconds: (FixFilterTests.start + .seconds(second)).millisecondsOfDay)
        $0.horizontalAccuracy = 500
      }
      expectEqual(rejection(filter.evaluate(poor, at: moment(Double(second) + 0.1))), .inaccurate)
    }
    try expectEqual(errors(&filter, 22..<24, clockError: 0), [0, 0])
  }

  /// The results for a receiver without a date, one fix per second, while the machine's clock has this error in
  /// seconds: the error of each accepted time in seconds, nil for a rejected fix.
  private func errors(_ filter: inout FixFilter, _ seconds: Range<Int64>, clockError: Int64) throws -> [Int64?] {
    try seconds.map { second in
      let truth = FixFilterTests.start + .seconds(second)
      let dateless = try fix(0) { $0.time = .ofDay(milliseconds: truth.millisecondsOfDay) }
      let now = moment(Double(second) + 0.1, wall: truth + .seconds(clockError) + .milliseconds(100))
      guard case .success(let accepted) = filter.evaluate(dateless, at: now) else { return nil }
      return (accepted.time - truth).wholeSeconds
    }
  }

  /// Seconds by which a clock is wrong: not set, at the build date exactly and just after it, years and centuries off.
  private static let clockErrors: [Int64] = [
    -1_796_083_200, -864_001, -864_000, -863_990, -820_000, -86_400, -43_200, -40_000, -5, 0, 5, 30_000, 43_199, 43_201,
    86_400, 31_536_000, 1_576_800_000, 20_000_000_000, 9_000_000_000_000,
  ]

  @Test(
    "whatever the clock showed before, a dateless receiver gets the right date as soon as the clock is right",
    arguments: clockErrors)
  func datelessClock(first: Int64) throws {
    for between in FixFilterTests.clockErrors {
      var filter = filter()
      let early = try errors(&filter, 20..<40, clockError: first)
      let isClockSet = FixFilterTests.start + .seconds(first + 20) >= FixFilterTests.buildDate
      expect(early.dropFirst(2).allSatisfy { ($0 != nil) == isClockSet }, "\(first)")
      // The clock is set to another wrong time: if fixes were accepted before, they still are.
      let later = try errors(&filter, 40..<60, clockError: between)
      if isClockSet { expect(!later.contains(nil), "\(first), then \(between)") }
      let right = try errors(&filter, 60..<80, clockError: 0)
      expectEqual(right, Array(repeating: 0, count: 20), "\(first), then \(between)")
    }
  }

  @Test("with a clock that is wrong by half a day, a dateless receiver's date does not change from fix to fix")
  func datelessHalfDay() throws {
    var filter = filter()
    let results = try (20..<60).flatMap { (second: Int64) in
      let clockError = 43_200 + (second % 3 - 1) * 60
      return try errors(&filter, second..<(second + 1), clockError: clockError)
    }
    expect(Set(results.dropFirst(2)).count == 1 && results[2] != nil)
  }

  @Test("a recording without dates continues across midnight, whatever the clock does")
  func datelessRecording() throws {
    var filter = filter { $0.usesRecordedTimes = true }
    for minute in Int64(0)..<2880 {
      let truth = FixFilterTests.start + .seconds(minute * 60)
      let dateless = try fix(0) { $0.time = .ofDay(milliseconds: truth.millisecondsOfDay) }
      let wall = minute < 100 ? FixFilterTests.start : Timestamp(seconds: 2_000_000_000)
      guard case .success(let accepted) = filter.evaluate(dateless, at: moment(Double(minute) / 10, wall: wall)) else {
        Issue.record("rejected at minute \(minute)")
        return
      }
      expectEqual(accepted.time, truth)
    }
  }
}
